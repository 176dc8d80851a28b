package hunt

import (
	"slices"
	"strings"

	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/scenarios"
	acts "github.com/picklock/picklock/workloads"
)

// untils are the ends of a fault: when somebody else has been granted the lock and has done
// something with it, or after a time that is shorter, or longer, than a lease.
func untils(t Target, w workload, f fault, a scenarios.Trigger) []scenarios.Until {
	if !f.lasts {
		return []scenarios.Until{{}}
	}
	if w.ends != nil {
		return w.ends
	}
	var out []scenarios.Until
	for i, p := range w.programs {
		c := clientNames[i]
		if c == f.whom || f.whom == "" && c == a.Client {
			continue
		}
		u := scenarios.Until{Or: scenarios.Span{Leases: 3}}
		// After the successor's first section has done something, and in its middle.
		var touched []scenarios.Until
		for _, m := range moves(c, p) {
			if touches(m.Do) && m.Nth == 1 {
				v := u
				v.Move = m
				v.Move.At = scenarios.After
				touched = append(touched, v)
			}
		}
		if !middle(t, a) {
			slices.Reverse(touched)
		}
		out = append(out, touched...)
		break
	}
	spans := []float64{0.6, 1.6}
	if f.glitches != nil && (w.amid > 0 || a.At == scenarios.Sent || a.At == scenarios.Answered) {
		spans = append([]float64{1.6}, f.glitches...)
	}
	for _, leases := range spans {
		out = append(out, scenarios.Until{Or: scenarios.Span{Leases: leases}})
	}
	return out
}

// glitch says that a fault is on for less than a lease, whatever happens meanwhile.
func glitch(u scenarios.Until) bool {
	return u.Await == nil && u.Move.Client == "" && u.Or.Fixed == 0 && u.Or.Leases < 1
}

// middle says that a fault there does most harm when it ends in the middle of the
// successor's section, and not near its end: a resource that refuses older tokens lets
// nothing late through once the successor has written, and a late release or renewal finds
// nobody's lock once the successor has released it.
func middle(t Target, a scenarios.Trigger) bool {
	return t.fenced() || a.Do == history.Release || a.Do == history.Renew || a.Do == acts.Downgrade
}

// tells says whether an end is tried in the space. The others are what the guided search
// comes to: they lead to the same but for a few times.
func (f fault) tells(t Target, s scenarios.TriggeredFault, another bool) bool {
	u := s.Until
	switch {
	case !f.lasts:
		return true
	case u.Move.Do == history.Read && !middle(t, s.When):
		return false // a stale write spoils as much after the successor's own
	case f.word == "kill" && f.whom != "": // it does not go on with its program
		return !another
	case f.glitches != nil && glitch(u):
		return slices.Contains(f.glitches, u.Or.Leases)
	case f.word == "hold" && s.When.At == scenarios.Sent && s.When.N == 1 && strings.HasPrefix(f.text, "hold: "+scenarios.Servers):
		return false // the same answer as from before the act on
	case f.word == "slow" || f.word == "flap" || f.word == "loss":
		return u.Move.Client == "" && u.Or.Leases > 1 // how long matters less than that messages come late, or again
	case strings.HasSuffix(f.text, silently):
		return u.Move.Client == "" && u.Or.Leases > 1 // its connections are lost, however long it lasts
	case f.word == "withhold" && s.When.Do == history.Acquire && u.Move.Client != "":
		return false // who asks first is waited for by the others
	case f.word == "clock" || f.whom != "": // when the successor has done something, and late
		return u.Or.Leases > 1
	}
	return u.Move.Do == "" // nobody is granted anything meanwhile: within the lease, and late
}
