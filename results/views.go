package results

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/checker/verdict"
	"github.com/picklock/picklock/internal/format"
)

// propertyView is a property's line. Class is holds, broken or unknown; noted and
// idle where it is not required: then being broken or unknown decides nothing.
type propertyView struct {
	Name, Promise, Verdict, Class, Why string
	Required                           bool
}

type countView struct {
	Name     string
	N        string
	Required bool
}

type refusedView struct{ At, Who, What, Why, Source string }

type numberView struct{ N, Label, Note string }

type faultView struct {
	Name, Injected, Confirmed string
	Missing                   bool
}

type pair struct{ Name, Value string }

// propertyNames are the known properties in their order, then whatever else the
// verdict judged.
func propertyNames(v checker.Verdict) []string {
	out := slices.Clone(checker.Properties)
	for _, name := range slices.Sorted(maps.Keys(v.Properties)) {
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

func properties(run Run, v checker.Verdict) []propertyView {
	var out []propertyView
	for _, name := range propertyNames(v) {
		p, judged := v.Properties[name]
		view := propertyView{Name: clip(verdict.ShownProperty(name), 40), Promise: promiseOf(run, name), Class: class(p.Valid), Required: p.Required, Why: clip(p.Why, 600)}
		switch {
		case !judged:
			view.Verdict, view.Why = "not checked", "The verdict says nothing about it."
		case p.Valid == checker.False:
			view.Verdict = "fail"
			if !p.Required {
				view.Verdict, view.Class = "fail", "noted"
			}
			if p.Anomalies > 0 {
				view.Verdict += " × " + format.Count(p.Anomalies)
			}
		case p.Valid == checker.Unknown && !p.Required:
			view.Verdict, view.Class = "not judged", "idle"
		default:
			view.Verdict = strings.ToLower(p.Valid.Word())
		}
		out = append(out, view)
	}
	return out
}

func counts(v checker.Verdict) []countView {
	n := map[string]int{}
	var names []string
	req := map[string]bool{}
	for _, a := range v.Anomalies {
		if n[a.Name] == 0 {
			names = append(names, a.Name)
		}
		n[a.Name]++
		req[a.Name] = req[a.Name] || v.Properties[a.Property].Required
	}
	slices.SortStableFunc(names, func(a, b string) int {
		if req[a] != req[b] {
			if req[a] {
				return -1
			}
			return 1
		}
		return cmp.Compare(n[b], n[a])
	})
	var out []countView
	for _, name := range names[:min(len(names), 20)] {
		out = append(out, countView{clip(name, 60), format.Count(n[name]), req[name]})
	}
	return out
}

func numbers(run Run, v checker.Verdict) []numberView {
	s := v.Stats
	per := func(n int) string {
		if s.Duration <= 0 || n == 0 {
			return ""
		}
		return format.Digits(float64(n)/(float64(s.Duration)/1e9)) + " a second"
	}
	share := func(n, of int) string {
		if of == 0 {
			return ""
		}
		return format.Digits(100*float64(n)/float64(of)) + " %"
	}
	out := []numberView{
		{format.Count(s.Grants), "grants", per(s.Grants)},
		{format.Count(s.Contested), "contested", share(s.Contested, s.Grants)},
		{format.Count(s.Writes), "writes accepted", per(s.Writes)},
		{format.Count(s.Rejected), "rejected by the register", ""},
		{format.Count(s.Unknown), "operations of unknown outcome", ""},
	}
	if run.NoLock {
		out[0] = numberView{format.Count(s.Acknowledged), "updates acknowledged", per(s.Acknowledged)}
		out[1] = numberView{format.Count(s.Contested), "contested", share(s.Contested, s.Acknowledged)}
	}
	if s.Acknowledged > 0 {
		out = append(out, numberView{format.Count(s.LostUpdates), "acknowledged updates lost", share(s.LostUpdates, s.Acknowledged) + " of " + format.Count(s.Acknowledged)})
	}
	if s.FirstAnomaly > 0 {
		note := ""
		if s.FirstGrant > 0 && s.FirstAnomaly > s.FirstGrant {
			note = format.Page.Length(s.FirstAnomaly-s.FirstGrant) + " after the first grant"
			if run.TTL > 0 {
				note += ", " + format.Digits(float64(s.FirstAnomaly-s.FirstGrant)/float64(run.TTL)) + " leases"
			}
		}
		out = append(out, numberView{format.Instant(s.FirstAnomaly), "first violation", note})
	}
	if s.Duration > 0 {
		out = append(out, numberView{format.Page.Length(s.Duration), "length of the run", plural(s.Events, "event", "events")})
	}
	return out
}

func faults(run Run, v checker.Verdict) []faultView {
	names := run.kinds()
	for _, name := range slices.Sorted(maps.Keys(v.Stats.Faults)) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	var out []faultView
	for _, name := range names[:min(len(names), 50)] {
		c := v.Stats.Faults[name]
		out = append(out, faultView{clip(name, 60), format.Count(c.Injected), format.Count(c.Confirmed), c.Confirmed == 0})
	}
	return out
}

func settings(run Run) []pair {
	var out []pair
	add := func(name, value string) {
		if value != "" {
			out = append(out, pair{name, clip(value, 400)})
		}
	}
	duration := func(d time.Duration) string {
		if d == 0 {
			return ""
		}
		return format.Page.Length(int64(d))
	}
	yes := func(b bool) string {
		if b {
			return "yes"
		}
		return "no"
	}
	add("lock", run.Lock)
	add("kind of lock", run.Kind)
	if run.Permits > 0 {
		add("permits", fmt.Sprint(run.Permits))
	}
	add("cluster", run.Cluster)
	add("runtime", run.Runtime)
	add("workload", run.Workload)
	add("faults", firstNonEmpty(strings.Join(run.Faults, ", "), "none"))
	add("drawn from", strings.Join(run.Drawn, ", "))
	add("fencing", firstNonEmpty(run.Fencing, "none"))
	add("register", run.Register)
	add("clients", fmt.Sprint(run.Clients))
	add("keys", fmt.Sprint(run.Keys))
	add("lease", duration(run.TTL))
	add("work time", workTimeOf(run))
	add("time limit", duration(run.Limit))
	if run.Rate > 0 {
		add("rate", format.Digits(run.Rate)+" sections a second and client")
	}
	add("watchdog renews", yes(run.Renew))
	add("lease checked before writing", yes(run.CheckLease))
	add("also required", strings.Join(run.Require, ", "))
	add("liveness bound", duration(run.Bound))
	add("seed", fmt.Sprint(run.Seed))
	return out
}

func versions(run Run) []pair {
	var out []pair
	for _, name := range slices.Sorted(maps.Keys(run.Versions)) {
		out = append(out, pair{clip(name, 60), clip(run.Versions[name], 200)})
	}
	m := run.Machine
	if m.OS != "" {
		out = append(out, pair{"machine", clip(strings.TrimSpace(fmt.Sprintf("%s/%s %s", m.OS, m.Arch, m.Kernel)), 200) + ", " + plural(m.CPUs, "CPU", "CPUs")})
	}
	return out
}
