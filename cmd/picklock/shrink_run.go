package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/picklock/picklock/checker/verdict"
	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/hunt"
	"github.com/picklock/picklock/hunt/record"
	"github.com/picklock/picklock/hunt/testbeds"
	"github.com/picklock/picklock/internal/format"
	"github.com/picklock/picklock/results"
	"github.com/picklock/picklock/scenarios"
)

// built says what a scenario was built from.
type built struct {
	Run      string    `json:"run"`
	Acts     int       `json:"acts"`    // of all its clients
	Faults   int       `json:"faults"`  // that took effect
	Times    int       `json:"times"`   // how often the violation is proved
	Tried    int       `json:"tried"`   // schedules, until one came again
	Of       int       `json:"of"`      // that could be built
	How      string    `json:"how"`     // what is otherwise in it than in the record; "" for nothing
	Runs     int       `json:"runs"`    // of all that were tried
	Repeated hunt.Rate `json:"repeats"` // of the one that came again
}

// shortLease is the lease of what is built from a run with a longer one: a run lasts a few
// of them, and what this machine does late must be a small part of one.
const shortLease = 500 * time.Millisecond

// ofRun builds a scenario from a run's record and shrinks it.
func (o *shrinkFlags) ofRun(ctx context.Context, path string) error {
	loaded, err := results.Open(path)
	if errors.Is(err, results.ErrNoRun) {
		return usage(err)
	}
	if err != nil {
		return err
	}
	v := loaded.Verdict
	if v == nil {
		return usage(fmt.Errorf("%s has no verdict: judge it with picklock check %s", path, path))
	}
	counterexamples := hunt.BrokenBy(*v, o.find)
	if len(counterexamples) == 0 {
		what := "broke no required property"
		if o.find != nil {
			what = "shows no " + strings.Join(o.find, ", ")
		}
		fmt.Fprintf(os.Stderr, "picklock: %s %s (its verdict is %v): there is nothing to make smaller\n", path, what, v.Valid)
		return &exitError{exitInvalid, nil}
	}
	// A run that was a scenario with programs has it in its directory.
	if file := loaded.Dir.File("scenario.yaml"); loaded.Run.Scenario != "" {
		if s, err := scenarios.Load(file); err == nil && s.Programs != nil && !o.given("ttl") {
			// What it names relative to its own file is not beside the copy.
			s.Cluster, s.Folder = loaded.Run.Cluster, loaded.Run.Folder
			if o.Lock == "" {
				o.Lock = loaded.Run.Lock
			}
			if !o.given("fencing") {
				o.Fencing = loaded.Run.Fencing
			}
			return o.of(ctx, s)
		}
	}
	counterexample := counterexamples[0]
	tries, b, ignore, err := o.build(ctx, loaded, counterexample)
	if err != nil {
		return usage(fmt.Errorf("%s: %w", path, err))
	}
	all := make([]*scenarios.Scenario, len(tries))
	var kinds []string
	for i, t := range tries {
		all[i] = t.Schedule
		for _, k := range t.Schedule.Faults() {
			if !slices.Contains(kinds, k) {
				kinds = append(kinds, k)
			}
		}
	}
	o.Scenario = all[0]
	p, target, end, err := oneTestbed(ctx, testbedFor{ScenarioOptions: o.ScenarioOptions, runtime: o.runtime, faults: kinds, ignoreLost: ignore})
	if err != nil {
		return huntError(err)
	}
	fmt.Fprintf(os.Stderr, "%d %s and %d %s; %s is proved %d %s; %d %s can be built from that\n", b.Acts, format.Noun(b.Acts, "operation", "operations"), b.Faults, format.Noun(b.Faults, "fault", "faults"),
		counterexample.Signature.Name(), b.Times, format.Noun(b.Times, "time", "times"), len(all), format.Noun(len(all), "schedule", "schedules"))
	again, err := hunt.Repeats(ctx, target, p, all, counterexample, o.find, func(i int, r hunt.Rate) {
		n := len(all[i].TriggeredFaults)
		text := fmt.Sprintf("schedule %d: %d %s, reproduced in %d of %d runs", i+1, n, format.Noun(n, "fault", "faults"), r.Hits, r.Runs)
		if r.Discarded > 0 {
			text += fmt.Sprintf(", %d discarded", r.Discarded)
		}
		if tries[i].How != "" {
			text += ": " + tries[i].How
		}
		fmt.Fprintln(os.Stderr, text)
	})
	if errors.Is(err, hunt.ErrNever) {
		fmt.Fprintf(os.Stderr, "picklock: the schedules built from %s did not repeat %s: %v. It may need the timing of that run, or more clients than take part in a schedule\n", path, counterexample.Signature.Name(), err)
		return errors.Join(&exitError{exitUnknown, nil}, end())
	}
	if err != nil {
		return huntError(errors.Join(err, end()))
	}
	if again.Signature.Name() != counterexample.Signature.Name() {
		fmt.Fprintf(os.Stderr, "no schedule reproduced %s; schedule %d shows %s in %d of %d runs\n", counterexample.Signature.Name(), again.Place+1, again.Signature.Name(), again.Rate.Hits, again.Rate.Runs)
	}
	if !again.Steady {
		fmt.Fprintf(os.Stderr, "schedule %d reproduces it most often, in %d of %d runs: it is intermittent\n", again.Place+1, again.Rate.Hits, again.Rate.Runs)
	}
	how := o.how()
	how.Like = &again.Signature
	small, err := hunt.Shrink(ctx, target, p, all[again.Place], how)
	if err = errors.Join(err, end()); err != nil {
		return huntError(err)
	}
	b.Tried, b.Of, b.How, b.Runs, b.Repeated = again.Tried, len(all), tries[again.Place].How, again.Runs, again.Rate
	return o.print(shrunk{small, b})
}

// build reads a run's record and builds schedules from it.
func (o *shrinkFlags) build(ctx context.Context, loaded *results.Loaded, counterexample hunt.Broken) ([]record.Try, *built, bool, error) {
	run := loaded.Run
	if run.Register != "" {
		return nil, nil, false, fmt.Errorf("%w: its register was %s, and a schedule is run with picklock's own", record.ErrNoSchedule, run.Register)
	}
	said := saidOf(run.Command)
	if o.Lock == "" {
		o.Lock = run.Lock
		if !o.given("lock-option") {
			var err error
			if o.Extra, err = clients.ParseOptions(said["--lock-option"]); err != nil {
				return nil, nil, false, err
			}
		}
		var err error
		if o.Abilities, err = clients.ParseAbilities(said["--ability"]); err != nil {
			return nil, nil, false, err
		}
	}
	info, err := lockTable.Lookup(o.Lock)
	if err != nil {
		return nil, nil, false, err
	}
	if !o.given("fencing") {
		o.Fencing = run.Fencing
	}
	if o.Cluster == "" && run.Cluster != info.Cluster {
		o.Cluster = run.Cluster
	}
	if !o.given("runtime") && run.Runtime != "" {
		o.runtime = run.Runtime
	}
	lease := o.ttl
	if lease == 0 {
		kept, err := testbeds.ShortestLease(ctx, info, run.Cluster)
		if err != nil {
			return nil, nil, false, err
		}
		lease = min(run.TTL, max(shortLease, kept))
	}
	events, err := history.ReadFile(loaded.Dir.History())
	if err != nil {
		return nil, nil, false, results.Damaged(err)
	}
	history.Sort(events)
	r := record.Run{
		Lock: o.Lock, Fencing: o.Fencing, Cluster: o.Cluster, Options: o.Extra,
		Clients: hunt.Target{Permits: info.Permits(o.Extra)}.ClientNames(),
		TTL:     run.TTL, Lease: lease, CheckLease: run.CheckLease, Events: events,
	}
	if o.Lock == run.Lock {
		r.Folder = run.Folder
	}
	for _, n := range run.Nodes {
		if n.Role == "server" {
			r.Servers = append(r.Servers, n.Name)
		}
	}
	var anomalies []verdict.Anomaly
	for _, i := range counterexample.Anomalies {
		anomalies = append(anomalies, loaded.Verdict.Anomalies[i])
	}
	b := &built{Run: filepath.Base(loaded.Dir.Path()), Times: len(anomalies)}
	for _, e := range events {
		switch {
		case e.Process != history.Nemesis && e.Type == history.Invoke:
			b.Acts++
		case e.Process == history.Nemesis && e.Phase == history.Begin && e.Confirmed:
			b.Faults++
		}
	}
	tries, err := r.Schedules(anomalies)
	return tries, b, run.IgnoreLost, err
}

// saidOf are the values of a recorded command line's flags that run.json has nowhere else.
func saidOf(command []string) map[string][]string {
	out := map[string][]string{}
	for i, word := range command {
		if (word == "--lock-option" || word == "--ability") && i+1 < len(command) {
			out[word] = append(out[word], command[i+1])
		}
	}
	return out
}
