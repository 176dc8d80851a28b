package file

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/internal/adapter"
	"github.com/picklock/picklock/history"
)

func fileInfo() clients.Info {
	return clients.Info{
		Name:    "file",
		About:   "a lock file made with O_EXCL in a shared directory; one that is older than the lease counts as left behind and is removed (option stale)",
		Cluster: "directory",
		MinTTL:  2 * clockTick,
		Naive:   true,
		Options: []clients.Option{{
			Name: "stale", About: "the age at which a lock file is removed, and with that the lease; never: a client that crashes keeps the lock",
			Default: "the lease asked for", Check: adapter.Checks(parseStale), Safer: []string{"never"},
		}},
		Open: func(_ context.Context, o clients.Options) (clients.Lock, error) {
			if o.Directory == "" {
				return nil, errNoDirectory("file")
			}
			stale, err := adapter.Read(o, "stale", o.TTL, parseStale)
			if err != nil {
				return nil, fmt.Errorf("file: %w", err)
			}
			return &fileLock{options: o, stale: stale}, nil
		},
	}
}

// clockTick is by how much a file's time may lie behind the clock: the kernel uses the time of its
// last tick, and ticks at least 100 times a second.
const clockTick = 10 * time.Millisecond

// parseStale reads a length of time, 0 for never.
func parseStale(text string) (time.Duration, error) {
	if text == "never" {
		return 0, nil
	}
	d, err := adapter.ParseLength(text)
	if err == nil && d < 2*clockTick {
		err = fmt.Errorf("want %v or more: files are not dated more finely", 2*clockTick)
	}
	return d, err
}

func errNoDirectory(lock string) error {
	return fmt.Errorf("%s: no shared directory: use a cluster that has one (--cluster directory)", lock)
}

// fileLock is the lock file of build tools, package managers and cron jobs: it exists
// as long as the lock is held, and O_EXCL lets one process make it. So that a crash
// does not leave it there for ever, a waiter removes one that is old, by its own wall
// clock against the file's time. That is the lease that the lock promises.
//
// Two of its steps are check-then-act, as in every program that uses only the calls that
// all languages have. A file that was old when it was checked may be a new one when it is
// removed. So may a file that was the client's own when it was checked.
type fileLock struct {
	options clients.Options
	stale   time.Duration // 0: never
}

func (l *fileLock) Acquire(ctx context.Context, key string) (clients.Grant, error) {
	path := lockPath(l.options.Directory, key)
	var last error
	for ctx.Err() == nil {
		since := history.Now()
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
		switch {
		case err == nil:
			// The holder, for people who read the file.
			_, _ = fmt.Fprintln(f, l.options.Client)
			g := clients.Grant{Key: key, Ref: f}
			if l.stale > 0 {
				g.Since, g.Lease = since, l.stale
			}
			return g, nil
		case !errors.Is(err, fs.ErrExist):
			last = err
		case l.old(path):
			if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				last = err
				break
			}
			continue // at once: it is a race now
		default:
			l.options.TellWaiting()
		}
		adapter.Pause(ctx, l.options.TTL/50)
	}
	return clients.Grant{}, adapter.Timeout(ctx, "file", key, last)
}

// old says whether the lock file was left behind. The tick keeps the promise of a
// whole lease for files that are dated a little back.
func (l *fileLock) old(path string) bool {
	info, err := os.Stat(path)
	return err == nil && l.stale > 0 && time.Since(info.ModTime()) > l.stale+clockTick
}

// Renew sets the file's time to the file system's now.
func (l *fileLock) Renew(_ context.Context, g clients.Grant) (clients.Renewal, error) {
	f := g.Ref.(*os.File)
	since := history.Now()
	if err := unix.Futimes(int(f.Fd()), nil); err != nil {
		return clients.Renewal{}, fmt.Errorf("file: renew %s: %w", g.Key, err)
	}
	// Only now: what is removed later was given its new time before.
	if !sameFile(f, lockPath(l.options.Directory, g.Key)) {
		return clients.Renewal{}, fmt.Errorf("file: renew %s: %w", g.Key, clients.ErrNotHeld)
	}
	return clients.Renewal{Since: since, Lease: l.stale}, nil
}

func (l *fileLock) Release(_ context.Context, g clients.Grant) error {
	f := g.Ref.(*os.File)
	defer f.Close()
	path := lockPath(l.options.Directory, g.Key)
	if !sameFile(f, path) {
		return fmt.Errorf("file: release %s: %w", g.Key, clients.ErrNotHeld)
	}
	switch err := os.Remove(path); {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("file: release %s: %w", g.Key, clients.ErrNotHeld)
	case err != nil:
		return fmt.Errorf("file: release %s: %w", g.Key, err)
	}
	return nil
}

func (*fileLock) Close() error { return nil }

// lockPath is a key's file; keys may hold what file names may not.
func lockPath(directory, key string) string {
	return filepath.Join(directory, url.PathEscape(key)+".lock")
}

// sameFile says whether path is the open file still. As long as it is open, no other
// file can get its number.
func sameFile(f *os.File, path string) bool {
	mine, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(path)
	return err == nil && os.SameFile(mine, there)
}
