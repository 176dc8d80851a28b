package hunt

import (
	"math"
	"slices"

	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/scenarios"
)

// edit is one way to make a schedule smaller.
type edit struct {
	what   string
	change func(s *scenarios.Scenario)
	drops  bool // a part is taken away: if that fails, the part is needed
	phase  phase
}

// phase is when an edit is tried: those of a later one make runs longer, and are tried when nothing is left of the earlier ones. What is needed before
// them is needed after them.
type phase int

const (
	parts phase = iota
	ends        // the release with which a client's program ends: without it another client may wait for long
	words       // how long a fault or a move lasts: a fault that waits for no event may last longer than it had to
)

// edits are all ways to make a schedule smaller, of each phase those that take away most first.
func edits(s *scenarios.Scenario) []edit {
	var out []edit
	for i, st := range s.TriggeredFaults {
		out = append(out, edit{what: st.Fault.Text, change: func(s *scenarios.Scenario) { s.TriggeredFaults = slices.Delete(s.TriggeredFaults, i, i+1) }, drops: true})
	}
	for _, c := range slices.Backward(s.Clients) {
		out = append(out, edit{what: "client " + c, change: func(s *scenarios.Scenario) { dropClient(s, c) }, drops: true})
	}
	if s.Keys() > 1 {
		out = append(out, edit{what: "the second key", change: func(s *scenarios.Scenario) { oneKey(s) }, drops: true})
	}
	for _, c := range s.Clients {
		if n, times := s.Programs[c].Repeated(); times > 1 {
			out = append(out, editsOfRepeated(s, c, n, times)...)
			continue
		}
		// From an acquire on to the end, then move by move.
		for i, m := range s.Programs[c] {
			if i > 0 && m.Do == history.Acquire {
				out = append(out, edit{what: c + "'s later sections", change: func(s *scenarios.Scenario) { s.Programs[c] = s.Programs[c][:i] }, drops: true})
			}
		}
		for _, in := range inner(s.Programs[c]) {
			out = append(out, edit{what: c + "'s inner section", drops: true, change: func(s *scenarios.Scenario) {
				s.Programs[c] = slices.Delete(slices.Delete(s.Programs[c], in[1], in[1]+1), in[0], in[0]+1)
			}})
		}
		for i, m := range slices.Backward(s.Programs[c]) {
			e := edit{what: c + "'s " + m.String(), change: func(s *scenarios.Scenario) { s.Programs[c] = slices.Delete(s.Programs[c], i, i+1) }, drops: true}
			if m.Do == history.Release && i == len(s.Programs[c])-1 {
				e.phase = ends
			}
			out = append(out, e)
		}
	}
	for i, st := range s.TriggeredFaults {
		if st.Until.Await != nil || st.Until.Move.Client != "" {
			out = append(out, edit{phase: words, change: func(s *scenarios.Scenario) { s.TriggeredFaults[i].Until = scenarios.Until{Or: st.Until.Or} }})
		}
		out = append(out, edit{phase: words, change: func(s *scenarios.Scenario) { round(&s.TriggeredFaults[i].Until.Or) }})
	}
	for _, c := range s.Clients {
		for i := range s.Programs[c] {
			out = append(out,
				edit{phase: words, change: func(s *scenarios.Scenario) { round(&s.Programs[c][i].Span) }},
				edit{change: func(s *scenarios.Scenario) { s.Programs[c][i].Second = false }})
		}
	}
	return out
}

// editsOfRepeated are those of a program that does its first n moves so many times: what follows them is left away, it
// does them less often, or in each repetition one move less. There are as many of them as moves in one repetition.
func editsOfRepeated(s *scenarios.Scenario, c string, n, times int) []edit {
	var out []edit
	if rest := s.Programs[c][n*times:]; len(rest) > 0 {
		out = append(out, edit{what: c + "'s later sections", change: func(s *scenarios.Scenario) { s.Programs[c] = s.Programs[c][:n*times] }, drops: true})
	}
	for _, fewer := range slices.Compact([]int{1, times / 8, times / 4, times / 2, 3 * times / 4, times - 1}) {
		if fewer > 0 {
			out = append(out, edit{what: c + "'s repetitions", change: func(s *scenarios.Scenario) { s.Programs[c] = slices.Delete(s.Programs[c], n*fewer, n*times) }, drops: true})
		}
	}
	for i, m := range slices.Backward(s.Programs[c][:n]) {
		out = append(out, edit{what: c + "'s " + m.String(), drops: true, change: func(s *scenarios.Scenario) {
			for r := range times {
				at := r*(n-1) + i
				s.Programs[c] = slices.Delete(s.Programs[c], at, at+1)
			}
		}})
	}
	return out
}

// dropClient takes a client away, and with it the faults that name it.
func dropClient(s *scenarios.Scenario, c string) {
	s.Clients = slices.DeleteFunc(s.Clients, func(o string) bool { return o == c })
	delete(s.Programs, c)
	s.Extra = withoutClient(s.Extra, c)
	s.TriggeredFaults = slices.DeleteFunc(s.TriggeredFaults, func(st scenarios.TriggeredFault) bool {
		return st.When.Client == c || slices.Contains(st.Fault.Nodes, c) || slices.Contains(st.Fault.Peers, c) || st.When.Await != nil && st.When.Await.Client == c
	})
	for i := range s.TriggeredFaults {
		u := &s.TriggeredFaults[i].Until
		if u.Await != nil && u.Await.Client == c || u.Move.Client == c {
			*u = scenarios.Until{Or: u.Or}
		}
	}
}

// tidy takes away what waits for a client that is gone, and moves that nothing follows.
func tidy(s *scenarios.Scenario) {
	for _, c := range s.Clients {
		p := slices.DeleteFunc(slices.Clone(s.Programs[c]), func(m scenarios.Move) bool {
			return m.Do == scenarios.Wait && m.Await.Client != "" && !slices.Contains(s.Clients, m.Await.Client)
		})
		for len(p) > 0 && (p[len(p)-1].Do == scenarios.Work || p[len(p)-1].Do == scenarios.Wait) {
			p = p[:len(p)-1]
		}
		s.Programs[c] = p
	}
}

// round makes a length of time one that is read at a glance.
func round(s *scenarios.Span) {
	if s.Leases > 0 {
		s.Leases = max(0.1, math.Round(s.Leases*2)/2)
	}
}

// size orders schedules: fewer faults first, then clients, moves, and simpler words.
func size(s *scenarios.Scenario) int {
	n := 10000*len(s.TriggeredFaults) + 1000*len(s.Clients) + 100*len(s.Extra)
	for _, st := range s.TriggeredFaults {
		if st.Until.Await != nil || st.Until.Move.Client != "" {
			n++
		}
		n += odd(st.Until.Or)
	}
	for _, p := range s.Programs {
		n += 20 * len(p)
		for _, m := range p {
			if n += odd(m.Span); m.Second {
				n++
			}
		}
	}
	return n
}

// odd is 1 for a time that is not round.
func odd(s scenarios.Span) int {
	r := s
	if round(&r); r != s {
		return 1
	}
	return 0
}
