package consul

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/picklock/picklock/clients"
)

func service() *clients.Service {
	return &clients.Service{Name: "consul", Clean: clean, CleanAll: cleanAll, Names: names}
}

// Where the locks keep their keys.
const (
	keyFolder       = "picklock/"
	semaphoreFolder = "picklock-semaphore/"
)

// dialWithin is how long a server that is somebody's own may take to take a connection.
const dialWithin = 5 * time.Second

// newTransport is the module's own, to the servers alone: no proxy that the environment
// names is between.
func newTransport(o clients.Options) *http.Transport {
	t := api.DefaultConfig().Transport
	t.Proxy = nil
	if o.External != nil {
		// TLS is spoken below HTTP: each server has a name of its own.
		t.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
			return o.Dial(ctx, network, addr, dialWithin)
		}
	}
	return t
}

// newClient makes the module's client of one server, which it asks by the name that the
// server has outside. The password is Consul's ACL token.
func newClient(o clients.Options, server string, c *http.Client) (*api.Client, error) {
	_, token, err := o.Login()
	if err != nil {
		return nil, err
	}
	return api.NewClient(&api.Config{Address: o.Called(server), Scheme: "http", HttpClient: c, Token: token})
}

// sessionName tells whose session it is; on servers that others use, too, also for which lock.
func sessionName(o clients.Options, key string) string {
	if o.External == nil {
		return o.Client
	}
	return key + " " + o.Client
}

// keeper is how a run sees to what is in Consul.
type keeper struct {
	*api.Client
	query *api.QueryOptions
	write *api.WriteOptions
}

// keep opens a way there, which lasts as long as do.
func keep(ctx context.Context, o clients.Options, what string, do func(keeper) error) error {
	t := newTransport(o)
	defer t.CloseIdleConnections()
	c, err := newClient(o, o.Servers[0], &http.Client{Transport: t})
	if err == nil {
		err = do(keeper{c, (&api.QueryOptions{RequireConsistent: true}).WithContext(ctx), new(api.WriteOptions).WithContext(ctx)})
	}
	if err != nil {
		err = fmt.Errorf("consul: %s: %w", what, err)
	}
	return err
}

// endSessions ends the sessions whose name is one of the run's.
func (k keeper) endSessions(of func(name string) bool) (n int, err error) {
	sessions, _, err := k.Session().List(k.query)
	if err != nil {
		return 0, err
	}
	for _, s := range sessions {
		if !of(s.Name) {
			continue
		}
		if _, err := k.Session().Destroy(s.ID, k.write); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// clean ends the sessions and removes the keys of all locks, and of all who wait for one.
func clean(ctx context.Context, o clients.Options, mark string) (n int, err error) {
	err = keep(ctx, o, "remove the keys with "+mark, func(k keeper) error {
		// First the sessions, so that nobody takes a key again that is gone.
		if n, err = k.endSessions(func(name string) bool { return strings.HasPrefix(name, mark) }); err != nil {
			return err
		}
		for _, folder := range []string{keyFolder, semaphoreFolder} {
			keys, _, err := k.KV().Keys(folder+mark, "", k.query)
			if err != nil {
				return err
			}
			// Also where none are seen: whoever may not delete may see none of them.
			if _, err := k.KV().DeleteTree(folder+mark, k.write); err != nil {
				return err
			}
			n += len(keys)
		}
		return nil
	})
	return n, err
}

// cleanAll ends every session and removes every key whose name contains mark.
func cleanAll(ctx context.Context, o clients.Options, mark string) (n int, err error) {
	err = keep(ctx, o, "remove the keys with "+mark, func(k keeper) error {
		if n, err = k.endSessions(func(name string) bool { return strings.Contains(name, mark) }); err != nil {
			return err
		}
		keys, _, err := k.KV().Keys("", "", k.query)
		if err != nil {
			return err
		}
		for _, key := range keys {
			if !strings.Contains(key, mark) {
				continue
			}
			if _, err := k.KV().Delete(key, k.write); err != nil {
				return err
			}
			n++
		}
		return nil
	})
	return n, err
}

// names are those of keys and sessions that may be a run's.
func names(ctx context.Context, o clients.Options) (out []string, err error) {
	err = keep(ctx, o, "look for the keys of runs", func(k keeper) error {
		for _, folder := range []string{keyFolder, semaphoreFolder} {
			keys, _, err := k.KV().Keys(folder+clients.MarkPrefix, "", k.query)
			if err != nil {
				return err
			}
			for _, key := range keys {
				out = append(out, strings.TrimPrefix(key, folder))
			}
		}
		sessions, _, err := k.Session().List(k.query)
		for _, s := range sessions {
			out = append(out, s.Name)
		}
		return err
	})
	return out, err
}
