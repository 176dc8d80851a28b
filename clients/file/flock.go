package file

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/internal/adapter"
)

func flockInfo() clients.Info {
	return clients.Info{
		Name:     "flock",
		About:    "flock(2) on a file in a shared directory: the kernel frees the lock of a process that ends, and of no other",
		Cluster:  "directory",
		Confirms: true, // the kernel takes an open file's lock away in no other way
		MinTTL:   time.Millisecond,
		Open:     openFlock("flock", false),
	}
}

func openFlock(name string, unlink bool) func(context.Context, clients.Options) (clients.Lock, error) {
	return func(_ context.Context, o clients.Options) (clients.Lock, error) {
		if o.Directory == "" {
			return nil, errNoDirectory(name)
		}
		return &flock{options: o, name: name, unlink: unlink}, nil
	}
}

// flock is bound to its process as others are to a session, but there is no time after
// which it would be lost: a holder that is stopped keeps it. All of that holds on a
// file system of one machine. On a network file system the lock is the server's, which
// may give it up when it does not hear from the client.
type flock struct {
	options clients.Options
	name    string
	unlink  bool // see flock-unlink
}

func (l *flock) Acquire(ctx context.Context, key string) (clients.Grant, error) {
	f, err := os.OpenFile(lockPath(l.options.Directory, key), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return clients.Grant{}, fmt.Errorf("%s: acquire %s: %w", l.name, key, err)
	}
	// Polling: a call that waits in the kernel could not be given up.
	for ctx.Err() == nil {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			return clients.Grant{Key: key, Ref: f}, nil
		case errors.Is(err, unix.EWOULDBLOCK):
			l.options.TellWaiting()
		case !errors.Is(err, unix.EINTR):
			return clients.Grant{}, errors.Join(fmt.Errorf("%s: acquire %s: %w", l.name, key, err), f.Close())
		}
		adapter.Pause(ctx, l.options.TTL/50)
	}
	return clients.Grant{}, errors.Join(adapter.Timeout(ctx, l.name, key, nil), f.Close())
}

func (l *flock) Release(_ context.Context, g clients.Grant) error {
	f := g.Ref.(*os.File)
	defer f.Close()
	if l.unlink {
		if err := os.Remove(f.Name()); err != nil {
			l.options.Log.Info("the lock file could not be removed", "error", err)
		}
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_UN); err != nil {
		return fmt.Errorf("%s: release %s: %w", l.name, g.Key, err)
	}
	return nil
}

func (*flock) Close() error { return nil }
