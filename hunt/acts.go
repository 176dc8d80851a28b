package hunt

import (
	"context"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/picklock/picklock/checker/verdict"
	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/scenarios"
)

// Act is a release or a renewal of a counterexample's schedule, and how often the lock still broke
// when the client did not ask for it.
type Act struct {
	Client string `json:"client"`
	Do     string `json:"do"`
	Nth    int    `json:"nth"` // of the client's acts of that word, from 1
	// ByHolder: it is of a client that is one of the two whose grants met. Else it is of another,
	// whose act ended a grant that was not its own.
	ByHolder bool `json:"by_holder,omitempty"`
	// Apart: it was over when the grant began that ended too soon, or began when the next one was there.
	// It cannot have ended that grant.
	Apart   bool `json:"apart,omitempty"`
	Without Rate `json:"without"`
}

// withoutActRuns is how often a schedule that breaks the lock nearly always has to hold without an act
// until that act is necessary.
const withoutActRuns = 5

// byChance is how probable it may be that an act seems necessary and is not.
const byChance = 0.01

// telling is how many runs without a violation show that an act is necessary: what comes in a part of
// the runs only stays away from a few by chance.
func (w *Counterexample) telling() int {
	rate := min(w.rate().hitRate(), surest)
	return max(withoutActRuns, int(math.Ceil(math.Log(byChance)/math.Log(1-rate))))
}

// leastCompared is the part of its runs in which a counterexample has to come to be compared with others: at
// less, more than 44 runs would have to tell what it needs.
const leastCompared = 0.1

// comparable says that a counterexample comes often enough for runs to tell what it needs.
func (w *Counterexample) comparable() bool {
	return w.Search.Hits+w.Alone.Hits > 1 && w.rate().hitRate() >= leastCompared && !w.Hazard()
}

// necessary are the acts that a counterexample was seen to need, by what they are and by whom; nil if
// that is not known.
func (w *Counterexample) necessary() []string {
	if do := w.Evidence.claimed(); do != "" {
		return []string{actOf(do, false)}
	}
	var out []string
	for _, a := range w.Acts {
		if !a.Apart && a.Without.Hits == 0 && a.Without.Runs >= w.telling() {
			out = append(out, actOf(a.Do, a.ByHolder))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// ofAnother ends the name of an act of a client that is none of the two whose grants met.
const ofAnother = " of another client"

// actOf names an act by what it is and by whom.
func actOf(do string, byHolder bool) string {
	if byHolder {
		return do + " of a holder"
	}
	return do + ofAnother
}

// harm is what becomes of the lock, whatever the history shows of how it came about: who releases
// another client's lock, and whose release is never answered, have ended a grant alike. Tokens that fall
// and tokens that come again are of one counter.
func (s Signature) harm() string {
	switch property := verdict.Info(s.Anomaly).Property; {
	case s.Anomaly == "false-loss": // no grant ended
		return s.root()
	case property == verdict.Tokens, property == verdict.Exclusion:
		return property
	}
	if s.Cause == "granted-early" || s.Cause == "wrong-release" {
		return verdict.Exclusion
	}
	return s.root()
}

// rivals are the lock bugs that do the same harm as another: whether they are one bug shows by
// the acts that they need.
func (h *Search) rivals() []*Counterexample {
	harms := map[string]int{}
	for _, w := range h.counterexamples {
		if !w.Hazard() {
			harms[w.harm()]++
		}
	}
	var out []*Counterexample
	for _, w := range h.counterexamples {
		if w.comparable() && harms[w.harm()] > 1 {
			out = append(out, w)
		}
	}
	return out
}

// findActs runs counterexamples without each of their releases and renewals, side by side.
func (h *Search) findActs(ctx context.Context, p *team, all []*Counterexample) {
	var each sync.WaitGroup
	for _, w := range all {
		s, err := w.scenario()
		if err != nil {
			continue
		}
		if w.actsOf != w.Schedule {
			w.Acts, w.actsOf = actsIn(s, w.Evidence), w.Schedule
		}
		for i := range w.Acts {
			if w.open(w.Acts[i]) {
				each.Go(func() { h.withoutAct(ctx, p, s, w, &w.Acts[i]) })
			}
		}
	}
	each.Wait()
	for _, w := range all {
		w.Uncompared = ctx.Err() != nil && slices.ContainsFunc(w.Acts, w.open)
	}
}

// open says that it is not known whether a counterexample needs an act.
func (w *Counterexample) open(a Act) bool {
	return !a.Apart && a.Without.Hits == 0 && a.Without.Runs < w.telling()
}

// actsIn are the releases and renewals of a schedule, with what the history of one run says of them.
func actsIn(s *scenarios.Scenario, e *Evidence) []Act {
	if e.claimed() != "" {
		return nil // no other act is needed for it
	}
	var out []Act
	for _, c := range s.Clients {
		for _, m := range moves(c, s.Programs[c]) {
			if e.asks(c, m.Do) {
				continue
			}
			if m.Do == history.Release || m.Do == history.Renew {
				out = append(out, Act{Client: c, Do: m.Do, Nth: m.Nth, ByHolder: e.met(c), Apart: e.apart(c, m.Do, m.Nth)})
			}
		}
	}
	return out
}

// victims are the two grants that met: the one that ended too soon, and the next. ok is false where
// the evidence does not say.
func (e *Evidence) victims() (older, newer string, ok bool) {
	if e == nil || len(e.Anomaly.Grants) < 2 {
		return "", "", false
	}
	g := e.Anomaly.Grants[len(e.Anomaly.Grants)-2:]
	return g[0], g[1], true
}

// claimed is the act of a client that no longer held the lock, if it is what is wrong by itself: it was answered
// as if the client did, which may be all that makes another grant early, or it freed another client's lock. "" if the anomaly is none of such an act.
func (e *Evidence) claimed() string {
	switch {
	case e == nil:
		return ""
	case e.Anomaly.Name == "wrong-release", e.Anomaly.Cause == "confirmed-lost":
		return history.Release
	case e.Anomaly.Name == "false-belief":
		return map[string]string{"held": history.Holds, "extended": history.Renew, "released": history.Release}[e.Anomaly.Cause]
	}
	return ""
}

// asks says that a client's act is the question by which an anomaly of its one grant shows: without it nobody
// would know, and the grant would have ended all the same. Of a false loss that is the release, which shows it false.
func (e *Evidence) asks(client, do string) bool {
	question := do == history.Renew || e != nil && e.Anomaly.Name == "false-loss" && do == history.Release
	return e != nil && len(e.Anomaly.Grants) == 1 && question && strings.HasPrefix(e.Anomaly.Grants[0], client+".")
}

// met says that a client is one of the two whose grants met.
func (e *Evidence) met(client string) bool {
	older, newer, ok := e.victims()
	return ok && (strings.HasPrefix(older, client+".") || strings.HasPrefix(newer, client+"."))
}

// answerAfter is by how much an act's answer may come after the grant that the act made possible.
const answerAfter = time.Millisecond

// span is when the two grants began that met: the one that ended too soon, and the next; 0 where the
// evidence does not say.
func (e *Evidence) span() (began, next int64) {
	older, newer, ok := e.victims()
	if !ok {
		return 0, 0
	}
	granted := func(grant string) int64 {
		for _, ev := range e.Events {
			if ev.Grant == grant && ev.F == history.Acquire && ev.Type == history.OK {
				return ev.Time
			}
		}
		return 0
	}
	return granted(older), granted(newer)
}

// apart says that a client's act was answered when the grant began that ended too soon: that grant may be
// there because of it, and did not end by it. Neither did it end by what was asked when the next client
// had been granted the lock.
func (e *Evidence) apart(client, do string, nth int) bool {
	began, next := e.span()
	n, asked := 0, false
	for i := 0; next > 0 && i < len(e.Events); i++ {
		switch ev := e.Events[i]; {
		case ev.Process != client || ev.F != do:
		case ev.Type == history.Invoke:
			n++
			if asked = n == nth; asked && ev.Time > next {
				return true
			}
		case asked:
			return answered(ev) && ev.Time < began+int64(answerAfter)
		}
	}
	return false
}

// answered says that an operation has ended, and was not only given up.
func answered(e history.Event) bool { return e.Type == history.OK || e.Type == history.Fail }

// underWay are the acts that may have ended the grant that ended too soon: those that were asked before
// the next grant, and not answered before that one. They are named as necessary acts are.
func (e *Evidence) underWay() []string {
	if do := e.claimed(); do != "" {
		return []string{actOf(do, false)}
	}
	began, next := e.span()
	if began == 0 || next == 0 {
		return nil
	}
	asked := map[string]history.Event{}
	var out []string
	add := func(a history.Event) { out = append(out, actOf(a.F, e.met(a.Process))) }
	for _, ev := range e.Events {
		if ev.F != history.Release && ev.F != history.Renew {
			continue
		}
		a, open := asked[ev.Process+ev.F]
		switch {
		case ev.Type == history.Invoke && ev.Time <= next:
			asked[ev.Process+ev.F] = ev
		case open && answered(ev):
			if delete(asked, ev.Process+ev.F); ev.Time >= began+int64(answerAfter) {
				add(a)
			}
		}
	}
	for _, a := range asked {
		add(a)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// withoutAct counts how often a counterexample comes without an act, until it has once.
func (h *Search) withoutAct(ctx context.Context, p Runner, s *scenarios.Scenario, w *Counterexample, a *Act) {
	c, moved := dropAct(s, *a)
	if c = h.mutator.whole(c); c == nil {
		return
	}
	for enough := w.telling(); w.open(*a) && a.Without.Discarded < enough && ctx.Err() == nil; {
		out, err := p.Run(ctx, c)
		hit := err == nil && slices.ContainsFunc(h.o.signatures(out.Verdict, c), w.loosely().is)
		// A fault that only this act's messages meet takes no effect without it.
		if err != nil || out.Busy || !hit && out.Discarded != "" && !slices.Contains(moved, out.FailedFault) {
			a.Without.Discarded++
			continue
		}
		a.Without.take(hit)
	}
}

// instead is how long a client does nothing in an act's place.
const instead = 0.02

// dropAct is the schedule in which a client does nothing in the place of an act. The faults that
// the act triggered come there all the same; moved are their texts.
func dropAct(s *scenarios.Scenario, a Act) (_ *scenarios.Scenario, moved []string) {
	c := clone(s)
	c.Expect = nil
	p := c.Programs[a.Client]
	at, nth := -1, 0
	works := 1 // of the client's works, the one that is put there
	for i, m := range p {
		if m.Do == a.Do {
			if nth++; nth == a.Nth {
				at = i
				break
			}
		}
		if m.Do == scenarios.Work {
			works++
		}
	}
	if at < 0 {
		return c, nil
	}
	p[at] = scenarios.Move{Do: scenarios.Work, Span: scenarios.Span{Leases: instead}}
	shift := func(t *scenarios.Trigger) bool {
		switch {
		case t.Client != a.Client:
		case t.Do == a.Do && t.Nth == a.Nth:
			if t.Do, t.Nth = scenarios.Work, works; t.At != scenarios.After {
				t.At = scenarios.Before
			}
			t.N, t.Other = 0, ""
			return true
		case t.Do == a.Do && t.Nth > a.Nth:
			t.Nth--
		case t.Do == scenarios.Work && t.Nth >= works:
			t.Nth++
		}
		return false
	}
	for i := range c.TriggeredFaults {
		st := &c.TriggeredFaults[i]
		if shift(&st.When) {
			moved = append(moved, st.Fault.Text)
		}
		shift(&st.Until.Move)
	}
	return c, moved
}
