package report

import (
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/picklock/picklock/checker/verdict"
	"github.com/picklock/picklock/hunt"
	"github.com/picklock/picklock/internal/format"
	"github.com/picklock/picklock/results"
	"github.com/picklock/picklock/scenarios"
)

// Summary prints what a hunt found: the verdict, each counterexample with its replay, and the
// coverage.
func Summary(w io.Writer, r *hunt.Result, dir string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", r.Summary())
	for _, c := range r.Counterexamples {
		fmt.Fprintf(&b, "\n%s\n", heading(c))
		if c.Explanation != "" {
			fmt.Fprintf(&b, "  %s\n", c.Explanation)
		}
		schedule := append([]string{fmt.Sprintf("%d %s, %d %s", c.Faults, format.Noun(c.Faults, "fault", "faults"), c.Steps, format.Noun(c.Steps, "step", "steps"))}, picture(r, c)...)
		if c.Larger != "" {
			schedule = append(schedule, "may not be minimal: "+c.Larger)
		}
		rows(&b, "  schedule", schedule...)
		says, do := advice(c)
		rows(&b, "  cause", append(says, causeWords(c)...)...)
		rows(&b, "  reproduced", rateWords(c))
		rows(&b, "  mitigation", append(do, mitigationWords(c)...)...)
		rows(&b, "  also by", variantWords(c)...)
		rows(&b, "  replay", Replay(r, c, dir))
		if test := AsTest(r, c, dir); test != "" {
			rows(&b, "  as test", test)
		}
	}
	b.WriteString("\n")
	rows(&b, "coverage", covered(r)...)
	rows(&b, "not covered", uncovered(r)...)
	if r.Stopped != "" {
		rows(&b, "ended early", r.Stopped)
	}
	var unfinished []string
	for _, u := range r.Unfinished {
		unfinished = append(unfinished, u+" (a longer --finish does the rest)")
	}
	rows(&b, "unfinished", unfinished...)
	rows(&b, "infeasible", r.Infeasible...)
	rows(&b, "versions", versions(r))
	rows(&b, "results", dir)
	_, err := io.WriteString(w, results.CleanLines(b.String())) // a file of a shard may hold anything
	return err
}

// rows prints a label and its lines below each other.
func rows(b *strings.Builder, label string, lines ...string) {
	const width = 15
	for i, line := range lines {
		if i == 0 {
			line = fmt.Sprintf("%-*s%s", width, label+":", line)
		} else {
			line = strings.Repeat(" ", width) + line
		}
		b.WriteString(line + "\n")
	}
}

// versions names what was tested, and the seed that repeats the order of the search.
func versions(r *hunt.Result) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(r.Versions)) {
		parts = append(parts, name+" "+r.Versions[name])
	}
	return strings.Join(append(parts, fmt.Sprintf("seed %d", r.Seed)), ", ")
}

// Sentence is a counterexample in one line: what breaks, by what, the events that prove it, and how
// often it came.
func Sentence(w *hunt.Counterexample) string {
	return fmt.Sprintf("%s: %s (%s)", heading(w), w.Explanation, rateWords(w))
}

// heading is the class of a counterexample, what breaks, and by which faults.
func heading(w *hunt.Counterexample) string { return class(w) + ": " + cause(w) }

// variantWords are the other schedules that show the same bug, each with what differs and its file.
func variantWords(w *hunt.Counterexample) []string {
	var out []string
	for _, v := range w.Variants {
		by := v.Takes()
		if what(v) != what(w) {
			by += ", as " + what(v)
		}
		out = append(out, fmt.Sprintf("%s: %s (%s)", by, shareWords(rateOf(v)), filepath.Join(CounterexamplesFolder, v.Name+".yaml")))
	}
	return out
}

func cause(w *hunt.Counterexample) string {
	if w.Once() != "" {
		return what(w) + " — once, in a run with " + w.Takes()
	}
	if len(w.Kinds) == 0 {
		return what(w) + " — " + hunt.NoFault
	}
	switch {
	case needless(w):
		return what(w) + " — with and without " + w.Takes()
	case unseen(w), untold(w):
		return what(w) + " — in runs with " + w.Takes()
	}
	return what(w) + " — by " + w.Takes()
}

// needless says that the counterexample comes about as often without each of its faults.
func needless(w *hunt.Counterexample) bool {
	return w.Faults > 0 && len(w.Without) == w.Faults && !slices.ContainsFunc(w.Without, func(r hunt.Mitigation) bool { return !bystander(w, r.Rate) })
}

// unseen says that the record of the counterexample shows no part of its faults in it, and that there were no runs without
// them.
func unseen(w *hunt.Counterexample) bool {
	return w.Faults > 0 && len(w.Without) < w.Faults && w.Evidence != nil && len(w.Evidence.Anomaly.Faults) == 0 && len(w.Evidence.Anomaly.Bystanders) > 0
}

// untold says that the counterexample comes too seldom for runs without its faults to tell whether it needs them.
func untold(w *hunt.Counterexample) bool { return len(w.Without) < w.Faults && !w.Tellable() }

// class says whether the lock broke what it promises, did what any lease does, or had no part in it.
func class(w *hunt.Counterexample) string { return w.Class().Title() }

// what is what breaks.
func what(w *hunt.Counterexample) string {
	if w.LeaseHazard() {
		ended := "the lease has ended"
		if w.Evidence != nil && w.Evidence.Anomaly.Cause == "after-release" {
			ended = "its client has released the lock"
		}
		return "stale write after " + ended + " (" + strings.Join(w.Anomalies, ", ") + ")"
	}
	what := verdict.Shown(w.Anomaly)
	if w.Cause != "" && w.Cause != w.Anomaly {
		what += " (" + w.Cause + ")"
	}
	return what
}

// picture is the schedule as a few lines, with its lease if that is not the hunt's.
func picture(r *hunt.Result, w *hunt.Counterexample) []string {
	s, err := scenarios.Parse(w.Name+".yaml", []byte(w.Schedule))
	if err != nil {
		return nil
	}
	var out []string
	if s.TTL > 0 && int64(s.TTL) != r.TTL {
		out = append(out, fmt.Sprintf("lease: %v", s.TTL))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Extra)) {
		out = append(out, fmt.Sprintf("lock option: %s=%s", name, s.Extra[name]))
	}
	for _, c := range s.Clients {
		out = append(out, c+": "+s.Programs[c].String())
	}
	for _, st := range s.TriggeredFaults {
		out = append(out, "fault: "+st.String())
	}
	return out
}

// Causes names the causes of a schedule that was shrunk.
func Causes(s *hunt.Shrunk) []string {
	return causeWords(&hunt.Counterexample{Signature: s.Signature, Faults: s.Faults[1], Alone: s.Rate, Without: s.Without})
}

// causeWords says which of a counterexample's faults are its cause, and how that is known: by runs
// without them.
func causeWords(w *hunt.Counterexample) []string {
	if before := w.Once(); before != "" {
		once := fmt.Sprintf("it came in 1 of %d runs of its schedule, %s", w.Search.Runs+w.Alone.Runs, clip(before))
		switch {
		case w.NoFaultNear():
			return []string{hunt.NoFault, once}
		case provesItself(w):
			return []string{"which fault has a part in it is unknown: " + once}
		}
		return []string{"unknown: " + once}
	}
	if w.Faults == 0 {
		out := []string{hunt.NoFault}
		if len(w.ByChance) > 0 {
			out = append(out, fmt.Sprintf("it came with %s as well, no more often than in other schedules", some(w.ByChance)))
		}
		if len(w.HazardsByChance) > 0 {
			out = append(out, fmt.Sprintf("what looks like a lease hazard came with %s, no more often than in other schedules", some(w.HazardsByChance)))
		}
		return out
	}
	var out []string
	for _, r := range w.Without {
		without := "without it"
		if r.Instead != "" {
			without = fmt.Sprintf("with %s in its place", r.Instead)
		}
		switch {
		case r.Rate.Helps(rateOf(w)):
			out = append(out, fmt.Sprintf("confirmed: %s (%s: %s)", r.Name, without, noneOf(r.Rate)))
		case r.Rate.Hits == 0 && r.Rate.Runs > r.Rate.Missed:
			out = append(out, fmt.Sprintf("probably %s: too few runs %s (%s)", r.Name, without, noneOf(r.Rate)))
		case r.Rate.Hits == 0:
			out = append(out, fmt.Sprintf("probably %s: no run %s proves anything", r.Name, without))
		case bystander(w, r.Rate):
			out = append(out, fmt.Sprintf("not %s: the lock breaks %s, too (%d of %d)", r.Name, without, r.Rate.Hits, r.Rate.Runs))
		default:
			out = append(out, fmt.Sprintf("%s makes it more likely (%s: %d of %d)", r.Name, without, r.Rate.Hits, r.Rate.Runs))
		}
	}
	switch {
	case unseen(w):
		out = append(out, fmt.Sprintf("perhaps %s: its record shows no part of that in it, and %s", w.Takes(), faultless(w)))
	case len(w.Without) < w.Faults && w.Tellable():
		out = append(out, fmt.Sprintf("probably %s: %s", w.Takes(), faultless(w)))
	case len(w.Without) < w.Faults:
		out = append(out, fmt.Sprintf("perhaps %s: it comes too seldom to tell, and %s", w.Takes(), faultless(w)))
	}
	return out
}

// faultless says what came of the runs without any fault.
func faultless(w *hunt.Counterexample) string {
	if w.Faultless.Runs == 0 {
		return "there were no runs without"
	}
	return fmt.Sprintf("its program broke in %d of %d runs without any fault", w.Faultless.Hits, w.Faultless.Runs)
}

// bystander says that a counterexample comes without a fault about as often as with it.
func bystander(w *hunt.Counterexample, without hunt.Rate) bool {
	return without.Hits > 0 && 2*without.Hits*max(1, rateOf(w).Runs) >= rateOf(w).Hits*without.Runs
}

// rateOf is how often a counterexample was reproduced: with the machine to itself, if that was
// measured.
func rateOf(w *hunt.Counterexample) hunt.Rate {
	if w.Alone.Runs == 0 {
		return w.Search
	}
	return w.Alone
}

func rateWords(w *hunt.Counterexample) string {
	r, how := w.Alone, "alone"
	if r.Runs == 0 {
		r, how = w.Search, "beside other runs"
	}
	if r.Beside > 1 {
		how = fmt.Sprintf("in groups of %d, with nothing else running", r.Beside)
	}
	low, high := r.Interval()
	text := fmt.Sprintf("%d of %d %s (95 %% interval: %.0f to %.0f %%)", r.Hits, r.Runs, how, 100*low, 100*high)
	switch {
	case w.Steady():
	case r.Hits == r.Runs:
		text += ": too few runs to say how often it comes; each hit is proved"
	default:
		text += ": intermittent; each hit is proved"
	}
	return text
}

func mitigationWords(w *hunt.Counterexample) []string {
	var out []string
	for _, m := range w.Mitigations {
		switch {
		case m.Why != "" || m.Rate.Runs == 0:
			continue
		case m.Rate.Helps(rateOf(w)):
			out = append(out, fmt.Sprintf("%s prevents it (%s)", m.Name, noneOf(m.Rate)))
		case m.Rate.Hits == 0 && m.Rate.Runs > m.Rate.Missed:
			out = append(out, fmt.Sprintf("%s may prevent it: too few runs (%s)", m.Name, noneOf(m.Rate)))
		case m.Rate.Hits == 0:
			continue // nothing was tried
		default:
			out = append(out, fmt.Sprintf("%s does not prevent it (%d of %d)", m.Name, m.Rate.Hits, m.Rate.Runs))
		}
	}
	return out
}

// provesItself says that the history of one run shows a wrong step of the lock, or how a lease was over before its client
// acted on it, whichever fault makes it show.
func provesItself(w *hunt.Counterexample) bool {
	return w.Evidence != nil && (w.Evidence.Anomaly.OwnStep() || w.Hazard() && w.Evidence.Anomaly.Cause != "")
}

// advice says what the anomaly of a counterexample is in plain words, and what prevents it: of what came once and never
// again, only what no fault can have had a part in.
func advice(w *hunt.Counterexample) (says, do []string) {
	once := w.Once() != ""
	if w.Evidence == nil || once && !w.NoFaultNear() && !provesItself(w) {
		return nil, nil
	}
	a := w.Evidence.Anomaly
	if a.Name == w.Anomaly && a.Cause == verdict.GeneralCause(w.Anomaly, w.Cause) { // the search has seen more of it than this one run shows
		a.Cause = w.Cause
	}
	if once || untold(w) && !w.Hazard() || slices.ContainsFunc(w.Without, func(r hunt.Mitigation) bool { return bystander(w, r.Rate) }) {
		a.Suspect = nil // what its history suspects may have had no part in it
	}
	happened, remedy, link := results.AdviceOn(a)
	if happened == "" {
		return nil, nil
	}
	return []string{happened}, []string{remedy, link}
}

// noneOf is the rate of what was not seen.
func noneOf(r hunt.Rate) string {
	if r.Missed > 0 {
		return fmt.Sprintf("0 of %d, in %d of which its fault was not triggered", r.Runs, r.Missed)
	}
	return fmt.Sprintf("0 of %d", r.Runs)
}

// Replay is how a counterexample is replayed: a command, or what the hunt says of it.
func Replay(r *hunt.Result, w *hunt.Counterexample, dir string) string {
	file := filepath.Join(dir, CounterexamplesFolder, w.Name+".yaml")
	if r.Replay != "" {
		return strings.NewReplacer(hunt.CounterexampleFile, file, hunt.CounterexampleName, w.Name).Replace(r.Replay)
	}
	command := []string{"picklock", "scenario", "run", file, "--lock", r.Lock, "--fencing", r.Fencing}
	for i, word := range r.Command[:max(0, len(r.Command)-1)] { // what a scenario's file does not have
		if slices.Contains([]string{"--ability", "--runtime", "--client-image"}, word) {
			command = append(command, word, r.Command[i+1])
		}
	}
	return format.Shell(command...)
}

// AsTest is a command that succeeds once the counterexample is gone; "" where no command replays
// it. It runs often: a race may not show in one run.
func AsTest(r *hunt.Result, w *hunt.Counterexample, dir string) string {
	forbid := w.Forbid()
	if r.Replay != "" || len(forbid) == 0 {
		return ""
	}
	return Replay(r, w, dir) + " --forbid " + strings.Join(forbid, ",") + " --count 20"
}

// some names so many of a list as can be read at once, and counts the rest; hunt.json has all.
func some(faults []string) string {
	const most = 3
	if rest := len(faults) - most; rest > 1 {
		faults = append(slices.Clone(faults[:most]), fmt.Sprintf("%d others", rest))
	}
	return format.And(faults)
}
