package hunt

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/picklock/picklock/scenarios"
)

// otherwise are workloads with the target's other options, each without a fault: a library's defaults are not what all of its users choose, and a bug may
// need no more than that. Those with more clients than the others would need testbeds of their own. If nobody renews a lease, a section that is longer
// shows no more than that.
func otherwise(t Target, all []workload) []workload {
	var out []workload
	give := func(options map[string]string, all []workload, skip func(workload) bool) {
		for _, w := range all {
			if len(w.ends) > 0 && !w.soon || len(w.programs) > len(t.ClientNames()) || skip(w) {
				continue
			}
			w.name, w.extra = fmt.Sprintf("%s with %s", w.name, settings(options)), options
			out = append(out, w)
		}
	}
	if len(t.Other) > 0 {
		give(t.Other, all, func(workload) bool { return false })
	}
	if len(t.Unrenewed) > 0 {
		give(t.Unrenewed, all, workload.outlives)
	}
	if len(t.Mixed) > 0 {
		give(t.Mixed, append(staysLong(t), all...), func(w workload) bool { return !w.plain() })
	}
	return out
}

// withoutClient are options without those that this client has alone.
func withoutClient(options map[string]string, client string) map[string]string {
	out := maps.Clone(options)
	maps.DeleteFunc(out, func(name, _ string) bool { return strings.HasSuffix(name, "@"+client) })
	return out
}

// betweenVaried is how many schedules with a fault there are for each of these: all together would wait for their few clients, and nothing else would run.
const betweenVaried = 3

// settings names options and their values.
func settings(options map[string]string) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(options)) {
		out = append(out, name+"="+options[name])
	}
	return strings.Join(out, ", ")
}

// with are options, of which those of other take precedence; nil for none.
func with(options, other map[string]string) map[string]string {
	if len(other) == 0 {
		return options
	}
	out := map[string]string{}
	maps.Copy(out, options)
	maps.Copy(out, other)
	return out
}

// editsOfOptions take a schedule's options back to those of the target, all at once and one by one.
func editsOfOptions(t Target, s *scenarios.Scenario) []edit {
	var out []edit
	back := func(what string, names ...string) {
		out = append(out, edit{what: what, drops: true, change: func(s *scenarios.Scenario) {
			s.Extra = maps.Clone(s.Extra)
			for _, name := range names {
				if value, given := t.Extra[name]; given {
					s.Extra[name] = value
				} else {
					delete(s.Extra, name)
				}
			}
		}})
	}
	var names []string
	for _, name := range slices.Sorted(maps.Keys(s.Extra)) {
		if value, given := t.Extra[name]; !given || value != s.Extra[name] {
			names = append(names, name)
		}
	}
	if len(names) > 1 {
		back("other options", names...)
	}
	for _, name := range names {
		back(fmt.Sprintf("option %s=%s", name, s.Extra[name]), name)
	}
	return out
}
