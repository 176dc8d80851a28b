package hunt

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/scenarios"
)

// impaired are the pairs of faults that come before most single ones: from before the lock is granted on, something is
// wrong with the servers, by which they do not stop; and meanwhile the holder crashes, or the server that leads. What
// nobody else knew then, or what was counted on a wrong clock, is what the crash leaves behind.
func impaired(t Target, all []workload) []two {
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
	var out []two
	list := faults(t, []string{first})
	for _, f := range list {
		if f.whom != "" || !slices.Contains([]string{"cut", "clock", "disk"}, f.word) {
			continue
		}
		f.text = t.farAhead(f.text)
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
			if err1 == nil && err2 == nil && meaningful(a, b) {
				out = append(out, two{on, [2]scenarios.TriggeredFault{a, b}, f.rank + crash.rank})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b two) int { return a.rank - b.rank })
	return out
}

// farAhead makes a clock that is ahead so wrong that what ends by it, once it is set right, ends later than a lock may
// stay taken. Set back it may be off by no more: what ends early ends at once.
func (t Target) farAhead(fault string) string {
	const far = 30 * time.Second
	server, ahead := strings.CutSuffix(fault, fmt.Sprintf(" +%v", 3*t.TTL))
	if !ahead {
		return fault
	}
	return fmt.Sprintf("%s +%v", server, max(far, 3*t.Bound))
}

// lasting is until a lease is over, and others have been chosen or granted something.
var lasting = scenarios.Until{Or: scenarios.Span{Leases: 3}}
