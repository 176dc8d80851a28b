// Package library has the locks of libraries in Java, Python, Node, Go and Rust. Each is tested by a
// program in its own language, whose sources are in clients/java, clients/python, clients/node,
// clients/go and clients/rust. The package knows how those programs are built and started, and no service; clients/exec
// speaks to them.
package library

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/exec"
)

// line is a line of the table: one lock of a library.
type line struct {
	name, about string
	language    *language
	// folder is what the library's sources are called in its language's folder, and program what
	// its client is called there: a module, a class, a file. variant, if not "", is the argument
	// that chooses this lock of several.
	folder, program, variant                               string
	library                                                string // as the registry names it
	version                                                string // the tested one, which its manifest names
	tools                                                  []tool // what its build needs beside the language's
	cluster, kind                                          string // as in clients.Info
	fencing, confirms, holds, downgrades, cancels, several bool
	ownLeases                                              bool // as in clients.Info
	// vague are versions that do not confirm, although others do: their release of a lock that is gone succeeds.
	vague    *regexp.Regexp
	minTTL   time.Duration
	options  []clients.Option
	promises []string          // see clients.Library
	cannot   map[string]string // likewise
}

// Locks are the lines of the table, built below the user's cache directory.
func Locks() []clients.Info {
	var out []clients.Info
	for _, l := range lines() {
		out = append(out, l.info(l.version))
	}
	return out
}

// versions are what versions look like in the registries.
var versions = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z.+_-]*$`)

// info is the lock in a version of the library.
func (l line) info(version string) clients.Info {
	name := l.name
	if version != l.version {
		name += "@" + version
	}
	p := program{line: l, lock: name, version: version}
	return clients.Info{
		Name: name, About: l.about, Cluster: l.cluster, Kind: l.kind, Fencing: l.fencing, Confirms: l.confirms && (l.vague == nil || !l.vague.MatchString(version)), Holds: l.holds, Downgrades: l.downgrades, Cancels: l.cancels, Several: l.several, OwnLeases: l.ownLeases, MinTTL: l.minTTL, Options: l.options,
		Library: &clients.Library{
			Language: l.language.name, Name: l.library, Version: version, Promises: l.promises, Cannot: l.cannot,
			At: func(version string) (clients.Info, error) {
				if !versions.MatchString(version) {
					return clients.Info{}, fmt.Errorf("lock %s: %q is no version: want one of %s, as in %s@%s", l.name, version, l.library, l.name, l.version)
				}
				return l.info(version), nil
			},
			Published: p.published, Build: p.build, Command: p.command, Cold: l.language.cold, Slow: p.slow, Quicken: p.quicken,
		},
		Open: p.open,
	}
}

// open starts the program.
func (p program) open(ctx context.Context, o clients.Options) (clients.Lock, error) {
	if len(o.Servers) == 0 && o.Directory == "" {
		return nil, errors.New("neither a server nor a shared directory given")
	}
	command, err := p.command()
	if err != nil {
		return nil, err
	}
	e, err := exec.Program(command)
	if err != nil {
		return nil, err
	}
	lock, err := e.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	if err := p.declared(lock, o.Extra); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return lock, nil
}

// declared compares what the program declares with what the table says, which is what the run goes by.
func (p program) declared(lock clients.Lock, extra map[string]string) error {
	a := lock.(clients.Declarer).Abilities()
	want := p.info(p.version)
	if got := want.With(a); got.Fencing != want.Fencing || got.Kind != want.Kind || got.Confirms != want.Confirms || got.Cancels != want.Cancels || got.Several != want.Several || got.Permits(extra) != want.Permits(extra) {
		return fmt.Errorf("%w: %s: its client declares %q, and the table says otherwise", clients.ErrProgram, p.lock, a.Words())
	}
	return nil
}
