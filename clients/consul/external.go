package consul

import (
	"context"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/picklock/picklock/clients"
)

func service() *clients.Service {
	return &clients.Service{Name: "consul", Stores: stores, ForeignStores: foreignStores}
}

// Where the locks keep their keys.
const (
	keyFolder       = "picklock/"
	semaphoreFolder = "picklock-semaphore/"
)

// dialWithin is how long an external server may take to accept a connection.
const dialWithin = 5 * time.Second

// newTransport is the module's own transport, without the proxies that the environment names.
func newTransport(o clients.Options) *http.Transport {
	t := api.DefaultConfig().Transport
	t.Proxy = nil
	if o.External != nil {
		// TLS is below HTTP: each server has a name of its own.
		t.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
			return o.Dial(ctx, network, addr, dialWithin)
		}
	}
	return t
}

// newClient makes the module's client of one server, which requests call by its public
// address. The password is Consul's ACL token.
func newClient(o clients.Options, server string, c *http.Client) (*api.Client, error) {
	_, token, err := o.Login()
	if err != nil {
		return nil, err
	}
	return api.NewClient(&api.Config{Address: o.PublicAddr(server), Scheme: "http", HttpClient: c, Token: token})
}

// sessionName names the client, and on external servers also the lock.
func sessionName(o clients.Options, key string) string {
	if o.External == nil {
		return o.Client
	}
	return key + " " + o.Client
}

// stores are the sessions first, so that no client takes a key again that was removed.
func stores(ctx context.Context, o clients.Options, do func(clients.Store) error) error {
	return withAdmin(o, func(a admin) error {
		err := do(a.sessions())
		for _, folder := range []string{keyFolder, semaphoreFolder} {
			if err == nil {
				err = do(a.keys(folder))
			}
		}
		return err
	})
}

func foreignStores(ctx context.Context, o clients.Options, do func(clients.Store) error) error {
	return withAdmin(o, func(a admin) error {
		if err := do(a.sessions()); err != nil {
			return err
		}
		return do(a.keys(""))
	})
}

// admin is a run's own access to Consul, beside its clients'.
type admin struct{ *api.Client }

// withAdmin opens that access, until do returns.
func withAdmin(o clients.Options, do func(admin) error) error {
	t := newTransport(o)
	defer t.CloseIdleConnections()
	c, err := newClient(o, o.Servers[0], &http.Client{Transport: t})
	if err != nil {
		return err
	}
	return do(admin{c})
}

func query(ctx context.Context) *api.QueryOptions {
	return (&api.QueryOptions{RequireConsistent: true}).WithContext(ctx)
}

func write(ctx context.Context) *api.WriteOptions { return new(api.WriteOptions).WithContext(ctx) }

// sessions are the sessions by their names, which need not differ: each is followed by the
// session's id.
func (a admin) sessions() clients.Store {
	return clients.Store{
		Each: func(ctx context.Context, _ string, do func(string) error) error {
			all, _, err := a.Session().List(query(ctx))
			for _, s := range all {
				if err == nil {
					err = do(s.Name + " " + s.ID)
				}
			}
			return err
		},
		Delete: func(ctx context.Context, name string) (bool, error) {
			i := strings.LastIndexByte(name, ' ')
			if i < 0 {
				return false, nil
			}
			_, err := a.Session().Destroy(name[i+1:], write(ctx))
			return err == nil, err
		},
	}
}

func (a admin) keys(folder string) clients.Store {
	return clients.Store{
		Prefix: folder,
		Each: func(ctx context.Context, prefix string, do func(string) error) error {
			all, _, err := a.KV().Keys(prefix, "", query(ctx))
			for _, key := range all {
				if err == nil {
					err = do(key)
				}
			}
			return err
		},
		Delete: func(ctx context.Context, key string) (bool, error) {
			_, err := a.KV().Delete(key, write(ctx))
			return err == nil, err
		},
	}
}
