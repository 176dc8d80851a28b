package results

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/checker/verdict"
	"github.com/picklock/picklock/internal/format"
)

// promises are the design's, in words for readers of a report.
var promises = map[string]string{
	checker.Exclusion: "The service never grants the lock while an earlier grant's lease has time left, and no client releases another's lock.",
	checker.Belief:    "No two clients believe at once that they hold the lock.",
	checker.Tokens:    "Later grants carry greater fencing tokens.",
	checker.Register:  "No write of an older grant is accepted after a newer one; no acknowledged update is lost; the rightful holder is not refused.",
	checker.Liveness:  "A lock that nobody holds is granted again.",
}

func class(v checker.Validity) string {
	switch v {
	case checker.True:
		return "holds"
	case checker.False:
		return "broken"
	}
	return "unknown"
}

func headline(run Run, v checker.Verdict) string {
	lock := clip(run.Lock, 120)
	if lock == "" {
		lock = "unnamed"
	}
	if v.Valid == checker.False { // what was only drawn from broke nothing
		run.Drawn = slices.DeleteFunc(slices.Clone(run.Drawn), func(f string) bool {
			name, _, _ := strings.Cut(f, ":")
			return v.Stats.Faults[name].Confirmed == 0
		})
	}
	if len(run.Faults) == 0 { // a record of another tool's need not say what it asked for
		run.Faults = TookEffect(v)
	}
	faults := faultWords(run)
	if run.NoLock {
		return headlineUnlocked(lock, faults, v)
	}
	under := "under " + faults
	if faults == "" {
		under = "without any fault"
	}
	switch v.Valid {
	case checker.False:
		bugs, hazards, resource := v.Failures()
		switch {
		case faults == "" && someOutlasted(run, v):
			return fmt.Sprintf("%s. The %s lock did not last: %s.", v.Word(), lock, sectionTooLong)
		case bugs == 0 && resource > 0:
			s := fmt.Sprintf("%s. The resource that the %s lock protects broke %s", v.Word(), lock, under)
			switch {
			case v.Promises == checker.True && hazards > 0:
				s += "; the lock kept its promises, and a client went on after it had lost it"
			case v.Promises == checker.True:
				s += "; the lock kept its promises"
			case hazards > 0:
				s += "; a client went on after it had lost the lock"
			}
			return s + "."
		case bugs == 0 && hazards > 0:
			kept := "kept its promises " + under
			if v.Promises != checker.True {
				kept = fmt.Sprintf("was tried too little %s to tell whether it kept its promises (%s)", under, clip(v.PromisesWhy, 300))
			}
			return fmt.Sprintf("%s. The %s lock %s; a client went on after it had lost the lock.", v.Word(), lock, kept)
		}
		if resource > 0 {
			return fmt.Sprintf("%s. The %s lock broke %s, and so did the resource that it protects.", v.Word(), lock, under)
		}
		return fmt.Sprintf("%s. The %s lock broke %s.", v.Word(), lock, under)
	case checker.True:
		switch {
		case faults == "" && len(v.Stats.Faults) > 0:
			return fmt.Sprintf("%s. The %s lock kept its promises. No fault took effect.", v.Word(), lock)
		case faults == "":
			return fmt.Sprintf("%s. The %s lock kept its promises. No fault was injected.", v.Word(), lock)
		}
		return fmt.Sprintf("%s. The %s lock kept its promises %s.", v.Word(), lock, under)
	}
	if faults == "" {
		under = ""
	} else {
		under = " " + under
	}
	passed, open := decided(v)
	switch {
	case len(passed) == 0:
		return fmt.Sprintf("%s. Nothing is proved about the %s lock%s.", v.Word(), lock, under)
	case len(open) == 0:
		return fmt.Sprintf("%s. It is not proved that the %s lock keeps its promises%s.", v.Word(), lock, under)
	}
	return fmt.Sprintf("%s. It is not proved that the %s lock keeps its promises%s: %s %s not decided; %s passed.", v.Word(), lock, under,
		format.And(open), format.Noun(len(open), "is", "are"), format.And(passed))
}

// decided lists the required properties that passed, and those that are unknown.
func decided(v checker.Verdict) (passed, open []string) {
	for _, name := range propertyNames(v) {
		switch p := v.Properties[name]; {
		case !p.Required:
		case p.Valid == checker.True:
			passed = append(passed, clip(verdict.ShownProperty(name), 40))
		case p.Valid == checker.Unknown:
			open = append(open, clip(verdict.ShownProperty(name), 40))
		}
	}
	return passed, open
}

// faultWords is "pause of the holder and clock": the requests as people say them.
func faultWords(run Run) string {
	var words []string
	for _, f := range run.Faults {
		f, without := strings.CutSuffix(f, ":wipe")
		data := map[bool]string{true: " without its data"}[without]
		name, target, ok := strings.Cut(f, ":")
		switch {
		case f == everything && len(run.Drawn) > 0:
			words = append(words, Run{Drawn: run.Drawn}.kinds()...)
		case !ok || target == "":
			words = append(words, clip(name, 60)+data)
		case target == "holder" || target == "leader":
			words = append(words, clip(name, 60)+" of the "+target+data)
		default:
			words = append(words, clip(name, 60)+" of "+clip(target, 60)+data)
		}
	}
	if n := len(words) - mostNamed; n > 1 { // a record of another tool's can have a name for each of its faults
		words = append(words[:mostNamed:mostNamed], plainCount(n, "other", "others"))
	}
	return format.And(words)
}

// mostNamed bounds the faults that a headline names.
const mostNamed = 12

// TookEffect lists the names of the faults that the history says took effect.
func TookEffect(v checker.Verdict) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(v.Stats.Faults)) {
		if v.Stats.Faults[name].Confirmed > 0 {
			out = append(out, name)
		}
	}
	return out
}

// lead says in a sentence or two what the headline rests on.
func lead(v checker.Verdict, shown []checker.Anomaly) string {
	switch {
	case v.Valid == checker.Unknown:
		return ""
	case v.Valid == checker.False && len(shown) > 0:
		return sentence(clip(shown[0].Explanation, 1200))
	case v.Valid == checker.False:
		return firstNonEmpty(clip(v.Why, 600), "The verdict names no anomaly.")
	}
	if v.Stats.Grants == 0 {
		return leadUnlocked(v.Stats)
	}
	s := fmt.Sprintf("%s, %s of them contested", plural(v.Stats.Grants, "grant", "grants"), format.Count(v.Stats.Contested))
	s += fmt.Sprintf("; %s accepted, %s rejected. Every required property holds.", plural(v.Stats.Writes, "write", "writes"), format.Count(v.Stats.Rejected))
	if n := len(v.Anomalies); n > 0 {
		s += fmt.Sprintf(" %s of a property that was not required.", plural(n, "anomaly", "anomalies"))
	}
	return s
}

// maxWarnings and maxWarning bound what is shown of a run's warnings.
const (
	maxWarnings = 20
	maxWarning  = 1500
)

// warnings are the run's, fit to be shown.
func warnings(run Run) []string {
	var out []string
	for _, text := range run.Warnings[:min(len(run.Warnings), maxWarnings)] {
		out = append(out, clip(text, maxWarning))
	}
	return out
}

func firstNonEmpty(s ...string) string {
	for _, x := range s {
		if x != "" {
			return x
		}
	}
	return ""
}

// missing says what an unknown verdict lacked: the checker's own words, then
// what its counts show.
func missing(run Run, v checker.Verdict) []string {
	if v.Valid != checker.Unknown {
		return nil
	}
	var out []string
	say := func(s string) {
		if s = clip(s, 600); s != "" && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	say(v.Why)
	for _, name := range propertyNames(v) {
		if p := v.Properties[name]; p.Valid == checker.Unknown && p.Required && p.Why != "" && !strings.Contains(v.Why, p.Why) {
			say(name + ": " + p.Why)
		}
	}
	if len(out) > 0 {
		return out
	}
	switch {
	case v.Stats.Events == 0:
		say("The history is empty: no client did anything.")
	case v.Stats.Grants == 0:
		say("No client was ever granted the lock.")
	case v.Stats.Contested == 0:
		say("No grant was contested: no other client was waiting for the lock.")
	}
	for _, name := range run.kinds() {
		if v.Stats.Faults[name].Confirmed == 0 {
			say("The fault " + name + " never took effect.")
		}
	}
	if len(out) == 0 {
		say("The checker gave no reason: check the run again with picklock check.")
	}
	return out
}

// tested says what was tested and on what.
func tested(run Run) string {
	var parts []string
	add := func(s string) {
		if s != "" {
			parts = append(parts, s)
		}
	}
	if run.About != "" {
		add(clip(run.About, 200))
	}
	servers := 0
	for _, n := range run.Nodes {
		if n.Role == roleServer {
			servers++
		}
	}
	if servers > 0 {
		add(plural(servers, "server", "servers"))
	}
	if run.Clients > 0 {
		c := plural(run.Clients, "client", "clients")
		if run.Keys > 1 {
			c += " on " + plural(run.Keys, "key", "keys")
		}
		add(c)
	}
	if run.Workload != "" {
		add(clip(run.Workload, 40) + " workload")
	}
	add("fencing " + firstNonEmpty(clip(run.Fencing, 40), "none"))
	if run.Register != "" {
		add("register " + clip(run.Register, 40))
	}
	if run.TTL > 0 {
		add("lease " + format.Page.Length(int64(run.TTL)))
	}
	add(run.CutWords())
	return strings.Join(parts, " · ")
}

// nothing says in what sense no anomaly is listed.
func nothing(v checker.Verdict) string {
	for _, p := range v.Properties {
		if p.Anomalies > 0 {
			return "The verdict counts anomalies and lists none: check the run again with picklock check."
		}
	}
	if v.Valid == checker.False {
		return "The verdict lists no anomaly."
	}
	return "Nothing: no anomaly was found."
}

func leftOut(o omitted) string {
	if !o.any() {
		return ""
	}
	s := fmt.Sprintf("To keep this file small the timeline leaves out %s, %s and %s", plural(o.Holds, "hold", "holds"),
		plural(o.Waits, "wait", "waits"), plural(o.Marks, "read or write", "reads and writes"))
	if o.Bands > 0 {
		s += " and " + plural(o.Bands, "fault", "faults")
	}
	return s + fmt.Sprintf(". Around the first anomalies it is complete; elsewhere it shows one critical section in %d. %s has them all; the verdict and the numbers count them all.", o.Every, HistoryFile)
}

// partOf says that a report was drawn from a part of the events; what says what the
// timeline leaves out of that.
func partOf(drawn, all int, what string) string {
	s := fmt.Sprintf("The run is long: the timeline is drawn from %s of its %s events, which are those around the first anomalies, those at its start, the faults, and whole critical sections from the rest. %s has them all; the verdict and the numbers count them all.", format.Count(drawn), format.Count(all), HistoryFile)
	if what == "" {
		return s
	}
	return s + " " + what
}

// Command is the command line that makes the run again, with its seed.
func Command(run Run) string {
	args := slices.Clone(run.Command)
	if len(args) > 0 && strings.HasSuffix(args[0], "picklock") {
		args = args[1:]
	}
	if len(args) == 0 {
		args = []string{"run", "--lock", run.Lock}
		if len(run.Faults) > 0 {
			args = append(args, "--faults", strings.Join(run.Faults, ","))
		}
		flag := func(name, value string, set bool) {
			if set {
				args = append(args, "--"+name, value)
			}
		}
		flag("workload", run.Workload, run.Workload != "")
		flag("fencing", run.Fencing, run.Fencing != "")
		flag("register", run.Register, run.Register != "")
		flag("clients", fmt.Sprint(run.Clients), run.Clients > 0)
		flag("keys", fmt.Sprint(run.Keys), run.Keys > 1)
		flag("ttl", run.TTL.String(), run.TTL > 0)
		flag("work-time", run.WorkTime.String(), run.WorkTime > 0 && run.Reach == 0)
		flag("duration", run.Limit.String(), run.Limit > 0)
		flag("rate", fmt.Sprint(run.Rate), run.Rate > 0)
		if run.Renew {
			args = append(args, "--renew")
		}
		if run.CheckLease {
			args = append(args, "--check-lease")
		}
		flag("require", strings.Join(run.Require, ","), len(run.Require) > 0)
		flag("runtime", run.Runtime, run.Runtime != "")
	}
	if args[0] != "check" && !slices.ContainsFunc(args, func(a string) bool { return a == "--seed" || strings.HasPrefix(a, "--seed=") }) {
		args = append(args, "--seed", fmt.Sprint(run.Seed))
	}
	for i, a := range args {
		args[i] = format.Shell(clean(a))
	}
	return "picklock " + strings.Join(args, " ")
}
