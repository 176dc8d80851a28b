package library

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// program is the client of one lock in one version of its library.
type program struct {
	line
	lock    string // its name, with its version if that is not the tested one
	version string
}

// dir is where the program is or would be built. Its name has everything in it that decides what is
// built, so that one that is there is right.
func (p program) dir() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find a folder for the client of %s: %w", p.lock, err)
	}
	files, err := p.sources()
	if err != nil {
		return "", err
	}
	h := sha256.New()
	fmt.Fprintf(h, "%d\n", p.language.recipe)
	for _, f := range files {
		text, err := fs.ReadFile(p.language.sources, f)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "%s %d\n%s", f, len(text), text)
	}
	name := p.folder + "@" + p.version + "-" + hex.EncodeToString(h.Sum(nil))[:12]
	return filepath.Abs(filepath.Join(cache, "picklock", "libraries", strings.ToLower(p.language.name), name))
}

// sources are the files that the program is built from: those that all programs of the language share,
// and its own.
func (p program) sources() ([]string, error) {
	var out []string
	for _, pattern := range append(slices.Clone(p.language.shared), p.language.own(p)...) {
		files, err := fs.Glob(p.language.sources, pattern)
		if err != nil {
			return nil, err
		}
		if len(files) == 0 {
			return nil, fmt.Errorf("%s has no sources %s", p.lock, pattern)
		}
		out = append(out, files...)
	}
	return out, nil
}

// command implements clients.Library.
func (p program) command() (string, error) {
	dir, err := p.dir()
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(dir); err != nil {
		return "", fmt.Errorf("the client of %s is not built on this machine: picklock lock build %s", p.lock, p.lock)
	}
	return p.language.command(p, dir)
}

// build implements clients.Library. The program is built in a folder of its own, which gets its name
// when all is there: what is found under that name is whole.
func (p program) build(ctx context.Context, say func(text string)) error {
	dir, err := p.dir()
	if err != nil {
		return err
	}
	if exists(dir) {
		return nil
	}
	if err := p.language.missing(p.lock); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return fmt.Errorf("make a folder for the client of %s: %w", p.lock, err)
	}
	unlock, err := p.alone(ctx, dir+".lock", say)
	if err != nil {
		return err
	}
	defer unlock()
	if exists(dir) {
		return nil
	}
	began := time.Now()
	say(fmt.Sprintf("%s: building its client with %s %s, once, in %s", p.lock, p.library, p.version, dir))
	temp := dir + ".building" // that of a build which was killed goes first
	defer os.RemoveAll(temp)
	if err := p.copySources(temp); err != nil {
		return err
	}
	b := &building{program: p, dir: temp, final: dir, say: say}
	if err := p.language.build(ctx, b); err != nil {
		return fmt.Errorf("build the client of %s with %s %s: %w", p.lock, p.library, p.version, err)
	}
	if err := os.Rename(temp, dir); err != nil {
		return fmt.Errorf("keep the client of %s: %w", p.lock, err)
	}
	say(fmt.Sprintf("%s: built in %v", p.lock, time.Since(began).Round(100*time.Millisecond)))
	return nil
}

func exists(dir string) bool {
	_, err := os.Stat(dir)
	return err == nil
}

// alone waits until no other process builds the same program.
func (p program) alone(ctx context.Context, file string, say func(string)) (unlock func(), err error) {
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("build the client of %s: %w", p.lock, err)
	}
	const again = 200 * time.Millisecond // the kernel's own wait could not be interrupted
	told := false
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return func() { f.Close() }, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) {
			f.Close()
			return nil, fmt.Errorf("lock %s: %w", file, err)
		}
		if !told {
			say(p.lock + ": another process builds its client: waiting for it")
			told = true
		}
		select {
		case <-ctx.Done():
			f.Close()
			return nil, ctx.Err()
		case <-time.After(again):
		}
	}
}

// copySources writes the sources to an empty folder.
func (p program) copySources(dir string) error {
	files, err := p.sources()
	if err == nil {
		err = os.RemoveAll(dir)
	}
	for _, f := range files {
		if err != nil {
			break
		}
		var text []byte
		if text, err = fs.ReadFile(p.language.sources, f); err == nil {
			to := filepath.Join(dir, filepath.FromSlash(f))
			if err = os.MkdirAll(filepath.Dir(to), 0o755); err == nil {
				err = os.WriteFile(to, text, 0o644)
			}
		}
	}
	if err != nil {
		return fmt.Errorf("write the sources of the client of %s: %w", p.lock, err)
	}
	return nil
}

// building is a build under way.
type building struct {
	program
	dir   string // has the sources, and gets what is built
	final string // what dir will be called when it is done
	say   func(string)
}

// tested says that the version is the one that the manifest names: with it, all that the library
// depends on is fixed.
func (b *building) tested() bool { return b.version == b.line.version }

// run runs a tool in a folder below the build's, and returns its standard output. An error has the end of what it wrote.
func (b *building) run(ctx context.Context, folder, name string, args ...string) (string, error) {
	b.say(fmt.Sprintf("%s: run %s", b.lock, path.Base(name)))
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = filepath.Join(b.dir, folder)
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
	return "", fmt.Errorf("%s: %w: %s", path.Base(name), err, lastLines(out.String()+all.String()))
}

// lastLines is the end of a tool's output.
func lastLines(text string) string {
	const most = 15
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-most):], "\n")
}

// edit replaces the one match of old in a file of the build.
func (b *building) edit(file, old, text string) error {
	at := filepath.Join(b.dir, filepath.FromSlash(file))
	was, err := os.ReadFile(at)
	if err != nil {
		return err
	}
	if n := bytes.Count(was, []byte(old)); n != 1 {
		return fmt.Errorf("%s has %q %d times", file, old, n)
	}
	return os.WriteFile(at, bytes.Replace(was, []byte(old), []byte(text), 1), 0o644)
}
