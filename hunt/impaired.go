package hunt

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/scenarios"
)

// early is a pair that comes early.
type early struct {
	two
	alone []scenarios.TriggeredFault // come before: what the pair does that neither of them does is its own
}

// impaired are the pairs of faults that come before most single ones: from before the lock is granted on, something is
// wrong with the servers, by which they do not stop; and meanwhile the holder crashes, or the server that leads. What
// nobody else knew then, or what was counted on a wrong clock, is what the crash leaves behind.
func impaired(t Target, all []workload) []early {
	w := all[0]
	if i := slices.IndexFunc(all, func(w workload) bool { return w.name == stays }); i >= 0 {
		w = all[i] // or the first lease is over before another server leads
	}
	first, second := clientNames[0], clientNames[1]
	asked := scenarios.Trigger{At: scenarios.Before, Client: first, Do: history.Acquire, Nth: 1}
	wrote := scenarios.Trigger{At: scenarios.Before, Client: first, Do: history.Write, Nth: 1}
	if !slices.ContainsFunc(all[0].programs[0], func(m scenarios.Move) bool { return m.Do == history.Write }) {
		wrote.Do = history.Release // several hold it, and none writes
	}
	waits := scenarios.Trigger{At: scenarios.Event, Await: scenarios.AwaitClient(second, "waiting")}
	var out []early
	list := faults(t, []string{first})
	for _, f := range list {
		if f.whom != "" || !slices.Contains([]string{"cut", "clock", "disk"}, f.word) {
			continue
		}
		far, ahead := t.farAhead(f.text)
		for _, crash := range list {
			on, when := w, waits
			switch {
			case crash.word != "kill" || strings.HasSuffix(crash.text, withoutData):
				continue
			case crash.whom == first:
				on, when = all[0], wrote // whose holder works for less than a lease
			case crash.text != "kill: "+scenarios.Leader && len(t.Servers) != 1:
				continue
			}
			a, err1 := scenarios.NewTriggeredFault(f.text, asked, lasting)
			b, err2 := scenarios.NewTriggeredFault(crash.text, when, lasting)
			if err1 != nil || err2 != nil || !meaningful(a, b) {
				continue
			}
			pair := early{two{on, [2]scenarios.TriggeredFault{a, b}, f.rank + crash.rank}, []scenarios.TriggeredFault{a, b}}
			if c, err := scenarios.NewTriggeredFault(f.text, atGrant, lasting); err == nil && on.name == stays {
				pair.alone = append(pair.alone, c) // from then on, another leads, and the former one comes back
			}
			if ahead { // what is counted meanwhile ends late
				if c, err := scenarios.NewTriggeredFault(far, asked, at(when, lasting)); err == nil {
					pair.triggered[0] = c
				}
			}
			out = append(out, pair)
		}
	}
	slices.SortStableFunc(out, func(a, b early) int { return a.rank - b.rank })
	return out
}

// farAhead is the fault of a clock that is ahead, and so far that what it has counted ends later than a lock may stay
// taken, once the clock is set right: after three leases nobody would notice. Set back it may be off by no more: what
// ends early ends at once.
func (t Target) farAhead(fault string) (text string, ahead bool) {
	const far = 30 * time.Second
	server, ahead := strings.CutSuffix(fault, fmt.Sprintf(" +%v", 3*t.TTL))
	return fmt.Sprintf("%s +%v", server, max(far, 3*t.Bound)), ahead
}

// at is until a trigger, or that time.
func at(when scenarios.Trigger, or scenarios.Until) scenarios.Until {
	if when.At == scenarios.Event {
		or.Await = when.Await
	} else {
		or.Move = when
	}
	return or
}

// lasting is until a lease is over, and others have been chosen or granted something.
var lasting = scenarios.Until{Or: scenarios.Span{Leases: 3}}
