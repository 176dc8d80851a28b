package redis

import (
	"context"
	"crypto/tls"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"

	"github.com/picklock/picklock/clients"
)

// dialWithin is how long a server may take to accept a connection: at most half a second on this
// machine.
func dialWithin(o clients.Options, patience time.Duration) time.Duration {
	if o.External != nil {
		return patience
	}
	return min(patience, 500*time.Millisecond)
}

// credentials are those of go-redis; nil without authentication.
func credentials(o clients.Options) func(context.Context) (username, password string, err error) {
	if o.External == nil {
		return nil
	}
	return func(context.Context) (string, string, error) { return o.Login() }
}

// dialer is how go-redis as shipped connects, with these settings.
func dialer(o clients.Options, s *redis.Options) func(ctx context.Context, network, addr string) (net.Conn, error) {
	if o.External == nil {
		return redis.NewDialer(s)
	}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		return o.Dial(ctx, network, addr, s.DialTimeout)
	}
}

// rueidisAt is how rueidis connects to the first server.
func rueidisAt(o clients.Options) rueidis.ClientOption {
	c := rueidis.ClientOption{InitAddress: o.Servers[:1]}
	if o.External == nil {
		return c
	}
	c.DialCtxFn = func(ctx context.Context, addr string, d *net.Dialer, _ *tls.Config) (net.Conn, error) {
		return o.Dial(ctx, "tcp", addr, d.Timeout)
	}
	c.AuthCredentialsFn = func(rueidis.AuthCredentialsContext) (rueidis.AuthCredentials, error) {
		username, password, err := o.Login()
		return rueidis.AuthCredentials{Username: username, Password: password}, err
	}
	return c
}
