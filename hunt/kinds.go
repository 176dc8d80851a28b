package hunt

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// side is where a fault falls: on clients or on servers.
func (f fault) side() string {
	if f.whom != "" {
		return ":client"
	}
	return ":server"
}

// noFaults is the kind that asks for no fault.
const noFaults = "none"

// CheckKinds is the error that a kind of fault was asked for that the space of the target has no
// fault of: a hunt would pass without it.
func (t Target) CheckKinds() error {
	every := t
	every.Kinds = nil
	var have []string
	for _, f := range faults(every, t.ClientNames()) {
		kind, whom := kindOf(f.word), f.side()
		have = append(have, kind, kind+whom)
	}
	slices.Sort(have)
	have = slices.Compact(have)
	var missing error
	for _, k := range t.Kinds {
		if k == noFaults || slices.Contains(have, k) {
			continue
		}
		why := "no schedule for " + t.Lock + " has such a fault"
		for unable, because := range t.Unable {
			if kind, _, _ := strings.Cut(k, ":"); unable == kind {
				why = because
			}
		}
		missing = errors.Join(missing, fmt.Errorf("%s: %s", k, why))
	}
	if missing == nil {
		return nil
	}
	of := slices.DeleteFunc(have, func(k string) bool { return strings.Contains(k, ":") })
	return fmt.Errorf("%w\nthe faults of a hunt of %s are %s, each also on one side only, as kill:client", missing, t.Lock, strings.Join(of, ", "))
}
