package clients

import (
	"context"
	"crypto/tls"
	"net"
	"slices"
	"time"

	"github.com/picklock/picklock/internal/access"
)

// External is how to reach the servers of Options if they run already and are not picklock's.
type External struct {
	// Addresses are the servers' public addresses, in the order of Options.Servers, which are
	// the addresses that clients dial.
	Addresses []string `json:"addresses"`
	access.Access
}

// PublicAddr is the public address of a server; of picklock's own servers it is the one that
// clients dial.
func (o Options) PublicAddr(server string) string {
	if i := slices.Index(o.Servers, server); o.External != nil && i >= 0 && i < len(o.External.Addresses) {
		return o.External.Addresses[i]
	}
	return server
}

// DialAddr is the address that clients dial for a public address; any other address stays as
// it is.
func (o Options) DialAddr(public string) string {
	if o.External == nil {
		return public
	}
	if i := slices.Index(o.External.Addresses, public); i >= 0 && i < len(o.Servers) {
		return o.Servers[i]
	}
	return public
}

// At is o for one of its servers alone.
func (o Options) At(server string) Options {
	if o.External != nil {
		e := *o.External
		e.Addresses = []string{o.PublicAddr(server)}
		o.External = &e
	}
	o.Servers = []string{server}
	return o
}

// TLS is the configuration of TLS with a server; nil without TLS.
func (o Options) TLS(server string) (*tls.Config, error) {
	if o.External == nil {
		return nil, nil
	}
	return o.External.Config(access.Host(o.PublicAddr(server)))
}

// Login is the user and the password with which a client logs in; both "" if the service has no
// authentication.
func (o Options) Login() (username, password string, err error) {
	if o.External == nil {
		return "", "", nil
	}
	password, err = o.External.Password()
	return o.External.Username, password, err
}

// Dial connects to a server by its public or its dial address, with TLS if the service has it.
// protocols are those that the client offers by ALPN.
func (o Options) Dial(ctx context.Context, network, addr string, within time.Duration, protocols ...string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	addr = o.DialAddr(addr)
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
