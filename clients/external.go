package clients

import (
	"context"
	"crypto/tls"
	"net"
	"slices"
	"time"

	"github.com/picklock/picklock/internal/access"
)

// External is how the servers of Options are reached where they run already and are
// somebody's own.
type External struct {
	// Addresses are what the servers are called outside, in the order of Options.Servers,
	// where clients reach them.
	Addresses []string `json:"addresses"`
	access.Access
}

// Called is what a server is called outside; of picklock's own servers it is its address.
func (o Options) Called(server string) string {
	if i := slices.Index(o.Servers, server); o.External != nil && i >= 0 && i < len(o.External.Addresses) {
		return o.External.Addresses[i]
	}
	return server
}

// Reached is where clients reach a server that the service itself calls so: one that is
// known by another name outside, or any other address as it is.
func (o Options) Reached(called string) string {
	if o.External == nil {
		return called
	}
	if i := slices.Index(o.External.Addresses, called); i >= 0 && i < len(o.Servers) {
		return o.Servers[i]
	}
	return called
}

// At is o for one of its servers alone.
func (o Options) At(server string) Options {
	if o.External != nil {
		e := *o.External
		e.Addresses = []string{o.Called(server)}
		o.External = &e
	}
	o.Servers = []string{server}
	return o
}

// TLS is how to speak TLS to a server; nil where none is spoken.
func (o Options) TLS(server string) (*tls.Config, error) {
	if o.External == nil {
		return nil, nil
	}
	return o.External.Config(access.Host(o.Called(server)))
}

// Login is as whom a client comes, and the password; both "" where nobody asks.
func (o Options) Login() (username, password string, err error) {
	if o.External == nil {
		return "", "", nil
	}
	password, err = o.External.Password()
	return o.External.Username, password, err
}

// Dial connects to a server, which the service may call otherwise than clients do, through
// TLS where that is spoken, in which the protocols are named that the client speaks (ALPN).
func (o Options) Dial(ctx context.Context, network, addr string, within time.Duration, protocols ...string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	addr = o.Reached(addr)
	config, err := o.TLS(addr)
	if err != nil {
		return nil, err
	}
	c, err := (&net.Dialer{}).DialContext(ctx, network, addr)
	if err != nil || config == nil {
		return c, err
	}
	config.NextProtos = protocols
	t := tls.Client(c, config)
	if err := t.HandshakeContext(ctx); err != nil {
		c.Close()
		return nil, err
	}
	return t, nil
}
