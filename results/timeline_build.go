package results

import (
	"fmt"
	"math"
	"slices"

	"github.com/picklock/picklock/history"
)

// timelineBuilder walks the events once and keeps what is still open.
type timelineBuilder struct {
	t       *timeline
	refused map[string]bool                  // what the register's log says it refused
	judged  bool                             // there is a register's log
	pending map[string]*history.Pairing[int] // process -> an acquire's wait, another operation's mark
	keyOf   map[string]int
	open    map[string][]int            // process -> holds, some of which have ended
	faults  map[string]map[string][]int // bands without an end, by name and tracks
}

func (s *timelineBuilder) key(k string) int {
	i, ok := s.keyOf[k]
	if !ok {
		i = len(s.t.Keys)
		s.keyOf[k] = i
		s.t.Keys = append(s.t.Keys, k)
	}
	return i
}

func (s *timelineBuilder) pendingOf(process string) *history.Pairing[int] {
	p := s.pending[process]
	if p == nil {
		p = &history.Pairing[int]{}
		s.pending[process] = p
	}
	return p
}

func (s *timelineBuilder) event(e *history.Event) {
	if e.Process == history.Nemesis {
		s.fault(e)
		return
	}
	ln, ok := s.t.testbedOf[e.Process]
	if !ok {
		return
	}
	switch e.F {
	case history.Acquire:
		s.acquire(e, ln)
	case history.Release:
		if e.Type == history.Invoke {
			s.close(grantID(e.Process, e.Grant, e.Key), e.Time, heldReleased)
		}
	case history.Lost:
		s.close(grantID(e.Process, e.Grant, e.Key), e.Time, heldLost)
		s.t.Marks = append(s.t.Marks, s.mark(e, ln, markLost))
	case history.Renew:
		if h, ok := s.t.holdOf[grantID(e.Process, e.Grant, e.Key)]; ok && e.Type == history.OK && e.Lease > 0 {
			s.t.Holds[h].Lease = max(s.t.Holds[h].Lease, ends(e.Since, e.Lease))
		}
	case history.Read, history.Write, history.Add:
		s.operation(e, ln)
	}
}

// ends is since+lease, kept within an int64 whatever the history claims.
func ends(since, lease int64) int64 {
	if lease > 0 && since > math.MaxInt64-lease {
		return math.MaxInt64
	}
	return since + lease
}

func (s *timelineBuilder) acquire(e *history.Event, ln int) {
	pending, id := s.pendingOf(e.Process), history.IDOf(e)
	if e.Type == history.Invoke {
		pending.Invoke(id, len(s.t.Waits))
		s.t.Waits = append(s.t.Waits, wait{Track: ln, From: e.Time, To: -1, Result: history.Info, Key: s.key(e.Key), Hold: -1})
		return
	}
	w, asked := pending.Open(id)
	if asked = asked && (e.Key == "" || s.t.Waits[w].Key == s.key(e.Key)); asked {
		s.t.Waits[w].To, s.t.Waits[w].Result = e.Time, e.Type
		pending.Complete(id)
		if e.Mode == history.Downgrade && e.Type != history.Fail {
			s.downgraded(e, s.t.Waits[w].From)
		}
	}
	if e.Type != history.OK {
		return
	}
	h := hold{Track: ln, From: e.Time, To: -1, Since: e.Since, Lease: -1, Ended: heldOpen, Grant: e.Grant, Token: e.Token, Key: s.key(e.Key), Index: e.Index}
	if e.Lease > 0 {
		h.Lease = ends(e.Since, e.Lease)
	}
	n := len(s.t.Holds)
	if asked {
		s.t.Waits[w].Hold = n
	}
	s.t.Holds = append(s.t.Holds, h)
	s.t.holdOf[grantID(e.Process, e.Grant, e.Key)] = n
	s.open[e.Process] = append(s.open[e.Process], n)
}

// downgraded ends what the process had had alone, when it asked to share it.
func (s *timelineBuilder) downgraded(e *history.Event, at int64) {
	for _, h := range s.open[e.Process] {
		if s.t.Holds[h].To < 0 && s.t.Holds[h].Key == s.key(e.Key) {
			s.end(h, at, heldReleased)
		}
	}
}

// grantID names a grant, also in a history whose lock gives its grants no ids.
func grantID(process, grant, key string) string {
	if grant != "" {
		return grant
	}
	return process + "\x00" + key
}

func (s *timelineBuilder) close(grant string, at int64, how endKind) {
	if h, ok := s.t.holdOf[grant]; ok && s.t.Holds[h].To < 0 {
		s.end(h, at, how)
	}
}

func (s *timelineBuilder) end(h int, at int64, how endKind) {
	s.t.Holds[h].To, s.t.Holds[h].Ended = at, how
}

func (s *timelineBuilder) mark(e *history.Event, ln int, kind markKind) mark {
	m := mark{Track: ln, From: e.Time, At: e.Time, Kind: kind, Hold: -1, Process: e.Process, F: e.F,
		Value: e.Value, Error: e.Error, Token: e.Token, Index: e.Index, Key: s.key(e.Key)}
	if h, ok := s.t.holdOf[grantID(e.Process, e.Grant, e.Key)]; ok {
		m.Hold = h
		if m.Token == 0 {
			m.Token = s.t.Holds[h].Token
		}
	}
	return m
}

func (s *timelineBuilder) operation(e *history.Event, ln int) {
	pending, id := s.pendingOf(e.Process), history.IDOf(e)
	if e.Type == history.Invoke {
		pending.Invoke(id, len(s.t.Marks))
		s.t.Marks = append(s.t.Marks, s.mark(e, ln, markUnknown))
		return
	}
	kind := markUnknown
	switch {
	case e.Type == history.OK && e.F == history.Read:
		kind = markRead
	case e.Type == history.OK:
		kind = markAccepted
	case e.Type == history.Fail && (!s.judged || s.refused[e.Process+"\x00"+e.F+"\x00"+e.Grant]):
		kind = markRejected
	case e.Type == history.Fail:
		kind = markFailed
	}
	i, ok := pending.Open(id)
	if !ok { // a completion whose invoke is not in the history
		s.t.Marks = append(s.t.Marks, s.mark(e, ln, kind))
		return
	}
	pending.Complete(id)
	m := &s.t.Marks[i]
	m.At, m.Kind, m.Error, m.Index = e.Time, kind, e.Error, e.Index
	if e.Value != "" {
		m.Value = e.Value
	}
}

func (s *timelineBuilder) fault(e *history.Event) {
	nodes := s.tracks(e.Nodes)
	if len(nodes) == 0 && len(e.Nodes) > 0 {
		return // nodes without a track: drawn on all tracks it would accuse the wrong ones
	}
	if e.Phase != history.End {
		b := band{Name: e.F, From: e.Time, To: -1, Confirmed: e.Confirmed, Detail: e.Detail, Tracks: nodes}
		if e.Phase != history.Begin {
			b.To, b.Healed = e.Time, true
		}
		if e.F == "kill" && e.Confirmed {
			s.died(e)
		}
		if b.To < 0 {
			if s.faults[e.F] == nil {
				s.faults[e.F] = map[string][]int{}
			}
			on := fmt.Sprint(nodes)
			s.faults[e.F][on] = append(s.faults[e.F][on], len(s.t.Bands))
		}
		s.t.Bands = append(s.t.Bands, b)
		return
	}
	// The first open injection on the same nodes, else all of that name: a
	// nemesis that heals everything at once may name no nodes.
	open := s.faults[e.F]
	on := fmt.Sprint(nodes)
	if list := open[on]; len(list) > 0 {
		s.heal(list[:1], e.Time)
		open[on] = list[1:]
		return
	}
	if len(e.Nodes) > 0 {
		return
	}
	for _, list := range open {
		s.heal(list, e.Time)
	}
	delete(s.faults, e.F)
}

func (s *timelineBuilder) heal(bands []int, at int64) {
	for _, i := range bands {
		s.t.Bands[i].To, s.t.Bands[i].Healed = at, true
	}
}

// died ends what a killed client was doing: a dead process believes nothing.
func (s *timelineBuilder) died(e *history.Event) {
	for _, n := range e.Nodes {
		for _, h := range s.open[n] {
			if s.t.Holds[h].To < 0 {
				s.end(h, e.Time, heldKilled)
			}
		}
		delete(s.open, n)
		acquire, pending := history.OpID{F: history.Acquire}, s.pendingOf(n)
		if w, ok := pending.Open(acquire); ok {
			s.t.Waits[w].To = e.Time
			pending.Complete(acquire)
		}
	}
}

func (s *timelineBuilder) tracks(nodes []string) []int {
	var out []int
	for _, n := range nodes {
		if i, ok := s.t.testbedOf[n]; ok {
			out = append(out, i)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// finish ends at the run's end what never ended.
func (s *timelineBuilder) finish() {
	for i := range s.t.Waits {
		if s.t.Waits[i].To < 0 {
			s.t.Waits[i].To = s.t.End
		}
	}
	for i := range s.t.Holds {
		if s.t.Holds[i].To < 0 {
			s.t.Holds[i].To = s.t.End
		}
	}
	for i := range s.t.Bands {
		if s.t.Bands[i].To < 0 {
			s.t.Bands[i].To = s.t.End
		}
	}
}

func (s *timelineBuilder) effects(effects []history.Effect) {
	ln := slices.IndexFunc(s.t.Tracks, func(l track) bool { return l.Role == roleRegister })
	if ln < 0 {
		return
	}
	for i := range effects {
		e := &effects[i]
		kind := markEffect
		switch {
		case e.Error != "":
			kind = markRefused
		case e.F == history.Read:
			continue
		}
		m := mark{Track: ln, From: e.Time, At: e.Time, Kind: kind, Hold: -1, Process: e.Process, F: e.F,
			Value: e.Value, Error: e.Error, Token: e.Token, Index: e.Seq, Key: s.key(e.Key)}
		if h, ok := s.t.holdOf[grantID(e.Process, e.Grant, e.Key)]; ok {
			m.Hold = h
		}
		s.t.Marks = append(s.t.Marks, m)
	}
}
