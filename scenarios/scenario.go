// Package scenarios knows the catalogue of named experiments: what each client
// does, which fault begins and ends at which of its moves, what is waited for, and what
// must come of it on which lock. A scenario is run against a small interface (see Stage); the
// package must not know how a cluster runs, nor how an
// anomaly is proved.
package scenarios

import (
	"embed"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/internal/suggest"
	"github.com/picklock/picklock/workloads"
)

//go:embed *.yaml
var files embed.FS

// Scenario is one experiment as its file describes it.
type Scenario struct {
	Name   string
	About  string // what happens, in a few sentences
	Source string // URL of the paper, post or issue that it comes from
	File   string
	Own    bool   // File is a user's, and its name may also be in the catalogue
	Text   []byte // the file itself

	Locks   []string // on which it is run
	Fencing []string // the register's disciplines with which it is run
	Cluster string   // instead of the lock's own
	Folder  string   // where the programs of its exec locks are started; "" for the working directory
	Runtime string   // the only one on which it shows what it is about; "" for any
	Extra   map[string]string
	Needs   []string // what a lock must have for it: needs

	Clients []string
	TTL     time.Duration
	Lease   time.Duration // the longest that the lock was seen to grant, if no run of this shows one; 0: not known
	Bound   time.Duration // the liveness bound; 0: the harness's own
	Timeout time.Duration // how long a client waits for an answer, but for a grant; 0: the harness's own
	// IgnoreLost: clients go on to act under a grant of which their library has said that it is lost.
	IgnoreLost bool
	Run        *Run // instead of programs: a run of autonomous clients

	// What each client carries out by itself, and the faults that its moves trigger.
	Programs        map[string]Program
	TriggeredFaults []TriggeredFault
	Counts          []TriggeredFault // what is counted, and from when until when
	// Replay is how often it came to what is expected when that was measured, as written:
	// "100 of 100".
	Replay string

	Expect []Expectation
}

// Run is a scenario without programs: clients that run by themselves under a
// schedule of faults.
type Run struct {
	Clients    int
	Keys       int
	Workload   string
	Faults     []string
	Limit      time.Duration
	WorkTime   time.Duration
	IgnoreLost bool
}

// Cell is one way to run a scenario.
type Cell struct {
	Scenario *Scenario
	Lock     string
	Fencing  string
}

// All loads the catalogue, in the order of the names.
func All() ([]*Scenario, error) {
	names, err := fs.Glob(files, "*.yaml")
	if err != nil {
		return nil, err
	}
	var all []*Scenario
	for _, name := range names {
		text, err := files.ReadFile(name)
		if err != nil {
			return nil, err
		}
		s, err := Parse(name, text)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b *Scenario) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

// Lookup finds a scenario of the catalogue by its name.
func Lookup(name string) (*Scenario, error) {
	text, err := files.ReadFile(name + ".yaml")
	if err == nil {
		return Parse(name+".yaml", text)
	}
	found, _ := fs.Glob(files, "*.yaml") // the pattern is a constant and well-formed
	names := make([]string, len(found))
	for i, f := range found {
		names[i] = strings.TrimSuffix(f, ".yaml")
	}
	return nil, suggest.Listed("scenario", name, names, "picklock list scenarios")
}

// Load reads a user's own scenario. A cluster and a folder that are relative
// paths are so to the scenario's own folder.
func Load(path string) (*Scenario, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read scenario: %w", err)
	}
	return ParseOwn(path, text)
}

// ParseOwn is Load of a file that has been read.
func ParseOwn(path string, text []byte) (*Scenario, error) {
	s, err := Parse(path, text)
	if err != nil {
		return nil, err
	}
	s.Own = true
	return s, s.resolve(filepath.Dir(path))
}

// Argument names the scenario on a command line: by its file, or by its name in the catalogue.
func (s *Scenario) Argument() string {
	if _, err := Lookup(s.Name); s.Own || err != nil {
		return s.File
	}
	return s.Name
}

// Faults lists the kinds of fault that the track or the run use, each once.
func (s *Scenario) Faults() []string {
	var out []string
	add := func(kind string) {
		if kind != "" && !slices.Contains(out, kind) {
			out = append(out, kind)
		}
	}
	if s.Run != nil {
		for _, f := range s.Run.Faults {
			add(f)
		}
	}
	for _, f := range s.TriggeredFaults {
		if w, ok := lookup(f.Fault.Word); ok {
			add(w.kind)
		}
	}
	return out
}

// Needed lists the kinds of fault that the machine must be able to do: those of Faults,
// and what a gate needs.
func (s *Scenario) Needed() []string {
	out := s.Faults()
	gated := slices.ContainsFunc(s.TriggeredFaults, func(f TriggeredFault) bool { return f.When.At == Sent || f.When.At == Answered })
	if gated && !slices.Contains(out, holdWord.kind) {
		out = append(out, holdWord.kind)
	}
	return out
}

// awaits are the events that programs and faults wait for.
func (s *Scenario) awaits() []*Await {
	var out []*Await
	add := func(a *Await) {
		if a != nil {
			out = append(out, a)
		}
	}
	for _, c := range s.Clients {
		for _, m := range s.Programs[c] {
			add(m.Await)
		}
	}
	for _, st := range slices.Concat(s.TriggeredFaults, s.Counts) {
		add(st.When.Await)
		add(st.Until.Await)
	}
	return out
}

// Looks says whether something waits for what only the servers know of the lock.
func (s *Scenario) Looks() bool {
	return slices.ContainsFunc(s.awaits(), func(a *Await) bool { return a.event().looks })
}

// Keys is how many keys its clients acquire; 0: as many as any run has.
func (s *Scenario) Keys() int {
	second := func(p Program) bool { return slices.ContainsFunc(p, func(m Move) bool { return m.Second || m.Other }) }
	switch {
	case s.Run != nil:
		return s.Run.Keys
	case slices.ContainsFunc(slices.Collect(maps.Values(s.Programs)), second):
		return 2
	}
	return 1
}

// WaitsForWrite says whether a fault, its end or a client waits for a write. Where no client writes, it never comes.
func (s *Scenario) WaitsForWrite() bool {
	writes := func(m Trigger) bool { return m.Do == history.Write || m.Do == history.Add }
	return slices.ContainsFunc(s.TriggeredFaults, func(st TriggeredFault) bool { return writes(st.When) || writes(st.Until.Move) }) ||
		slices.ContainsFunc(s.awaits(), func(a *Await) bool { return writes(a.Move) })
}

// Touches says whether some move reads or writes the register.
func (s *Scenario) Touches() bool {
	touching := []string{history.Read, history.Write, history.Add, workloads.Check}
	for _, program := range s.Programs {
		if slices.ContainsFunc(program, func(m Move) bool { return slices.Contains(touching, m.Do) }) {
			return true
		}
	}
	return false
}
