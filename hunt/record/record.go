// Package record makes schedules of what a run's record holds: which clients took part in a
// violation, what they did around it and which faults were on, each tied to what a client did
// when it took effect. It must not know how a schedule is run, nor whether one repeats anything.
package record

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/picklock/picklock/checker/verdict"
	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/scenarios"
)

// Run is what is known of a recorded run.
type Run struct {
	Lock, Fencing, Cluster, Runtime string
	Folder                          string // where an exec lock's program was started; "" for no matter
	Options                         map[string]string
	Servers                         []string
	// Clients are the names that schedules may use: so many clients can take part.
	Clients []string
	TTL     time.Duration // the lease that the run had
	Lease   time.Duration // the lease that schedules have; times of the run become leases of it
	// CheckLease: clients looked at their lease before each write, which leaves no event.
	CheckLease bool
	Events     []history.Event // in the order of their times
}

// Try is one schedule built from a record.
type Try struct {
	Schedule *scenarios.Scenario
	// How says what was taken otherwise than it was; "" for the schedule closest to the record.
	How string
}

// ErrNoSchedule marks a record that no schedule can say again.
var ErrNoSchedule = errors.New("this cannot be written as a schedule")

// occurrences is how many violations of one kind are tried: they differ in which faults were
// on by chance.
const occurrences = 3

// relaxation is a way to take a record less exactly.
type relaxation struct {
	how     string
	all     bool // every fault since the quiet moment, not only those of the evidence
	asked   bool // from when the first of them asked for the lock, not only the quiet moment
	early   bool // who had asked for the lock by then does not wait for who was granted it first
	others  bool // others who had the lock meanwhile take part, as far as there is room
	longer  bool // faults end a lease later
	shift   int  // faults are triggered so many events later
	message scenarios.Where
}

// relaxations is the order in which a violation is tried. What stands first takes the record as
// it is, what follows allows for what a record does not say: the order within a moment, and
// what it owes to those who are left out.
var relaxations = []relaxation{
	{},
	{how: "with every fault since the lock was last free", all: true},
	{how: "with clients that ask for the lock as early as they did", early: true},
	{how: "with faults that last a lease longer", longer: true},
	{how: "with faults that are triggered one event earlier", shift: -1},
	{how: "with faults that are triggered one event later", shift: 1},
	{how: "with faults that are triggered when the first message of an act has been sent", message: scenarios.Sent},
	{how: "with faults that are triggered when the first answer to an act has come", message: scenarios.Answered},
	{how: "with the others who had the lock meanwhile", all: true, others: true},
	{how: "from when the first of the clients asked for the lock", all: true, asked: true},
	{how: "from when the first of the clients asked for the lock, with the others who had it meanwhile and faults that last a lease longer", all: true, asked: true, others: true, longer: true},
}

// Schedules builds schedules from a record of which each of the anomalies is a violation of
// the same kind. The earliest comes first, which is least a consequence of others, then those
// with the fewest faults on; all are taken as they were, and then by what the relaxations allow,
// rung by rung. No schedule comes twice. The error is ErrNoSchedule where there is none at all.
func (r Run) Schedules(anomalies []verdict.Anomaly) ([]Try, error) {
	if err := r.expressible(); err != nil {
		return nil, err
	}
	faults, odd := r.faults()
	anomalies = slices.Clone(anomalies)
	on := func(a verdict.Anomaly) int {
		from, to := r.evidence(a)
		n := 0
		for _, f := range faults {
			if f.within(from, to) {
				n++
			}
		}
		return n
	}
	slices.SortStableFunc(anomalies, func(a, b verdict.Anomaly) int { return cmp.Compare(a.Time, b.Time) })
	if len(anomalies) > 1 {
		slices.SortStableFunc(anomalies[1:], func(a, b verdict.Anomaly) int { return cmp.Compare(on(a), on(b)) })
	}
	var out []Try
	var first error
	seen := map[string]bool{}
	for _, l := range relaxations {
		for i, a := range anomalies[:min(len(anomalies), occurrences)] {
			s, err := r.build(a, l, faults)
			if err != nil {
				if first == nil {
					first = err
				}
				continue
			}
			if text := string(s.Write()); !seen[text] {
				seen[text] = true
				out = append(out, Try{s, how(i, l.how)})
			}
		}
	}
	switch {
	case len(out) > 0:
		return out, nil
	case first == nil:
		first = errors.New("it has no violation")
	}
	return nil, fmt.Errorf("%w: %w%s", ErrNoSchedule, first, odd)
}

func how(occurrence int, words string) string {
	if occurrence == 0 {
		return words
	}
	text := fmt.Sprintf("violation %d", occurrence+1)
	if words != "" {
		text += ", " + words
	}
	return text
}

// expressible says what a program of a schedule has no words for.
func (r Run) expressible() error {
	if e := r.leavesOutOfTurn(); e != nil {
		return fmt.Errorf("%w: %s releases %s at %.3f s, which it had entered before an entry that it still has: the client of a schedule leaves the latest first", ErrNoSchedule, e.Process, e.Grant, float64(e.Time)/1e9)
	}
	for _, e := range r.Events {
		// A stall of this machine hits no node and cannot be repeated.
		if e.Process == history.Nemesis && e.Phase == history.Begin && e.Confirmed && len(e.Nodes) > 0 && e.Fault == "" {
			return fmt.Errorf("%w: the event of its %s at %.3f s has no field fault, so an earlier version recorded it: repeat the run with this version (its report has the command line)", ErrNoSchedule, e.F, float64(e.Time)/1e9)
		}
	}
	if !slices.ContainsFunc(r.Events, func(e history.Event) bool { return e.F == history.Acquire }) {
		return fmt.Errorf("%w: its clients take no lock", ErrNoSchedule)
	}
	return nil
}

// leavesOutOfTurn is the first release of an entry of a reentrant lock that is not its client's latest; nil if there is none.
func (r Run) leavesOutOfTurn() *history.Event {
	type holder struct{ process, key string }
	entries := map[holder][]string{}
	for i, e := range r.Events {
		h := holder{e.Process, e.Key}
		switch {
		case e.Process == history.Nemesis:
			for k := range entries {
				if e.F == "kill" && slices.Contains(e.Nodes, k.process) {
					delete(entries, k)
				}
			}
		case e.F == history.Acquire && e.Type == history.OK && e.Mode == history.Nested:
			entries[h] = append(entries[h], e.Grant)
		case e.F == history.Acquire && e.Type == history.OK:
			entries[h] = []string{e.Grant}
		case e.F == history.Release && e.Type == history.Invoke:
			n := slices.Index(entries[h], e.Grant)
			if n >= 0 && n < len(entries[h])-1 {
				return &r.Events[i]
			}
			if n >= 0 {
				entries[h] = entries[h][:n]
			}
		}
	}
	return nil
}

// build makes one schedule.
func (r Run) build(a verdict.Anomaly, l relaxation, faults []fault) (*scenarios.Scenario, error) {
	w := r.window(a, l)
	scripts := r.scripts(w, l)
	if len(scripts) == 0 {
		return nil, errors.New("none of its clients asked for the lock in that time")
	}
	s := &scenarios.Scenario{
		Name: "from-a-run", About: fmt.Sprintf("built from a run in which %s was proved at %.3f s", a.Name, float64(a.Time)/1e9), File: "schedule.yaml",
		Locks: []string{r.Lock}, Fencing: []string{r.Fencing}, Cluster: r.Cluster, Runtime: r.Runtime, Folder: r.Folder, Extra: r.Options,
		TTL: r.Lease, Programs: map[string]scenarios.Program{},
	}
	for _, c := range scripts {
		s.Clients = append(s.Clients, c.name)
		s.Programs[c.name] = c.program()
	}
	since, until := r.evidence(a)
	if l.all {
		since = w.from
	}
	for _, f := range faults {
		if f.within(since, until) {
			s.TriggeredFaults = append(s.TriggeredFaults, r.triggered(w, scripts, f, l)...)
		}
	}
	whole, err := scenarios.Parse(s.File, s.Write())
	if err != nil {
		return nil, fmt.Errorf("the schedule that was built is none: %w", err)
	}
	return whole, nil
}
