// Package built makes programs that are built once for a user, each in a folder of the cache that is whole if it is
// there. It knows the tools only by their names, and nothing of what is built.
package built

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Folder is where something is built once.
type Folder struct {
	// Path has everything in its name that decides what is built, so that what is there is right.
	Path string
	Name string // who needs it, as messages begin: a lock, a cluster
	What string // what is built, as in "building its client"
	From string // with what library in which version
}

// Below is a folder of the user's cache.
func Below(parts ...string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the cache folder: %w", err)
	}
	return filepath.Abs(filepath.Join(append([]string{cache, "picklock"}, parts...)...))
}

// Exists says that it is built.
func (f Folder) Exists() bool {
	_, err := os.Stat(f.Path)
	return err == nil
}

// Build has build fill an empty folder, which gets its name when all is there. Of several processes one does that,
// and the others wait. What is built already is left as it is. say is told each step.
func (f Folder) Build(ctx context.Context, say func(text string), build func(ctx context.Context, temp string) error) error {
	if f.Exists() {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(f.Path), 0o755); err != nil {
		return fmt.Errorf("make a folder for the %s of %s: %w", f.What, f.Name, err)
	}
	unlock, err := f.Alone(ctx, say)
	if err != nil {
		return err
	}
	defer unlock()
	if f.Exists() {
		return nil
	}
	began := time.Now()
	say(fmt.Sprintf("%s: building its %s with %s, once, in %s", f.Name, f.What, f.From, f.Path))
	temp := f.Path + ".building" // that of a build which was killed goes first
	defer os.RemoveAll(temp)
	err = os.RemoveAll(temp)
	if err == nil {
		err = os.Mkdir(temp, 0o755)
	}
	if err != nil {
		return fmt.Errorf("make a folder for the %s of %s: %w", f.What, f.Name, err)
	}
	if err := build(ctx, temp); err != nil {
		return fmt.Errorf("build the %s of %s with %s: %w", f.What, f.Name, f.From, err)
	}
	if err := os.Rename(temp, f.Path); err != nil {
		return fmt.Errorf("keep the %s of %s: %w", f.What, f.Name, err)
	}
	say(fmt.Sprintf("%s: built in %v", f.Name, time.Since(began).Round(100*time.Millisecond)))
	return nil
}

// Alone waits until no other process builds the same.
func (f Folder) Alone(ctx context.Context, say func(string)) (unlock func(), err error) {
	file, err := os.OpenFile(f.Path+".lock", os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("build the %s of %s: %w", f.What, f.Name, err)
	}
	const again = 200 * time.Millisecond // the kernel's own wait could not be interrupted
	told := false
	for {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return func() { file.Close() }, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) {
			file.Close()
			return nil, fmt.Errorf("lock %s: %w", file.Name(), err)
		}
		if !told {
			say(fmt.Sprintf("%s: another process builds its %s: waiting for it", f.Name, f.What))
			told = true
		}
		select {
		case <-ctx.Done():
			file.Close()
			return nil, ctx.Err()
		case <-time.After(again):
		}
	}
}

// Run runs a tool in a folder, and returns its standard output. An error has the end of what it wrote.
func Run(ctx context.Context, folder, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = folder
	cmd.WaitDelay = 5 * time.Second
	var out, all bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &all
	err := cmd.Run()
	if err == nil {
		return out.String(), nil
	}
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	return "", fmt.Errorf("%s: %w: %s", path.Base(name), err, LastLines(out.String()+all.String()))
}

// LastLines is the end of a tool's output.
func LastLines(text string) string {
	const most = 15
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-most):], "\n")
}
