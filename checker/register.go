package checker

import (
	"fmt"
	"slices"

	"github.com/picklock/picklock/internal/format"
)

// judgeRegister: is what the lock protects as if its clients had come one by one?
func judgeRegister(an *analysis, anomalies int) Property {
	ops := 0
	for _, k := range an.locks {
		ops += len(k.ops)
	}
	share := ""
	if s := an.stats; s.Acknowledged > 0 && an.log != nil {
		share = fmt.Sprintf("; %s of %s lost (%s %%)", format.Count(s.LostUpdates), of(s.Acknowledged, "acknowledged update"), format.Figure(100*float64(s.LostUpdates)/float64(s.Acknowledged)))
	}
	switch {
	case anomalies > 0:
		return Property{Required: true, Why: fmt.Sprintf("%s accepted, %s rejected: %s%s", of(an.stats.Writes, "write"), format.Count(an.stats.Rejected), counted(anomalies), share+an.firstValues())}
	case ops == 0 && an.log == nil:
		return Property{Valid: Unknown, Why: "nothing was read or written under the lock"}
	case ops > 0 && !slices.ContainsFunc(an.locks, func(k *lock) bool { return len(k.ops) > 0 && k.permits <= 1 }):
		return Property{Valid: Unknown, Why: "clients of a semaphore hold it together, so that it orders nothing that they write"}
	case an.log == nil && ops > 0:
		why := "the register's log is missing, so only what the clients saw could be compared; it shows no anomaly"
		return Property{Valid: Unknown, Required: true, Why: why + an.firstValues()}
	case an.log.stray > 0:
		return Property{Valid: Unknown, Required: true, Why: fmt.Sprintf("%s in the register's log that no client's history asks for: the history is not whole", of(an.log.stray, "operation"))}
	case an.register.lost > 0:
		return Property{Valid: Unknown, Required: true, Why: fmt.Sprintf("%s at the end are missing in the register's log, which may have been cut short", of(an.register.lost, "acknowledged operation"))}
	case an.stats.Writes == 0:
		return Property{Valid: Unknown, Required: true, Why: "no write was ever accepted"}
	case turns(an.log) == 0:
		return Property{Valid: Unknown, Required: true, Why: "the register was only ever used under one grant, so that no other could spoil it"}
	}
	return Property{Valid: True, Required: true, Why: fmt.Sprintf("%s accepted in the order of their grants, %s rejected; every read saw the latest write%s", of(an.stats.Writes, "write"), format.Count(an.stats.Rejected), share)}
}

// turns counts the grants that touched the register after another one had.
func turns(log *registerLog) int {
	n := 0
	for _, effects := range log.keys {
		seen := map[*grant]bool{}
		for _, e := range effects {
			if e.known() {
				seen[e.g] = true
			}
		}
		n += max(0, len(seen)-1)
	}
	return n
}
