package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/register"
	"github.com/picklock/picklock/harness"
	"github.com/picklock/picklock/hunt/testbeds"
	"github.com/picklock/picklock/internal/suggest"
	"github.com/picklock/picklock/scenarios"
	"github.com/picklock/picklock/workloads"
)

// The defaults of a task.
const (
	usualSlice   = 200
	usualFinish  = 5 * time.Minute
	usualReplays = 20
	usualRun     = 30 * time.Second
)

// Jobs divides a campaign into jobs. Every call gives the same jobs with the same numbers, so that
// an interrupted campaign finds its results again.
func (c *Campaign) Jobs(ctx context.Context, table *clients.Table) ([]Job, error) {
	var out []Job
	for i, t := range c.Tasks {
		var jobs []Job
		var err error
		switch {
		case t.Hunt != nil:
			jobs, err = c.hunts(ctx, table, t.Hunt)
		case t.Matrix != nil:
			jobs, err = c.matrix(table, t.Matrix)
		case t.Run != nil:
			jobs, err = c.runs(table, t.Run)
		}
		if err == nil {
			err = checkImages(ctx, table, jobs)
		}
		if err != nil {
			return nil, fmt.Errorf("task %d: %w", i+1, err)
		}
		out = append(out, jobs...)
	}
	names := map[string]int{}
	for i := range out {
		// Compare matches the jobs of two campaigns by name.
		if names[out[i].Name]++; names[out[i].Name] > 1 {
			out[i].Name += fmt.Sprintf(" (%d)", names[out[i].Name])
		}
		out[i].Number = i
		out[i].Runtime = c.Runtime
		if c.Runtime == "" {
			out[i].Runtime = "local"
		}
	}
	return out, nil
}

func (c *Campaign) hunts(ctx context.Context, table *clients.Table, t *HuntTask) ([]Job, error) {
	h := Hunt{Faults: t.Faults, Find: t.Find, Beyond: t.Beyond, TTL: t.TTL, Depth: 1, Slice: t.Slice, Time: t.Time, Finish: t.Finish, Replays: t.Replays, Seed: t.Seed}
	if h.Faults == nil {
		h.Faults = []string{"all"}
	}
	if t.Depth != nil {
		h.Depth = *t.Depth
	}
	for _, d := range []struct {
		to    *int
		usual int
	}{{&h.Slice, usualSlice}, {&h.Replays, usualReplays}} {
		if *d.to == 0 {
			*d.to = d.usual
		}
	}
	if h.Finish == 0 {
		h.Finish = usualFinish
	}
	var out []Job
	for j := range t.each(t.Fencing, []string{"none"}) {
		info, err := table.Lookup(j.Lock)
		if err != nil {
			return nil, err
		}
		one := h
		j.Lock, j.Hunt, j.Name = info.Name, &one, title("hunt", info.Name, j.Fencing, j.Images)
		o := j.Testbeds(c.Runtime)
		if err := errors.Join(CheckHunt(info, j), testbeds.CheckFaults(h.Faults)); err != nil {
			return nil, err
		}
		target, err := o.Target(ctx, info)
		if err == nil {
			err = target.CheckKinds()
		}
		if err != nil {
			return nil, err
		}
		one.Sizes = target.Sizes(h.Depth)
		out = append(out, j)
	}
	return out, nil
}

// Testbeds are the options of the testbeds that a job's hunt needs.
func (j Job) Testbeds(runtime string) *testbeds.Options {
	if runtime == "" {
		runtime = "local"
	}
	o := &testbeds.Options{Settings: workloads.Settings{Lock: j.Lock, Cluster: j.Cluster, Fencing: j.Fencing}, Extra: j.Options, Abilities: j.Abilities, Runtime: runtime}
	if j.Hunt != nil {
		o.Settings.Faults, o.Settings.TTL = slices.Clone(j.Hunt.Faults), j.Hunt.TTL
	}
	return o
}

// The limits of a hunt.
const (
	longestTTL    = time.Minute
	longestFinish = 6 * time.Hour
	mostReplays   = 10000
)

// CheckHunt refuses a hunt that its lock cannot do, or that no worker would take.
func CheckHunt(info clients.Info, j Job) error {
	h := j.Hunt
	switch {
	case info.Unlocked != nil:
		return fmt.Errorf("%s is not a lock, so that nothing can break", info.Name)
	case h.Depth < 0 || h.Depth > 2 || h.Slice < 1:
		return fmt.Errorf("max-faults %d in slices of %d: want 0 to 2 in slices of 1 at least", h.Depth, h.Slice)
	case h.TTL < 0 || h.TTL > longestTTL || h.Finish < 0 || h.Finish > longestFinish || h.Replays < 1 || h.Replays > mostReplays:
		return fmt.Errorf("ttl %v, finish %v, %d replays: want up to %v, %v, %d", h.TTL, h.Finish, h.Replays, longestTTL, longestFinish, mostReplays)
	}
	for _, a := range h.Find {
		if !slices.Contains(scenarios.Anomalies, a) {
			return fmt.Errorf("find: %w", suggest.Unknown("anomaly", a, scenarios.Anomalies))
		}
	}
	if _, err := register.ParseFencingMode(j.Fencing); err != nil {
		return err
	}
	return errors.Join(info.CheckOptions(j.Options), info.CheckAbilities(j.Abilities))
}

// each yields a job for every lock with every fencing mode and every choice of images.
func (l Locks) each(fencing, usual []string) func(yield func(Job) bool) {
	if len(fencing) == 0 {
		fencing = usual
	}
	return func(yield func(Job) bool) {
		for _, images := range l.choices() {
			for _, lock := range l.Locks {
				for _, f := range fencing {
					if !yield(Job{Lock: lock, Fencing: f, Options: l.Options, Abilities: l.Abilities, Cluster: l.Cluster, Images: images}) {
						return
					}
				}
			}
		}
	}
}

// choices are all combinations of one image for each service.
func (l Locks) choices() []map[string]string {
	out := []map[string]string{nil}
	for _, service := range slices.Sorted(maps.Keys(l.Images)) {
		var more []map[string]string
		for _, m := range out {
			for _, image := range l.Images[service] {
				one := maps.Clone(m)
				if one == nil {
					one = map[string]string{}
				}
				one[service] = image
				more = append(more, one)
			}
		}
		out = more
	}
	return out
}

func (c *Campaign) matrix(table *clients.Table, t *MatrixTask) ([]Job, error) {
	var all []*scenarios.Scenario
	for _, f := range t.Files {
		if !filepath.IsAbs(f) {
			f = filepath.Join(c.folder, f)
		}
		s, err := scenarios.Load(f)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	for _, name := range t.Scenarios {
		s, err := scenarios.Lookup(name)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	if len(all) == 0 {
		var err error
		if all, err = scenarios.All(); err != nil {
			return nil, err
		}
	}
	locks := slices.Clone(t.Locks.Locks)
	for i, l := range locks {
		info, err := table.Lookup(l)
		if err != nil {
			return nil, err
		}
		locks[i] = info.Name // scenarios do not resolve aliases
	}
	o := harness.MatrixOptions{Scenarios: all, Locks: locks, Fencing: t.Fencing, Cluster: t.Cluster, Extra: t.Options, Abilities: t.Abilities, Table: table}
	cells, err := o.Cells()
	if err != nil {
		return nil, err
	}
	return t.jobs("matrix", all, o.Together(cells), max(1, t.Runs)), nil
}

// jobs are the cells, once for every choice of images.
func (l Locks) jobs(kind string, all []*scenarios.Scenario, cells []scenarios.Cell, runs int) []Job {
	var out []Job
	for _, images := range l.choices() {
		j := Job{Name: title(kind, "", "", images), Options: l.Options, Abilities: l.Abilities, Cluster: l.Cluster, Images: images}
		for _, s := range all {
			j.Scenarios = append(j.Scenarios, ScenarioInfo{s.Name, s.About, s.Source})
		}
		for _, c := range cells {
			j.Cells = append(j.Cells, Cell{Scenario: c.Scenario.Name, Text: string(c.Scenario.Text), Lock: c.Lock, Fencing: c.Fencing, Runs: runs})
		}
		out = append(out, j)
	}
	return out
}

// runs makes a scenario of each lock, whose clients and faults are random. Its cells are like those
// of a matrix.
func (c *Campaign) runs(table *clients.Table, t *RunTask) ([]Job, error) {
	limit := t.Time
	if limit == 0 {
		limit = usualRun
	}
	fencing := t.Fencing
	if len(fencing) == 0 {
		fencing = []string{"none"}
	}
	var cells []scenarios.Cell
	var all []*scenarios.Scenario
	for _, lock := range t.Locks.Locks {
		info, err := table.Lookup(lock)
		if err != nil {
			return nil, err
		}
		s, err := t.scenario(info, limit, fencing)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
		o := harness.MatrixOptions{Scenarios: []*scenarios.Scenario{s}, Locks: s.Locks, Fencing: fencing, Cluster: t.Cluster, Extra: t.Options, Abilities: t.Abilities, Table: table}
		of, err := o.Cells()
		if err != nil {
			return nil, fmt.Errorf("%s cannot run with fencing %s: does it issue tokens? (see picklock list locks)", info.Name, strings.Join(fencing, ", "))
		}
		cells = append(cells, of...)
	}
	return t.jobs("run", all, cells, max(1, t.Runs)), nil
}

// scenario is the file of a run.
func (t *RunTask) scenario(info clients.Info, limit time.Duration, fencing []string) (*scenarios.Scenario, error) {
	usual := harness.Defaults()
	ttl, workload := t.TTL, t.Workload
	if ttl == 0 {
		ttl = max(usual.TTL, info.MinTTL)
	}
	if workload == "" {
		workload = harness.WorkloadFor(info)
	}
	name := "run-" + strings.ToLower(slug(info.Name))
	text, err := yaml.Marshal(map[string]any{
		"name": name, "about": fmt.Sprintf("%s for %v under %s.", info.Name, limit, strings.Join(t.Faults, ", ")),
		"locks": []string{info.Name}, "fencing": fencing, "ttl": ttl.String(),
		"expect": map[string]string{scenarios.Every: "valid"},
		"run": map[string]any{
			"clients": cmp.Or(t.Clients, usual.Clients), "keys": cmp.Or(t.Keys, usual.Keys), "workload": workload,
			"faults": t.Faults, "duration": limit.String(),
		},
	})
	if err != nil {
		return nil, fmt.Errorf("write the scenario of a run: %w", err)
	}
	return scenarios.Parse(name+".yaml", text)
}

// slug makes a file's name of a lock's name.
func slug(name string) string {
	return strings.Trim(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, name[:min(len(name), 40)]), "-")
}

// Items are the items that a job starts with. The coordinator adds the guided search, the finish
// and the replays, which depend on results.
func (j Job) Items() []Item {
	var out []Item
	if j.Hunt == nil {
		for cell, c := range j.Cells {
			for range c.Runs {
				out = append(out, Item{Job: j.Number, Kind: Run, Number: len(out), First: cell})
			}
		}
		return out
	}
	for at := 0; at < j.Hunt.Size(); at += j.Hunt.Slice {
		out = append(out, Item{Job: j.Number, Kind: Slice, Number: len(out), First: at, End: min(at+j.Hunt.Slice, j.Hunt.Size())})
	}
	return out
}
