package zookeeper

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/picklock/picklock/clients"
)

func service() *clients.Service {
	return &clients.Service{Name: "zookeeper", Stores: stores, ForeignStores: stores}
}

// errLogin is about settings that would have no effect.
var errLogin = errors.New("the ZooKeeper locks do not log in with SASL: leave PICKLOCK_USERNAME and PICKLOCK_PASSWORD unset (in a file username, password_env and password_file), and use a client's certificate (PICKLOCK_TLS_CERT, PICKLOCK_TLS_KEY); a program of your own can log in by itself (--lock exec:COMMAND, without --clean-as)")

// checkLogin returns an error if a user wants the locks to log in, which they cannot.
func checkLogin(o clients.Options) error {
	if e := o.External; e != nil && (e.Username != "" || e.PasswordEnv != "" || e.PasswordFile != "") {
		return errLogin
	}
	return nil
}

// folder is where the locks keep their nodes.
const folder = "/picklock"

func stores(_ context.Context, o clients.Options, do func(clients.Store) error) error {
	o.TTL = max(o.TTL, 5*time.Second)
	s, err := newZKSession(o, false)
	if err != nil {
		return err
	}
	defer s.close()
	return do(clients.Store{
		Prefix: folder + "/",
		Each: func(ctx context.Context, prefix string, do func(string) error) error {
			parent := prefix[:max(strings.LastIndexByte(prefix, '/'), 0)]
			// The walk sees what was written before it.
			children, err := s.syncedChildren(ctx, cmp.Or(parent, "/"))
			if errors.Is(err, zk.ErrNoNode) {
				return nil
			}
			for _, child := range children {
				if node := parent + "/" + child; err == nil && strings.HasPrefix(node, prefix) && node != "/zookeeper" { // the service's own
					err = s.walk(ctx, node, do)
				}
			}
			return err
		},
		Delete: s.remove,
		Done: func(ctx context.Context) error {
			_, err := s.remove(ctx, folder)
			return err
		},
	})
}

// walk calls do for the nodes below a node and then for itself.
func (s *zkSession) walk(ctx context.Context, node string, do func(string) error) error {
	children, err := s.children(ctx, node)
	if errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	for _, child := range children {
		if err == nil {
			err = s.walk(ctx, node+"/"+child, do)
		}
	}
	if err != nil {
		return err
	}
	return do(node)
}

// remove deletes a node. One that has got a child meanwhile stays for the next run of the
// cleaner.
func (s *zkSession) remove(ctx context.Context, node string) (bool, error) {
	err := s.delete(ctx, node)
	if errors.Is(err, zk.ErrNoNode) || errors.Is(err, zk.ErrNotEmpty) {
		return false, nil
	}
	return err == nil, err
}
