// Package stream moves items, results, shared findings and heartbeats over NATS JetStream, in this
// process or elsewhere. It must not know how items are planned, nor how workers run them.
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

// ServerOptions name a server's folder and its address.
type ServerOptions struct {
	Dir    string // of its files
	Listen string // host:port; "": only this process can reach it
	Token  string // the secret: coordinators send it, workers and readers the token of their role (see Role)
	// Certificate and Key are PEM files: with them all clients must use TLS.
	Certificate, Key string
}

// Server is a JetStream in this process. Its files keep all that it accepted for the next start.
type Server struct {
	s     *server.Server
	token string
}

const readyWithin = 30 * time.Second

// Serve starts a server.
func Serve(o ServerOptions) (*Server, error) {
	config := &server.Options{ServerName: "picklock", JetStream: true, StoreDir: o.Dir, NoSigs: true, NoLog: true, DontListen: true}
	if o.Listen != "" {
		if err := listen(config, o); err != nil {
			return nil, err
		}
	}
	s, err := server.NewServer(config)
	if err != nil {
		return nil, fmt.Errorf("set up the queue: %w", err)
	}
	s.Start()
	if !s.ReadyForConnections(readyWithin) || !s.JetStreamEnabled() {
		s.Shutdown()
		s.WaitForShutdown()
		return nil, fmt.Errorf("the queue does not start: does another process use the folder %s, or the address %s?", o.Dir, o.Listen)
	}
	return &Server{s, o.Token}, nil
}

// listen lets other processes reach the server. Its clients make workers break locks on their
// machines, so that an address beyond loopback needs a token.
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
	config.DontListen, config.Host, config.Port = false, host, n
	if o.Token != "" {
		if config.CustomClientAuthentication, err = authenticate(o.Token); err != nil {
			return err
		}
	}
	if o.Certificate == "" && o.Key == "" {
		return nil
	}
	if config.TLSConfig, err = server.GenTLSConfig(&server.TLSConfigOpts{CertFile: o.Certificate, KeyFile: o.Key}); err != nil {
		return fmt.Errorf("read the queue's certificate: %w", err)
	}
	config.TLS = true
	return nil
}

// URL is the address it listens on. Other machines may need one of URLs.
func (s *Server) URL() string { return s.s.ClientURL() }

// URLs are the addresses for other machines. If it listens on all addresses of this machine, such
// as 0.0.0.0, these are those that the machine has now, without loopback unless it has no other.
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

// addresses are the addresses of this machine that other machines may reach.
func addresses(only4 bool) []net.IP {
	var out []net.IP
	all, err := net.Interfaces()
	if err != nil {
		all = nil // loopback always exists
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

// Close ends the server. Its files stay.
func (s *Server) Close() {
	s.s.Shutdown()
	s.s.WaitForShutdown()
}
