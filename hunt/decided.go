package hunt

import (
	"maps"
	"slices"

	"github.com/picklock/picklock/checker/verdict"
)

// decidedBy lists the properties that a run has decided, one way or the other.
func decidedBy(v verdict.Verdict) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(v.Properties)) {
		if v.Properties[name].Valid != verdict.Unknown {
			out = append(out, name)
		}
	}
	return out
}

// decide counts a run that went as planned by the properties that it has decided.
func (r *Result) decide(properties []string) {
	if r.Decided == nil {
		r.Decided = map[string]int{}
	}
	for _, p := range properties {
		r.Decided[p]++
	}
}

// unshown are the anomalies that were looked for and that no run can have shown: none has decided what they break.
func (r *Result) unshown() []string {
	var out []string
	for _, name := range r.Find {
		if r.Undecided(verdict.Info(name).Property) {
			out = append(out, name)
		}
	}
	return out
}

// Undecided says that no run has decided a property: what it demands was not tried. It is false if the result does not say that of any property.
func (r *Result) Undecided(property string) bool { return r.Decided != nil && r.Decided[property] == 0 }
