package coordinator

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/picklock/picklock/fleet"
	"github.com/picklock/picklock/hunt"
	"github.com/picklock/picklock/results"
)

// Outcome is the result of a campaign, and the content of its files.
type Outcome struct {
	Report *fleet.Report
	Hunts  map[int]*hunt.Result    // by job
	Cells  map[int]*results.Matrix // by job
	// Pages are the reports of runs that broke something, by job and by the cell's folder.
	Pages map[int]map[string][]byte

	// Against is the folder of an earlier campaign, Changes what differs from it. The page shows
	// them if Against is not "".
	Against string
	Changes []fleet.Change
}

// outcome fetches the payloads of all items.
func (k *coordinator) outcome(ctx context.Context) (*Outcome, error) {
	out := &Outcome{
		Report: &fleet.Report{ID: k.o.ID, Name: k.o.Name, Version: k.about.Version, Started: k.about.Started, Finished: time.Now()},
		Hunts:  map[int]*hunt.Result{}, Cells: map[int]*results.Matrix{}, Pages: map[int]map[string][]byte{},
	}
	for _, s := range k.jobs {
		j := fleet.JobReport{Number: s.job.Number, Name: s.job.Name, Lock: s.job.Lock, Fencing: s.job.Fencing, Images: s.job.Images, Items: len(s.sent)}
		var err error
		if s.job.Hunt != nil {
			err = k.hunt(ctx, s, &j, out)
		} else {
			err = k.cells(ctx, s, &j, out)
		}
		if err != nil {
			return nil, err
		}
		out.Report.Jobs = append(out.Report.Jobs, j)
	}
	return out, nil
}

// tally counts the results of a job's items, once all payloads were read.
func (s *state) tally(j *fleet.JobReport) {
	workers := map[string]bool{}
	for id, r := range s.done {
		j.Seconds += r.Seconds
		j.Runs += r.Runs
		workers[r.Worker] = true
		switch {
		case r.DeadLetter != "":
			j.DeadLetters = append(j.DeadLetters, fleet.DeadLetter{Item: id, Why: r.DeadLetter})
		case r.Skipped && fleet.KindOf(id) == fleet.Measure:
			j.Unmeasured++
		case r.Skipped:
			j.Skipped++
		}
	}
	j.Workers = len(workers)
	slices.SortFunc(j.DeadLetters, func(a, b fleet.DeadLetter) int { return cmp.Compare(a.Item, b.Item) })
}

// hunt adds the result of a hunt. If its finish is dead-lettered, the counterexamples stay as the
// search found them.
func (k *coordinator) hunt(ctx context.Context, s *state, j *fleet.JobReport, out *Outcome) error {
	r, err := k.finished(ctx, s)
	if err != nil {
		return err
	}
	if r == nil {
		if r, err = k.unfinished(ctx, s); err != nil {
			return err
		}
	}
	s.tally(j)
	if r != nil {
		if s.stopped || len(j.DeadLetters) > 0 {
			for i := range r.Depths {
				r.Depths[i].Done = r.Depths[i].Done && j.Skipped == 0 && len(j.DeadLetters) == 0
			}
			r.Complete(s.job.Hunt.Sizes)
		}
		r.Command = s.job.Command()
		out.Hunts[s.job.Number] = r
	}
	j.SetHunt(r)
	return nil
}

func (k *coordinator) finished(ctx context.Context, s *state) (*hunt.Result, error) {
	p, err := k.payload(ctx, s, finishOf(s), isHunt)
	if p == nil || err != nil {
		return nil, err
	}
	for i := range p.Finds {
		if p.Finds[i], err = k.measured(ctx, s, i, p.Finds[i]); err != nil {
			return nil, err
		}
	}
	return hunt.Gather(*p.Hunt, p.Finds), nil
}

// measured is a counterexample with its replays. If no worker replayed it, it says so.
func (k *coordinator) measured(ctx context.Context, s *state, i int, f hunt.Find) (hunt.Find, error) {
	p, err := k.payload(ctx, s, fleet.Item{Job: s.job.Number, Kind: fleet.Measure, Number: i}.ID(), func(p *fleet.Payload) bool {
		return len(p.Finds) == 1 && p.Finds[0].Counterexample != nil && p.Finds[0].Counterexample.Name == f.Counterexample.Name
	})
	if err != nil {
		return f, err
	}
	if p == nil {
		w := *f.Counterexample
		w.Unmeasured, w.Untried = true, w.Steady()
		f.Counterexample = &w
		return f, nil
	}
	return p.Finds[0], nil
}

func (k *coordinator) unfinished(ctx context.Context, s *state) (*hunt.Result, error) {
	var portions []hunt.Portion
	for _, id := range slices.Sorted(maps.Keys(s.done)) {
		if kind := fleet.KindOf(id); kind != fleet.Slice && kind != fleet.Guided {
			continue
		}
		p, err := k.payload(ctx, s, id, isPortion)
		if err != nil {
			return nil, err
		}
		if p != nil {
			portions = append(portions, *p.Portion)
		}
	}
	if len(portions) == 0 {
		return nil, nil
	}
	h := s.job.Hunt
	search := hunt.Assemble(hunt.Options{Target: hunt.Target{Lock: s.job.Lock, Fencing: s.job.Fencing, TTL: h.TTL}, Depth: h.Depth, Find: h.Find, IgnoreHazards: h.Beyond, Seed: h.Seed}, portions)
	return search.Result(), nil
}

// cells adds the result of a matrix. All runs of one cell become one cell.
func (k *coordinator) cells(ctx context.Context, s *state, j *fleet.JobReport, out *Outcome) error {
	m := &results.Matrix{Started: k.about.Started, Finished: out.Report.Finished, Versions: map[string]string{}, Machine: results.Machine{}, Cells: make([]results.Cell, len(s.job.Cells))}
	for _, p := range s.job.Scenarios {
		m.Scenarios = append(m.Scenarios, results.Ran(p))
	}
	pages := map[string][]byte{}
	for _, i := range s.job.Items() { // the order does not depend on the workers' speed
		c := s.job.Cells[i.First]
		cell := &m.Cells[i.First]
		p, err := k.payload(ctx, s, i.ID(), func(p *fleet.Payload) bool { return p.Cell != nil })
		if err != nil {
			return err
		}
		one := results.Cell{Scenario: c.Scenario, Lock: c.Lock, Fencing: c.Fencing}
		if p == nil {
			one.LeftOut = "dead-lettered: " + s.done[i.ID()].DeadLetter
		} else {
			one = *p.Cell
			one.Scenario, one.Lock, one.Fencing = c.Scenario, c.Lock, c.Fencing
			one.Dir = ""
			if len(p.Report) > 0 {
				one.Dir = fmt.Sprintf("cells/%d/%d", i.First+1, i.Number+1)
				pages[one.Dir] = p.Report
			}
		}
		for name, v := range one.Versions {
			m.Versions[name] = v
		}
		if cell.Scenario == "" {
			*cell = one
		} else {
			cell.Add(one)
		}
	}
	out.Cells[s.job.Number], out.Pages[s.job.Number] = m, pages
	s.tally(j)
	j.SetMatrix(m)
	return nil
}
