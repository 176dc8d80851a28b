package checker

import (
	"slices"
)

func init() { finders["nonlinearizable"] = findNonlinearizable }

// findNonlinearizable compares what the clients saw with the register's log; see
// contradictions. Without a log the reads say which write they saw, since written values
// are unique; see zones.go.
func findNonlinearizable(an *analysis) []Anomaly {
	var out []Anomaly
	for _, k := range an.locks {
		if an.log == nil {
			out = append(out, zonesOf(an, k)...)
			continue
		}
		for c := range inTime(an.limit, an.register.contradicted[k]) {
			out = append(out, c.anomaly(k, an.evidence))
		}
	}
	return out
}

// anomaly reports a contradiction.
func (c contradiction) anomaly(k *lock, v evidence) Anomaly {
	a := Anomaly{Key: k.name, Time: c.time, Cause: c.cause, Explanation: c.explanation}
	from, refs := c.time, c.refs
	var processes []string
	for _, o := range c.ops {
		processes = append(processes, o.process)
		from = min(from, o.invT)
		refs = append(refs, o.grant.ok)
		if !slices.Contains(a.Grants, o.grant.id) {
			a.Grants = append(a.Grants, o.grant.id)
		}
	}
	for _, e := range c.effects {
		a.Effects = append(a.Effects, e.seq)
	}
	a.Events = v.at(refs...)
	touched := blamed{parts: v.faults.parts(resourceStake(from, a.Time, processes))}
	return v.finish(a, from, touched, processes...)
}
