// Package stream is how a campaign's work travels: items, results, what was gained and what
// workers say of themselves, over NATS JetStream, in this process or elsewhere. It must not
// know how items are planned, nor how they are carried out.
package stream

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// ServerOptions says where a server of ours keeps its files and who may reach it.
type ServerOptions struct {
	Dir    string // of its files
	Listen string // host:port; "" for this process alone
	Token  string // what clients must show
	// Certificate and Key are files in PEM: with them all must speak TLS.
	Certificate, Key string
}

// Server is a JetStream of our own, with its files on disk: after a restart it goes on with
// what it had taken in.
type Server struct{ s *server.Server }

const readyWithin = 30 * time.Second

// Serve starts one.
func Serve(o ServerOptions) (*Server, error) {
	config := &server.Options{ServerName: "picklock", JetStream: true, StoreDir: o.Dir, NoSigs: true, NoLog: true, DontListen: true}
	if o.Listen != "" {
		if err := listen(config, o); err != nil {
			return nil, err
		}
	}
	s, err := server.NewServer(config)
	if err != nil {
		return nil, fmt.Errorf("set the queue up: %w", err)
	}
	s.Start()
	if !s.ReadyForConnections(readyWithin) || !s.JetStreamEnabled() {
		s.Shutdown()
		s.WaitForShutdown()
		return nil, fmt.Errorf("the queue does not start: does another use %s, or %s?", o.Dir, o.Listen)
	}
	return &Server{s}, nil
}

// listen lets others reach the server. Whoever can speak to it can have locks broken on the
// workers' machines: beyond this machine only with a token.
func listen(config *server.Options, o ServerOptions) error {
	host, port, err := net.SplitHostPort(o.Listen)
	if err != nil {
		return fmt.Errorf("listen on %q: want HOST:PORT: %w", o.Listen, err)
	}
	n, err := strconv.Atoi(port)
	if err != nil || n < 0 || n > 65535 {
		return fmt.Errorf("listen on %q: the port must be a number up to 65535", o.Listen)
	}
	if n == 0 {
		n = server.RANDOM_PORT
	}
	if host == "" {
		host = "127.0.0.1"
	}
	if ip := net.ParseIP(host); (ip == nil || !ip.IsLoopback()) && host != "localhost" && o.Token == "" {
		return errors.New("a queue that other machines reach needs a token: set PICKLOCK_QUEUE_TOKEN")
	}
	config.DontListen, config.Host, config.Port, config.Authorization = false, host, n, o.Token
	if o.Certificate == "" && o.Key == "" {
		return nil
	}
	if config.TLSConfig, err = server.GenTLSConfig(&server.TLSConfigOpts{CertFile: o.Certificate, KeyFile: o.Key}); err != nil {
		return fmt.Errorf("read the queue's certificate: %w", err)
	}
	config.TLS = true
	return nil
}

// URL is where it listens. Others may not be able to use it: see URLs.
func (s *Server) URL() string { return s.s.ClientURL() }

// URLs is where others reach it: with an address that stands for all of this machine's, such as
// 0.0.0.0, those that it has now. The loopback one is left out unless there is no other.
func (s *Server) URLs() []string {
	u, err := url.Parse(s.URL())
	if err != nil {
		return []string{s.URL()}
	}
	ip := net.ParseIP(u.Hostname())
	if ip == nil || !ip.IsUnspecified() {
		return []string{s.URL()}
	}
	var out []string
	for _, own := range addresses(ip.To4() != nil) {
		out = append(out, (&url.URL{Scheme: u.Scheme, Host: net.JoinHostPort(own.String(), u.Port())}).String())
	}
	return out
}

// addresses are those of this machine that other machines may reach.
func addresses(only4 bool) []net.IP {
	var out []net.IP
	all, err := net.Interfaces()
	if err != nil {
		all = nil // loopback is there in any case
	}
	for _, i := range all {
		if i.Flags&(net.FlagUp|net.FlagRunning) != net.FlagUp|net.FlagRunning {
			continue
		}
		list, err := i.Addrs()
		if err != nil {
			continue
		}
		for _, a := range list {
			n, ok := a.(*net.IPNet)
			if ok && n.IP.IsGlobalUnicast() && (n.IP.To4() != nil || !only4) {
				out = append(out, n.IP)
			}
		}
	}
	if len(out) == 0 {
		out = append(out, net.IPv4(127, 0, 0, 1))
	}
	return out
}

// Close ends it; what it took in stays on disk.
func (s *Server) Close() {
	s.s.Shutdown()
	s.s.WaitForShutdown()
}
