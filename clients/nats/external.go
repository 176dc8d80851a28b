package nats

import (
	"context"
	"errors"
	"net"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/picklock/picklock/clients"
)

func service() *clients.Service {
	return &clients.Service{Name: "nats", Stores: stores}
}

// dialWithin is how long a server may take to accept a connection.
const dialWithin = 5 * time.Second

// dialer reaches servers that are not picklock's own as the user has said.
type dialer struct{ options clients.Options }

func (d dialer) Dial(network, addr string) (net.Conn, error) {
	return d.options.Dial(context.Background(), network, addr, dialWithin)
}

// connect makes a connection that is made anew whenever it breaks. What cannot be sent at once is not sent at all: a
// request that the client has given up must not be sent when its connection is back.
func connect(o clients.Options) (*nats.Conn, error) {
	again := min(max(o.TTL/10, 5*time.Millisecond), 250*time.Millisecond)
	all := []nats.Option{
		nats.Name(o.Client), nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1), nats.ReconnectWait(again), nats.ReconnectJitter(again, again),
		nats.ReconnectBufSize(-1), nats.Timeout(max(o.TTL, 250*time.Millisecond)), nats.PingInterval(max(o.TTL, time.Second)), nats.IgnoreDiscoveredServers(),
	}
	if o.External != nil {
		if o.External.TLS {
			return nil, errors.New("connect with TLS: NATS begins it after a greeting, which the forwarder to the server does not: use a program of your own (exec:)")
		}
		user, password, err := o.Login()
		if err != nil {
			return nil, err
		}
		all = append(all, nats.SetCustomDialer(dialer{o}))
		if user != "" {
			all = append(all, nats.UserInfo(user, password))
		}
	}
	return nats.Connect("nats://"+strings.Join(o.Servers, ",nats://"), all...)
}

// admin is a run's own access to NATS, beside its clients'.
type admin struct{ jetstream.JetStream }

// withAdmin opens that access, until do returns.
func withAdmin(o clients.Options, do func(admin) error) error {
	conn, err := connect(o)
	if err != nil {
		return err
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		return err
	}
	return do(admin{js})
}

// stores are the buckets of both recipes, for leases of any length.
func stores(ctx context.Context, o clients.Options, do func(clients.Store) error) error {
	return withAdmin(o, func(a admin) error {
		names := a.KeyValueStoreNames(ctx)
		for name := range names.Name() {
			if !strings.HasPrefix(name, "picklock_") {
				continue
			}
			kv, err := a.KeyValue(ctx, name)
			if err != nil {
				return err
			}
			if err := do(keysOf(kv)); err != nil {
				return err
			}
		}
		return names.Error()
	})
}

func keysOf(kv jetstream.KeyValue) clients.Store {
	return clients.Store{
		Each: func(ctx context.Context, prefix string, do func(string) error) error {
			keys, err := kv.ListKeys(ctx)
			if err != nil {
				return err
			}
			for key := range keys.Keys() {
				if !strings.HasPrefix(key, prefix) {
					continue
				}
				if err := do(key); err != nil {
					return errors.Join(err, keys.Stop())
				}
			}
			return nil
		},
		Delete: func(ctx context.Context, key string) (bool, error) {
			err := kv.Purge(ctx, key)
			return err == nil, err
		},
	}
}
