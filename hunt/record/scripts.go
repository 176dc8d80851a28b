package record

import (
	"math"
	"slices"
	"time"

	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/scenarios"
	"github.com/picklock/picklock/workloads"
)

// script is what one client did, move by move.
type script struct {
	name, process string
	moves         []move
}

// move is a move of a program, and when that was.
type move struct {
	scenarios.Move
	from, to int64
	nth      int // of the moves of this word, from 1
}

func (c script) program() scenarios.Program {
	var out scenarios.Program
	for _, m := range c.moves {
		out = append(out, m.Move)
	}
	return out
}

// thinking is which part of a lease lies at least between two acts until it is work of its
// own: less is what any client needs.
const thinking = 0.1

// scripts turn what the clients of a window did into programs.
func (r Run) scripts(w window, l relaxation) []script {
	var out []script
	for i, p := range w.clients {
		out = append(out, script{name: r.Clients[i], process: p})
	}
	paused := r.stops("pause")
	for i := range out {
		r.fill(&out[i], w, l, out, paused[out[i].process])
	}
	return slices.DeleteFunc(out, func(c script) bool { return len(c.moves) == 0 })
}

// fill writes one client's program.
func (r Run) fill(c *script, w window, l relaxation, all []script, paused []interval) {
	granted, awaited := map[string]bool{}, map[string]bool{}
	held, last := "", int64(0) // the grant that it has, and when its latest act under it ended
	var inner []string         // the grants of its entries after that
	shared := false            // it is a reader's
	under := func(a act) bool { return held != "" && (a.grant == held || slices.Contains(inner, a.grant)) }
	// pass writes what it did between its latest act under a grant and the next one: it waited for another client's
	// grant, or worked.
	pass := func(a act) {
		gap := interval{last, a.from}
		if other := w.meanwhile(gap, c, all, paused, shared); other != "" && !awaited[other] {
			awaited[other] = true
			c.add(scenarios.Move{Do: scenarios.Wait, Await: grantOf(other)}, gap.from, gap.to)
		} else if net := gap.to - gap.from - gap.shared(paused); float64(net) >= thinking*float64(r.TTL) {
			c.add(scenarios.Move{Do: scenarios.Work, Span: r.span(net)}, gap.from, gap.to)
		} else if writes(a) && gap.shared(paused) == 0 && w.wrote(gap, c, all) {
			c.add(scenarios.Move{Do: scenarios.Work, Span: scenarios.Span{Leases: thinking}}, gap.from, gap.to)
		}
	}
	for _, a := range w.acts {
		// What was begun before the violation is gone on with to the section's end.
		if a.process != c.process || a.to < w.from || a.from > w.to && !under(a) {
			continue
		}
		if a.do == history.Acquire {
			if a.outcome == history.Fail {
				continue // it changed nothing, and others decide whether it would fail again
			}
			if a.mode == history.Nested || a.mode == history.Downgrade {
				if held == "" {
					continue // of a section that began before
				}
				pass(a)
				do := a.do
				if a.mode == history.Downgrade {
					do, shared = workloads.Downgrade, true
				}
				c.add(scenarios.Move{Do: do}, a.from, a.to)
				if last = a.to; a.outcome == history.OK && a.mode == history.Nested {
					inner, granted[a.grant] = append(inner, a.grant), true
				} else if a.outcome == history.OK {
					held, granted[a.grant] = a.grant, true
				}
				continue
			}
			if before := w.before(a, l, c, all); before != "" && !awaited[before] {
				awaited[before] = true
				c.add(scenarios.Move{Do: scenarios.Wait, Await: grantOf(before)}, max(a.from, w.from), max(a.from, w.from))
			}
			m := scenarios.Move{Do: a.do, Shared: a.shares()}
			if a.outcome == history.Info && a.to != open {
				m.Span = r.span(a.to - a.from)
			}
			held, inner, shared, last, granted[a.grant] = "", nil, a.shares(), a.to, true
			if a.outcome == history.OK {
				held = a.grant
			}
			c.add(m, a.from, a.to)
			continue
		}
		if a.grant == "" || !granted[a.grant] {
			continue // of a section that began before
		}
		if under(a) {
			pass(a)
		}
		if r.CheckLease && writes(a) {
			c.add(scenarios.Move{Do: workloads.Check}, a.from, a.from)
		}
		c.add(scenarios.Move{Do: a.do, Again: a.do == history.Release && held == ""}, a.from, a.to)
		switch last = a.to; {
		case a.do == history.Release && len(inner) > 0:
			inner = inner[:len(inner)-1]
		case a.do == history.Release:
			held = ""
		}
	}
	if held != "" {
		for range 1 + len(inner) {
			c.add(scenarios.Move{Do: history.Release}, w.to, open)
		}
	}
	if !slices.ContainsFunc(c.moves, func(m move) bool { return m.Do == history.Acquire }) {
		c.moves = nil
	}
}

// grantOf awaits another client's grant for so long that it has come if it comes as in the record.
func grantOf(client string) *scenarios.Await {
	a := scenarios.AwaitClient(client, "granted")
	a.Or.Leases = 3
	return a
}

func (c *script) add(m scenarios.Move, from, to int64) {
	n := 1
	for _, o := range c.moves {
		if o.Do == m.Do {
			n++
		}
	}
	c.moves = append(c.moves, move{m, from, to, n})
}

// before names the client that had been granted the lock last when c was granted it, or gave
// up: so that they come to it in the order of the record.
func (w window) before(a act, l relaxation, c *script, all []script) string {
	at := a.from
	if a.to != open && !l.early {
		at = a.to
	}
	name := ""
	for _, h := range w.holds {
		if !w.has(h) || h.from >= at {
			continue
		}
		for _, o := range all {
			if o.process == h.process && o.process != c.process {
				name = o.name
			}
		}
	}
	return name
}

// has says that a grant is one of those that the programs ask for.
func (w window) has(h hold) bool { return h.from >= w.from && h.asked <= w.to }

// meanwhile names the client that was granted the lock between two acts of c, which was not
// stopped then: in a schedule it must not be done before that. What one reader does says nothing of another.
func (w window) meanwhile(gap interval, c *script, all []script, paused []interval, shared bool) string {
	for _, h := range w.holds {
		at := interval{h.from, h.from + 1}
		if !w.has(h) || h.from <= gap.from || h.from >= gap.to || at.shared(paused) > 0 || shared && h.shared {
			continue
		}
		for _, o := range all {
			if o.process == h.process && o.process != c.process {
				return o.name
			}
		}
	}
	return ""
}

func writes(a act) bool { return a.do == history.Write || a.do == history.Add }

// wrote says that another client wrote between two acts of c, however short that was: in a
// schedule there must be time for it.
func (w window) wrote(gap interval, c *script, all []script) bool {
	return slices.ContainsFunc(w.acts, func(a act) bool {
		return writes(a) && a.process != c.process && a.from > gap.from && a.to < gap.to &&
			slices.ContainsFunc(all, func(o script) bool { return o.process == a.process })
	})
}

// span is a time of the run as a part of its lease.
func (r Run) span(ns int64) scenarios.Span {
	const most = 20
	leases := math.Round(100*float64(ns)/float64(r.TTL)) / 100
	return scenarios.Span{Leases: min(most, max(0.01, leases))}
}

// scaled is a time of a fault where the lease is another one than the run's.
func (r Run) scaled(d time.Duration) time.Duration {
	return max(time.Millisecond, (time.Duration(float64(d.Abs())*float64(r.Lease)/float64(r.TTL))).Round(time.Millisecond)) * time.Duration(sign(d))
}

func sign(d time.Duration) int64 {
	if d < 0 {
		return -1
	}
	return 1
}
