package hunt

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/picklock/picklock/scenarios"
)

// confirm runs what broke the lock again until it is decided whether it repeats. A violation
// that does not repeat is kept, with its rate: the run that showed it proves it. after is the
// schedule that had run before on the same servers and clients.
func (h *Search) confirm(ctx context.Context, p Runner, at point, sig Signature, out *Outcome, after string) {
	w := &Counterexample{Signature: sig, After: after, Schedule: string(at.schedule.Write()), Seen: 1, Search: Rate{Hits: 1, Runs: 1}, Larger: asFound, took: out.Took}
	w.Anomalies = anomaliesOf(out, sig)
	if w.Evidence = evidenceOf(out, sig); w.Evidence != nil {
		w.Explanation = w.Evidence.Anomaly.Explanation
	}
	w.FirstFaults, w.FirstSteps = len(at.schedule.TriggeredFaults), stepsOf(at.schedule)
	w.Faults, w.Steps = w.FirstFaults, w.FirstSteps
	h.mu.Lock()
	w.FirstRun, w.FirstSecond = h.result.Runs, time.Since(h.began).Seconds()
	h.mu.Unlock()
	rate, _ := h.repeat(ctx, p, at.schedule, sig, &sequential{}, 3)
	w.Search.Hits += rate.Hits
	w.Search.Runs += rate.Runs
	w.Search.Discarded += rate.Discarded
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.pending, pendingKey(sig))
	h.takeUp(w)
	if !h.keep(w) {
		return
	}
	if h.o.Tell != nil {
		h.o.Tell(w)
	}
	h.progress()
}

// keep takes a counterexample in; false: the same is known already, and came no more seldom. h.mu is held.
func (h *Search) keep(w *Counterexample) bool {
	i := slices.IndexFunc(h.counterexamples, func(known *Counterexample) bool { return pendingKey(known.Signature) == pendingKey(w.Signature) })
	if i < 0 {
		h.counterexamples = append(h.counterexamples, w)
		return true
	}
	known := h.counterexamples[i]
	known.Seen++
	known.others++
	if w.Search.hitRate() <= known.Search.hitRate() {
		return false
	}
	w.Seen, w.others = known.Seen, known.others
	h.counterexamples[i] = w
	return true
}

// repeat runs a schedule until the test has decided, or until so many runs showed the
// signature; 0: as many as the test wants.
func (h *Search) repeat(ctx context.Context, p Runner, s *scenarios.Scenario, sig Signature, q *sequential, enough int) (Rate, bool) {
	return h.repeatBeside(ctx, p, s, sig, q, enough, 1)
}

// repeatBeside is repeat with so many runs side by side. No more are begun than may be needed.
func (h *Search) repeatBeside(ctx context.Context, p Runner, s *scenarios.Scenario, sig Signature, q *sequential, enough, beside int) (Rate, bool) {
	var r Rate
	for !q.decided() && ctx.Err() == nil && r.Discarded < 2*enoughHits && (enough == 0 || q.hits < enough) {
		n := max(1, min(beside, cmp.Or(enough, enoughHits)-q.hits))
		outs := runs(ctx, p, s, n)
		h.mu.Lock()
		h.result.Runs += n
		h.mu.Unlock()
		for _, out := range outs {
			if out == nil || out.Busy || out.Unsupported {
				r.Discarded++
				continue
			}
			hit := slices.ContainsFunc(h.o.signatures(out.Verdict, s), sig.is)
			if r.take(hit); !q.decided() {
				q.take(hit)
			}
		}
	}
	return r, q.accepted() || enough > 0 && q.hits >= enough
}

// runs runs a schedule so many times side by side; nil stands for a run that failed.
func runs(ctx context.Context, p Runner, s *scenarios.Scenario, n int) []*Outcome {
	outs := make([]*Outcome, n)
	run := func(i int) {
		if out, err := p.Run(ctx, s); err == nil {
			outs[i] = out
		}
	}
	var each sync.WaitGroup
	for i := range n - 1 {
		each.Go(func() { run(i) })
	}
	run(n - 1)
	each.Wait()
	return outs
}

// anomaliesOf are the anomalies by which a run shows a signature.
func anomaliesOf(out *Outcome, sig Signature) []string {
	var names []string
	for _, g := range out.Verdict.Groups() {
		if sig.of(g) && g.Required && !slices.Contains(names, g.Name) {
			names = append(names, g.Name)
		}
	}
	return names
}

// stepsOf counts the moves of all programs.
func stepsOf(s *scenarios.Scenario) int {
	n := 0
	for _, p := range s.Programs {
		n += len(p)
	}
	return n
}
