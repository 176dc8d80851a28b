package results

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/internal/format"
)

// Diff says in what two runs differ.
type Diff struct {
	A    string `json:"a"` // the run directories
	B    string `json:"b"`
	Same bool   `json:"same"` // the verdicts, each property's too
	// Settings are those that differ, by their names in run.json.
	Settings   []DiffRow `json:"settings"`
	Valid      DiffRow   `json:"valid"`
	Properties []DiffRow `json:"properties"`
	Anomalies  []DiffRow `json:"anomalies"` // the number of each kind and cause
	Faults     []DiffRow `json:"faults"`    // how often each took effect
	Figures    []DiffRow `json:"figures"`
}

// DiffRow is one value of each run: a text, a number or a verdict.
type DiffRow struct {
	Name      string `json:"name,omitempty"`
	Cause     string `json:"cause,omitempty"` // of anomalies
	Unit      string `json:"unit,omitempty"`  // "ns" or "1/s"
	A         any    `json:"a"`
	B         any    `json:"b"`
	RequiredA bool   `json:"required_a,omitempty"` // of a property
	RequiredB bool   `json:"required_b,omitempty"`
}

// OpenVerdict reads what a run was and what came of it, without its records.
func OpenVerdict(path string) (run Run, v checker.Verdict, err error) {
	if err := readJSON(filepath.Join(path, RunFile), &run); err != nil {
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
			err = fmt.Errorf("%w: %w", ErrNoRun, err)
		}
		return run, v, fmt.Errorf("open run: %w: name a run directory, e.g. %s/latest", err, Root)
	}
	err = readJSON(filepath.Join(path, VerdictFile), &v)
	if errors.Is(err, fs.ErrNotExist) {
		return run, v, fmt.Errorf("%w with a verdict: %s has no %s: picklock check %s writes it", ErrNoRun, path, VerdictFile, path)
	}
	if err != nil {
		return run, v, fmt.Errorf("open run: %w: remove it and check the run again with picklock check", err)
	}
	if len(v.Properties) == 0 {
		return run, v, fmt.Errorf("open run: %s is no verdict: it has no properties: remove it and check the run again with picklock check", filepath.Join(path, VerdictFile))
	}
	return run, v, nil
}

// DiffRuns compares two run directories.
func DiffRuns(a, b string) (*Diff, error) {
	runA, verdictA, err := OpenVerdict(a)
	if err != nil {
		return nil, err
	}
	runB, verdictB, err := OpenVerdict(b)
	if err != nil {
		return nil, err
	}
	d := diff(runA, runB, verdictA, verdictB)
	d.A, d.B = a, b
	return d, nil
}

func diff(runA, runB Run, a, b checker.Verdict) *Diff {
	d := &Diff{Valid: DiffRow{A: a.Valid, B: b.Valid}, Same: a.Valid == b.Valid, Settings: []DiffRow{}, Anomalies: []DiffRow{}, Faults: []DiffRow{}}
	settingsA, settingsB := settingTexts(runA), settingTexts(runB)
	for _, name := range keysOf(settingsA, settingsB) {
		if settingsA[name] != settingsB[name] {
			d.Settings = append(d.Settings, DiffRow{Name: name, A: settingsA[name], B: settingsB[name]})
		}
	}
	for _, name := range propertyNames(checker.Verdict{Properties: union(a.Properties, b.Properties)}) {
		pa, pb := a.Properties[name], b.Properties[name]
		d.Properties = append(d.Properties, DiffRow{Name: name, A: pa.Valid, B: pb.Valid, RequiredA: pa.Required, RequiredB: pb.Required})
		d.Same = d.Same && pa.Valid == pb.Valid && pa.Required == pb.Required
	}
	countsA, countsB := kindsOf(a), kindsOf(b)
	for _, k := range keysOf(countsA, countsB) {
		name, cause, _ := strings.Cut(k, "\n")
		d.Anomalies = append(d.Anomalies, DiffRow{Name: name, Cause: cause, A: countsA[k], B: countsB[k]})
	}
	for _, name := range keysOf(a.Stats.Faults, b.Stats.Faults) {
		d.Faults = append(d.Faults, DiffRow{Name: name, A: a.Stats.Faults[name].Confirmed, B: b.Stats.Faults[name].Confirmed})
	}
	d.Figures = figures(a.Stats, b.Stats)
	return d
}

func keysOf[V any](a, b map[string]V) []string { return slices.Sorted(maps.Keys(union(a, b))) }

func union[V any](a, b map[string]V) map[string]V {
	out := map[string]V{}
	maps.Copy(out, a)
	maps.Copy(out, b)
	return out
}

// kindsOf counts the anomalies of each name and cause.
func kindsOf(v checker.Verdict) map[string]int {
	out := map[string]int{}
	for _, a := range v.Anomalies {
		out[a.Name+"\n"+a.Cause]++
	}
	return out
}

// settingTexts are the fields of run.json as texts, but for those that are another run's
// anyway: the command, which the others make up, the beginning and the addresses.
func settingTexts(run Run) map[string]string {
	out := map[string]string{}
	text, err := json.Marshal(run)
	var fields map[string]any
	if err == nil {
		err = json.Unmarshal(text, &fields)
	}
	if err != nil {
		return out // a Run is JSON by construction
	}
	for _, name := range []string{"command", "started", "nodes"} {
		delete(fields, name)
	}
	for name, at := range map[string]*time.Duration{"ttl": &run.TTL, "work_time": &run.WorkTime, "duration": &run.Limit, "bound": &run.Bound, "cut_short": &run.CutShort} {
		if *at != 0 {
			fields[name] = at.String()
		}
	}
	fields["seed"] = fmt.Sprint(run.Seed) // more than a float64 holds
	said := map[string][]any{}            // what the command line alone has
	for i, word := range run.Command[:max(0, len(run.Command)-1)] {
		if word == "--lock-option" || word == "--ability" {
			said[word] = append(said[word], run.Command[i+1])
		}
	}
	for word, values := range said {
		fields[strings.ReplaceAll(strings.TrimPrefix(word, "--"), "-", "_")] = values
	}
	flatten(out, "", fields)
	return out
}

func flatten(out map[string]string, prefix string, fields map[string]any) {
	for name, v := range fields {
		switch v := v.(type) {
		case map[string]any:
			flatten(out, prefix+name+".", v)
		case []any:
			var words []string
			for _, w := range v {
				words = append(words, fmt.Sprint(w))
			}
			out[prefix+name] = strings.Join(words, ",")
		case nil:
		default:
			out[prefix+name] = fmt.Sprint(v)
		}
	}
}

func figures(a, b checker.Stats) []DiffRow {
	var none checker.Waits
	wa, wb := cmp.Or(a.Waits, &none), cmp.Or(b.Waits, &none)
	rate := func(s checker.Stats) float64 {
		if s.Duration <= 0 {
			return 0
		}
		return float64(s.Grants) / time.Duration(s.Duration).Seconds()
	}
	return []DiffRow{
		{Name: "grants", A: a.Grants, B: b.Grants},
		{Name: "grants a second", Unit: "1/s", A: rate(a), B: rate(b)},
		{Name: "contested", A: a.Contested, B: b.Contested},
		{Name: "writes accepted", A: a.Writes, B: b.Writes},
		{Name: "writes rejected", A: a.Rejected, B: b.Rejected},
		{Name: "unknown outcomes", A: a.Unknown, B: b.Unknown},
		{Name: "gone from the final state", A: a.LostUpdates, B: b.LostUpdates},
		{Name: "waited, p50", Unit: "ns", A: wa.P50, B: wb.P50},
		{Name: "waited, p99", Unit: "ns", A: wa.P99, B: wb.P99},
		{Name: "waited, longest", Unit: "ns", A: wa.Max, B: wb.Max},
		{Name: "first anomaly after", Unit: "ns", A: a.FirstAnomaly, B: b.FirstAnomaly},
		{Name: "duration", Unit: "ns", A: a.Duration, B: b.Duration},
	}
}

// words are a value of a row; a time is an int64.
func words(v any) string {
	switch v := v.(type) {
	case checker.Validity:
		return map[checker.Validity]string{checker.True: "✓ pass", checker.False: "✗ fail", checker.Unknown: "? unknown"}[v]
	case int64:
		if v != 0 {
			return format.Table.Length(v)
		}
	case float64:
		return format.Digits(v)
	case string, int:
		return fmt.Sprint(v)
	}
	return ""
}

// Text writes what a terminal shows: a line that differs begins with a star.
func (d *Diff) Text(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	part := func(title string, rows []DiffRow) {
		if len(rows) > 0 && title != "" {
			fmt.Fprintf(t, "\n%s\n", title)
		}
		for _, r := range rows {
			name, a, b, mark := r.Name, words(r.A), words(r.B), " "
			if r.Cause != "" {
				name += " (" + r.Cause + ")"
			}
			if title == "properties" && !r.RequiredA {
				a += ", not required"
			}
			if title == "properties" && !r.RequiredB {
				b += ", not required"
			}
			if a != b {
				mark = "*"
			}
			fmt.Fprintf(t, "%s %s\t%s\t%s\n", mark, clip(name, 100), clip(firstNonEmpty(a, "-"), 100), clip(firstNonEmpty(b, "-"), 100))
		}
	}
	head := "The verdicts are the same."
	if !d.Same {
		head = "The verdicts differ."
	}
	fmt.Fprintf(t, "%s\n\n  \tA\tB\n", head)
	part("", []DiffRow{{Name: "run", A: d.A, B: d.B}, {Name: "verdict", A: d.Valid.A, B: d.Valid.B}})
	part("settings that differ", d.Settings)
	part("properties", d.Properties)
	part("anomalies", d.Anomalies)
	part("faults that took effect", d.Faults)
	part("figures", d.Figures)
	return t.Flush()
}
