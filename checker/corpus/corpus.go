// Package corpus reads the small histories of checker/testdata, which tests of several
// packages look at. It knows their short form and no checker.
package corpus

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/picklock/picklock/history"
)

// History is what a file of the corpus holds.
type History struct {
	Events  []history.Event
	Effects []history.Effect
	Options map[string]string // as the file has them
}

// Parse reads a history from the short form of testdata/*.txt, one operation a line:
//
//	FROM-TO PROCESS F [GRANT] [name=value ...] [watchdog] [expired] [lingers] [cancelled] [@TIME] [held | not-held] [!ERROR | ?]
//
// Times are seconds. FROM-TO is invoke and ok; with !ERROR the completion is a
// fail, with ? an info; "FROM-" has no completion; "-TO" has no invoke. @TIME is
// the instant at which the register carried the operation out (refused it, with
// !ERROR). A lease without since= counts from the invoke. The nemesis's lines are
// "FROM-TO nemesis FAULT NODE..."; ? means that the fault did not land, and
// how=+5s_x2 that the history gives "FAULT: NODE +5s x2" as its steps, or steps=cut:_c1_from_s1 that it gives these.
func Parse(text string) (History, error) {
	in := History{Options: map[string]string{}}
	var failed error
	seconds := func(s string) int64 {
		ns, err := Seconds(s)
		if failed == nil {
			failed = err
		}
		return ns
	}
	type timed struct {
		at  int64
		eff history.Effect
	}
	var effects []timed
	for n, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "#")
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		if f[0] == "options" {
			for _, o := range f[1:] {
				name, value, _ := strings.Cut(o, "=")
				in.Options[name] = value
			}
			continue
		}
		from, to, ok := strings.Cut(f[0], "-")
		if !ok || len(f) < 3 {
			return History{}, fmt.Errorf("line %d: want FROM-TO PROCESS F, have %q", n+1, line)
		}
		inv := history.Event{Process: f[1], Type: history.Invoke, F: f[2], Key: "k0"}
		comp := inv
		comp.Type = history.OK
		eff, hasEff := history.Effect{Process: f[1], F: f[2], Key: "k0"}, false
		confirmed, hasSince := true, false
		var nodes []string
		var how, steps string
		var effAt int64
		for _, w := range f[3:] {
			name, value, pair := strings.Cut(w, "=")
			switch {
			case name == "token" && pair:
				comp.Token, _ = strconv.ParseInt(value, 10, 64)
			case name == "since" && pair:
				comp.Since, hasSince = seconds(value), true
			case name == "lease" && pair:
				comp.Lease = seconds(value)
			case name == "value" && pair:
				inv.Value, comp.Value, eff.Value = value, value, value
			case name == "permits" && pair:
				inv.Permits, _ = strconv.ParseInt(value, 10, 64)
				comp.Permits = inv.Permits
			case name == "mode" && pair:
				inv.Mode, comp.Mode = value, value
			case name == "saw" && pair: // what the client read, where the register says otherwise
				comp.Value = value
			case name == "parent" && pair:
				eff.Parent = value
			case name == "key" && pair:
				inv.Key, comp.Key, eff.Key = value, value, value
			case name == "how" && pair && f[1] == history.Nemesis:
				how = strings.ReplaceAll(value, "_", " ")
			case name == "steps" && pair && f[1] == history.Nemesis:
				steps = strings.ReplaceAll(value, "_", " ")
			case w == "watchdog":
				comp.Watchdog = true
			case w == "expired":
				comp.Expired = true
			case w == "lingers":
				comp.Lingers = true
			case w == "cancelled": // with !, the error of an acquire
				comp.Cancelled = true
			case w == "notifies":
				comp.Notifies = true
			case w == "held":
				comp.Held = true
			case w == "not-held": // with !, the error of one that failed
				comp.NotHeld = true
			case w[0] == '@':
				effAt, hasEff = seconds(w[1:]), true
			case w == "?":
				comp.Type, confirmed = history.Info, false
			case w == "fail": // reported as failed, and the register carried it out
				comp.Type, comp.Error = history.Fail, w
			case w[0] == '!':
				comp.Type, comp.Error, eff.Error = history.Fail, w[1:], w[1:]
			case f[1] == history.Nemesis:
				nodes = append(nodes, w)
			default:
				comp.Grant, eff.Grant = w, w
				if inv.F != history.Acquire {
					inv.Grant = w
				}
			}
		}
		if f[1] == history.Nemesis {
			inv.Type, comp.Type, inv.Key, comp.Key = history.Info, history.Info, "", ""
			inv.Phase, comp.Phase, inv.Confirmed = history.Begin, history.End, confirmed
			inv.Nodes, comp.Nodes = nodes, nodes
			if inv.Fault = steps; how != "" {
				inv.Fault = f[2] + ": " + strings.Join(nodes, ", ") + " " + how
			}
		}
		if inv.F == history.Read {
			inv.Value = ""
		}
		if inv.F == history.Lost {
			comp.Type, from = history.Info, ""
		}
		if from != "" {
			inv.Time = seconds(from)
			in.Events = append(in.Events, inv)
			if comp.Lease > 0 && !hasSince {
				comp.Since = inv.Time
			}
		}
		if to != "" {
			comp.Time = seconds(to)
			in.Events = append(in.Events, comp)
		}
		if hasEff {
			eff.Time = effAt
			effects = append(effects, timed{effAt, eff})
		}
	}
	slices.SortStableFunc(in.Events, func(a, b history.Event) int { return cmp.Compare(a.Time, b.Time) })
	for i := range in.Events {
		in.Events[i].Index = int64(i)
	}
	slices.SortStableFunc(effects, func(a, b timed) int { return cmp.Compare(a.at, b.at) })
	for i, e := range effects {
		e.eff.Seq = int64(i + 1)
		in.Effects = append(in.Effects, e.eff)
	}
	return in, failed
}

// Seconds reads a time of the corpus, in seconds, as ns.
func Seconds(s string) (int64, error) {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return 0, fmt.Errorf("not a time: %q", s)
	}
	return int64(v*1e9 + 0.5), nil
}
