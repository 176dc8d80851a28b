package library

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/picklock/picklock/internal/built"
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
	files, err := p.sources()
	if err != nil {
		return "", err
	}
	h := sha256.New()
	fmt.Fprintf(h, "%d\n", p.language.recipe)
	if p.language.apart {
		fmt.Fprintf(h, "%s\n", p.program)
	}
	for _, f := range files {
		text, err := fs.ReadFile(p.language.sources, f)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "%s %d\n%s", f, len(text), text)
	}
	name := p.folder + "@" + p.version + "-" + hex.EncodeToString(h.Sum(nil))[:12]
	dir, err := built.Below("libraries", strings.ToLower(p.language.name), name)
	if err != nil {
		return "", fmt.Errorf("client of %s: %w", p.lock, err)
	}
	return dir, nil
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

// build implements clients.Library.
func (p program) build(ctx context.Context, say func(text string)) error {
	f, err := p.built()
	if err != nil || f.Exists() {
		return err
	}
	if err := p.missing(); err != nil {
		return err
	}
	return f.Build(ctx, say, func(ctx context.Context, temp string) error {
		if err := p.copySources(temp); err != nil {
			return err
		}
		return p.language.build(ctx, &building{program: p, dir: temp, final: f.Path, say: say})
	})
}

// built is the folder that the program is built in.
func (p program) built() (built.Folder, error) {
	dir, err := p.dir()
	return built.Folder{Path: dir, Name: p.lock, What: "client", From: p.library + " " + p.version}, err
}

// copySources writes the sources to a folder.
func (p program) copySources(dir string) error {
	files, err := p.sources()
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
	return built.Run(ctx, filepath.Join(b.dir, folder), name, args...)
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
