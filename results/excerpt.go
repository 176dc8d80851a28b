package results

import (
	"errors"
	"io/fs"
	"math"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/history"
)

// maxExcerpt is about how many events a report is drawn from. Beyond it more would only
// be thinned out again (see maxShapes), and cost memory with the length of the run.
const maxExcerpt = 100_000

// maxRare bounds the events of an excerpt that are kept for what they are: faults, losses,
// refusals.
const maxRare = maxExcerpt / 8

// excerpt is what a report is drawn from: all of a run's record, or, of a long one, what
// proves the anomalies that are shown, all that happened around them and at the start of
// the run, the faults, and whole critical sections, evenly, from the rest.
type excerpt struct {
	events  []history.Event
	effects []history.Effect // nil where the run has no register log
}

// readExcerpt reads an excerpt of about limit events.
func readExcerpt(d *Dir, run Run, v checker.Verdict, limit int) (x excerpt, err error) {
	defer func() {
		if err != nil {
			err = Damaged(err)
		}
	}()
	p := picker{limit: limit, every: 1, evidence: map[int64]bool{}, seqs: map[int64]bool{}, sections: map[string]int{}, kept: map[string]bool{}}
	if v.Stats.Events > limit {
		p.every = (2*v.Stats.Events + limit - 1) / limit
		if err := p.findWindows(d, run, v); err != nil {
			return x, err
		}
	}
	err = history.StreamFile(d.History(), func(e *history.Event) error {
		if p.event(e) {
			x.events = append(x.events, *e)
		}
		return nil
	})
	if err != nil {
		return x, err
	}
	history.Sort(x.events)
	err = history.StreamEffectsFile(d.Register(), func(e *history.Effect) error {
		if p.effect(e) {
			x.effects = append(x.effects, *e)
		}
		return nil
	})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return x, nil
	case err == nil && x.effects == nil:
		x.effects = []history.Effect{} // a log of nothing is not a missing log
	}
	return x, err
}

// picker decides what an excerpt keeps.
type picker struct {
	limit    int
	every    int // one critical section in so many; 1: everything is kept
	seen     int
	rare     int
	evidence map[int64]bool // events, by index
	seqs     map[int64]bool // effects, by sequence number
	windows  [][2]int64
	sections map[string]int  // of each client so far
	kept     map[string]bool // grants, of the sections that are kept
}

// findWindows finds the stretches of time around the anomalies that are shown.
func (p *picker) findWindows(d *Dir, run Run, v checker.Verdict) error {
	ordered := deepestFirst(v)
	of := map[int64][]int{}
	for i, a := range ordered[:min(len(ordered), maxProved)] {
		p.windows = append(p.windows, [2]int64{a.Time, a.Time})
		for _, index := range a.Events {
			p.evidence[index] = true
			of[index] = append(of[index], i)
		}
		for _, seq := range a.Effects {
			p.seqs[seq] = true
		}
	}
	err := history.StreamFile(d.History(), func(e *history.Event) error {
		for _, i := range of[e.Index] {
			p.windows[i] = [2]int64{min(p.windows[i][0], e.Time), max(p.windows[i][1], e.Time)}
		}
		return nil
	})
	pad := max(3*int64(run.TTL), 1e9)
	for i := range p.windows {
		p.windows[i] = [2]int64{max(0, p.windows[i][0]-pad), min(p.windows[i][1], math.MaxInt64-pad) + pad}
	}
	return err
}

func (p *picker) within(at int64) bool {
	for _, w := range p.windows {
		if at >= w[0] && at <= w[1] {
			return true
		}
	}
	return false
}

func (p *picker) event(e *history.Event) bool {
	if p.every == 1 {
		return true
	}
	if e.Type == history.Invoke && (e.F == history.Acquire || e.F == history.Add && e.Grant == "") {
		p.sections[e.Process]++
	}
	p.seen++
	section := e.Process != history.Nemesis && p.sections[e.Process]%p.every == 0
	if section && e.Grant != "" {
		p.kept[e.Grant] = true
	}
	switch {
	case section, p.evidence[e.Index], p.seen <= p.limit/8:
		return true
	case e.Process == history.Nemesis, e.F == history.Lost, e.Type == history.Fail && e.F != history.Acquire:
		p.rare++
		return p.rare <= maxRare
	}
	return p.within(e.Time)
}

func (p *picker) effect(e *history.Effect) bool {
	if p.every == 1 || p.kept[e.Grant] || p.seqs[e.Seq] || p.within(e.Time) {
		return true
	}
	if e.Error != "" {
		p.rare++
		return p.rare <= maxRare
	}
	return false
}
