package report

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/picklock/picklock/checker/verdict"
	"github.com/picklock/picklock/hunt"
	"github.com/picklock/picklock/internal/format"
	"github.com/picklock/picklock/scenarios"
)

// Summary prints what a hunt found: the map of how the lock breaks, by what it takes, and
// how far it was looked.
func Summary(w io.Writer, r *hunt.Result, dir string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", r.Summary())
	for _, counterexample := range r.Counterexamples {
		fmt.Fprintf(&b, "\n%s\n", heading(counterexample))
		if counterexample.Explanation != "" {
			fmt.Fprintf(&b, "  %s\n", counterexample.Explanation)
		}
		fmt.Fprintf(&b, "  takes:    %s; %d %s, %d %s\n", counterexample.Takes(), counterexample.Faults, format.Noun(counterexample.Faults, "fault", "faults"), counterexample.Steps, format.Noun(counterexample.Steps, "step", "steps"))
		for _, line := range picture(counterexample) {
			fmt.Fprintf(&b, "            %s\n", line)
		}
		if counterexample.Larger != "" {
			fmt.Fprintf(&b, "            perhaps less: %s\n", counterexample.Larger)
		}
		fmt.Fprintf(&b, "  cause:    %s\n", strings.Join(causeWords(counterexample), "\n            "))
		fmt.Fprintf(&b, "  replays:  %s\n", rateWords(counterexample))
		if helps := remedyWords(counterexample); len(helps) > 0 {
			fmt.Fprintf(&b, "  helps:    %s\n", strings.Join(helps, "\n            "))
		}
		fmt.Fprintf(&b, "  again:    %s\n", Again(r, counterexample, dir))
		if test := AsTest(r, counterexample, dir); test != "" {
			fmt.Fprintf(&b, "  as test:  %s\n", test)
		}
	}
	fmt.Fprintf(&b, "\ncovered:  %s\n", covered(r))
	for _, u := range r.Unfinished {
		fmt.Fprintf(&b, "no time:  %s (--finish)\n", u)
	}
	for _, i := range r.Impossible {
		fmt.Fprintf(&b, "left out: %s\n", i)
	}
	fmt.Fprintf(&b, "results:  %s\n", dir)
	_, err := io.WriteString(w, b.String())
	return err
}

// Sentence is a counterexample in one line: what breaks, by what, the events that prove it, and how
// often it came.
func Sentence(w *hunt.Counterexample) string {
	return fmt.Sprintf("%s: %s (%s)", heading(w), w.Explanation, rateWords(w))
}

func heading(w *hunt.Counterexample) string { return what(w) + " — by " + w.Takes() }

// what is what breaks.
func what(w *hunt.Counterexample) string {
	what := verdict.Shown(w.Anomaly)
	if w.Anomaly == hunt.LateWrite {
		what = "a write that comes too late (" + strings.Join(w.Anomalies, ", ") + ")"
	} else if w.Cause != "" && w.Cause != w.Anomaly {
		what += " (" + w.Cause + ")"
	}
	return what
}

// picture is the schedule as a few lines.
func picture(w *hunt.Counterexample) []string {
	s, err := scenarios.Parse(w.Name+".yaml", []byte(w.Schedule))
	if err != nil {
		return nil
	}
	var out []string
	for _, c := range s.Clients {
		out = append(out, c+": "+s.Programs[c].String())
	}
	for _, st := range s.Strikes {
		out = append(out, "fault: "+st.String())
	}
	return out
}

// Causes is what a schedule that was made smaller is said to come of.
func Causes(s *hunt.Shrunk) []string {
	return causeWords(&hunt.Counterexample{Signature: s.Signature, Faults: s.Faults[1], Alone: s.Rate, Without: s.Without})
}

// causeWords says which of a counterexample's faults are its cause, and how that is known: by playing it
// without them.
func causeWords(w *hunt.Counterexample) []string {
	if w.Faults == 0 {
		return []string{"no fault: it comes without any"}
	}
	var out []string
	for _, r := range w.Without {
		switch {
		case r.Rate.Helps():
			out = append(out, fmt.Sprintf("confirmed: without %s it does not break (%s)", r.Name, noneOf(r.Rate)))
		case r.Rate.Hits == 0:
			out = append(out, fmt.Sprintf("probably %s: no play without it counts", r.Name))
		case 2*r.Rate.Hits*max(1, rateOf(w).Plays) >= rateOf(w).Hits*r.Rate.Plays:
			out = append(out, fmt.Sprintf("not %s: without it it breaks as well (%d of %d)", r.Name, r.Rate.Hits, r.Rate.Plays))
		default:
			out = append(out, fmt.Sprintf("%s makes it likelier: without it it breaks in %d of %d", r.Name, r.Rate.Hits, r.Rate.Plays))
		}
	}
	if len(w.Without) < w.Faults {
		out = append(out, fmt.Sprintf("probably %s: it was not played without", w.Takes()))
	}
	return out
}

// rateOf is how often a counterexample came: with the machine to itself, if that was measured.
func rateOf(w *hunt.Counterexample) hunt.Rate {
	if w.Alone.Plays == 0 {
		return w.Search
	}
	return w.Alone
}

func rateWords(w *hunt.Counterexample) string {
	r, how := w.Alone, "alone"
	if r.Plays == 0 {
		r, how = w.Search, "beside other plays"
	}
	low, high := r.Interval()
	text := fmt.Sprintf("%d of %d %s (%.0f to %.0f %%)", r.Hits, r.Plays, how, 100*low, 100*high)
	if !w.Steady() {
		text += ": it was proved, and does not come at will"
	}
	return text
}

func remedyWords(w *hunt.Counterexample) []string {
	var out []string
	for _, m := range w.Remedies {
		switch {
		case m.Why != "" || m.Rate.Plays == 0:
			continue
		case m.Rate.Helps():
			out = append(out, fmt.Sprintf("goes away with %s (%s)", m.Name, noneOf(m.Rate)))
		case m.Rate.Hits == 0:
			continue // nothing was tried
		default:
			out = append(out, fmt.Sprintf("does not go away with %s (%d of %d)", m.Name, m.Rate.Hits, m.Rate.Plays))
		}
	}
	return out
}

// noneOf is the rate of what was not seen.
func noneOf(r hunt.Rate) string {
	if r.Missed > 0 {
		return fmt.Sprintf("0 of %d, in %d of which its fault did not come to strike", r.Plays, r.Missed)
	}
	return fmt.Sprintf("0 of %d", r.Plays)
}

// Again is how a counterexample is played again: a command, or what the hunt says of it.
func Again(r *hunt.Result, w *hunt.Counterexample, dir string) string {
	file := filepath.Join(dir, CounterexamplesFolder, w.Name+".yaml")
	if r.Again != "" {
		return strings.NewReplacer(hunt.CounterexampleFile, file, hunt.CounterexampleName, w.Name).Replace(r.Again)
	}
	return strings.Join(quoted([]string{"picklock", "scenario", "run", file, "--lock", r.Lock, "--fencing", r.Fencing}), " ")
}

// AsTest is a command that succeeds once the lock does not break in this way any more; "" where
// a counterexample is not played by a command. It plays often: a race may well not come in one play.
func AsTest(r *hunt.Result, w *hunt.Counterexample, dir string) string {
	forbid := w.Forbid()
	if r.Again != "" || len(forbid) == 0 {
		return ""
	}
	return Again(r, w, dir) + " --forbid " + strings.Join(forbid, ",") + " --count 20"
}

func covered(r *hunt.Result) string {
	var parts []string
	for _, d := range r.Depths {
		if d.Played == 0 {
			continue
		}
		text := fmt.Sprintf("%d with %d %s", d.Played, d.Faults, format.Noun(d.Faults, "fault", "faults"))
		if d.Done {
			text += " (all)"
		}
		parts = append(parts, text)
	}
	if r.Guided > 0 {
		parts = append(parts, fmt.Sprintf("%d guided", r.Guided))
	}
	text := fmt.Sprintf("schedules: %s; %d void, %d of them because this machine was busy; %d states; %.1f plays a second", strings.Join(parts, ", "), r.Void, r.Busy, r.States, float64(r.Plays)/max(0.1, r.Seconds))
	if r.CPU > 0 && r.Plays > 0 {
		text += fmt.Sprintf(", %.2f s of a processor each", r.CPU/float64(r.Plays))
	}
	return text
}
