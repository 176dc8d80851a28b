package results

import (
	"fmt"
	"slices"
	"time"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/checker/verdict"
	"github.com/picklock/picklock/internal/format"
	"github.com/picklock/picklock/internal/shard"
)

// Matrix is locks x scenarios x disciplines: what matrix.json holds.
type Matrix struct {
	Started  time.Time         `json:"started"`
	Finished time.Time         `json:"finished"`
	Versions map[string]string `json:"versions"`
	Machine  Machine           `json:"machine"`
	// Scenarios are those that were run, in the order of the cells.
	Scenarios []Ran  `json:"scenarios"`
	Cells     []Cell `json:"cells"`
	// Paces are how fast the locks were, by name; empty where that was not measured.
	Paces []Pace `json:"paces,omitempty"`
	// Shard is which of the cells these are: nil for all.
	Shard *shard.Shard `json:"shard,omitempty"`
}

// Ran says what a scenario is about.
type Ran struct {
	Name   string `json:"name"`
	About  string `json:"about"`
	Source string `json:"source,omitempty"`
}

// State is what a cell came to.
type State string

// The states of a cell.
const (
	Holds        State = "pass"
	Expected     State = "expected failure" // known, and seen again, or allowed
	Violated     State = "fail"             // nothing was known of this lock
	Unexpected   State = "not as expected"  // not what was expected, in either direction
	Inconclusive State = "unknown"
	LeftOut      State = "left out" // it could not be run here
)

// States lists all states, in the order in which they are counted.
var States = []State{Holds, Expected, Violated, Unexpected, Inconclusive, LeftOut}

// State is what the cell came to.
func (c Cell) State() State {
	switch {
	case c.LeftOut != "":
		return LeftOut
	case c.Expected == "" && c.Valid == checker.False:
		return Violated
	case c.Met == checker.False:
		return Unexpected
	case c.Met == checker.Unknown:
		return Inconclusive
	case len(c.Must) > 0 || c.Valid == checker.False:
		return Expected
	}
	return Holds
}

// Add takes in one more run of the same cell.
func (c *Cell) Add(one Cell) {
	c.Runs += one.Runs
	c.Clean += one.Clean
	c.Unproved += one.Unproved
	for _, name := range one.Broken {
		if !slices.Contains(c.Broken, name) {
			c.Broken = append(c.Broken, name)
		}
	}
	slices.Sort(c.Broken)
	if c.Class != verdict.Bug && (c.Class != verdict.ResourceFault || one.Class == verdict.Bug) {
		c.Class = verdict.Class(firstNonEmpty(string(one.Class), string(c.Class)))
	}
	c.Confirmed += one.Confirmed
	c.Refused += one.Refused
	c.Discarded += one.Discarded
	c.Service = firstNonEmpty(c.Service, one.Service)
	c.Seconds += one.Seconds
	c.LeftOut = firstNonEmpty(c.LeftOut, one.LeftOut)
	if one.Found != nil && c.Found == nil {
		c.Found = map[string]int{}
	}
	for name, n := range one.Found {
		c.Found[name] += n
	}
	if c.Met != checker.False && one.Met != checker.True && (c.Met == checker.True || one.Met == checker.False) {
		// The worst run speaks for the cell, and is the one to look at.
		c.Met, c.Why, c.Dir = one.Met, one.Why, one.Dir
	}
	if c.Valid != checker.False && one.Valid != checker.True {
		c.Valid = one.Valid
	}
	c.Dir, c.Sentence = firstNonEmpty(c.Dir, one.Dir), firstNonEmpty(c.Sentence, one.Sentence)
	c.Causes = withCauses(c.Causes, one.Causes)
	if c.Counts == nil {
		c.Counts = one.Counts
	}
	if c.Started.IsZero() || one.Started.Before(c.Started) && !one.Started.IsZero() {
		c.Started = one.Started
	}
	if c.Versions == nil {
		c.Versions = one.Versions
	}
	c.Emulator = firstNonEmpty(c.Emulator, one.Emulator)
	if c.Command == nil {
		c.Command = one.Command
	}
}

// Bound says how much a cell without a violation proves: by the rule of three, with
// none in n faults that took effect, the true share lies below 3/n with a confidence of
// 95 %. "" where there was a violation, or so few faults that it says nothing. Runs of
// one script are one and the same trial, so that only what was left to chance says much.
func (c Cell) Bound() string {
	if c.State() != Holds || c.Confirmed <= 3 {
		return ""
	}
	return fmt.Sprintf("0 in %s: at most %s %% (95 %%)", plural(c.Confirmed, "fault", "faults"), format.Digits(300/float64(c.Confirmed)))
}

// Count counts the cells by their state.
func (m *Matrix) Count() map[State]int {
	out := map[State]int{}
	for _, c := range m.Cells {
		out[c.State()]++
	}
	return out
}

// Validity is the matrix's own verdict: false if a cell is not as expected, or broke
// a lock of which nothing was known, unknown if one proved too little, or if no cell was run: of a shard that may be.
func (m *Matrix) Validity() checker.Validity {
	n := m.Count()
	switch {
	case n[Unexpected]+n[Violated] > 0:
		return checker.False
	case n[Inconclusive] > 0, m.Shard == nil && n[LeftOut] == len(m.Cells):
		return checker.Unknown
	}
	return checker.True
}
