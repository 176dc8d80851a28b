package results

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
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
	Settings   []SettingDiff  `json:"settings"`
	Valid      Two            `json:"valid"`
	Properties []PropertyDiff `json:"properties"`
	Anomalies  []AnomalyDiff  `json:"anomalies"`
	Faults     []FaultDiff    `json:"faults"`
	Figures    []FigureDiff   `json:"figures"`
}

// Two is one verdict of each run.
type Two struct {
	A checker.Validity `json:"a"`
	B checker.Validity `json:"b"`
}

// SettingDiff is a setting that differs; "" where a run has none.
type SettingDiff struct {
	Name string `json:"name"`
	A    string `json:"a"`
	B    string `json:"b"`
}

// PropertyDiff is one property's verdict in each run.
type PropertyDiff struct {
	Name string `json:"name"`
	Two
	RequiredA bool `json:"required_a"`
	RequiredB bool `json:"required_b"`
}

// AnomalyDiff counts the anomalies of one kind and cause.
type AnomalyDiff struct {
	Name  string `json:"name"`
	Cause string `json:"cause,omitempty"`
	A     int    `json:"a"`
	B     int    `json:"b"`
}

// FaultDiff counts how often one fault landed.
type FaultDiff struct {
	Name string `json:"name"`
	A    int    `json:"a"`
	B    int    `json:"b"`
}

// FigureDiff is one measured figure: a count, grants a second, or a time in ns.
type FigureDiff struct {
	Name string  `json:"name"`
	Unit string  `json:"unit,omitempty"` // "ns" or "1/s"
	A    float64 `json:"a"`
	B    float64 `json:"b"`
}

// OpenVerdict reads what a run was and what came of it, without its records.
func OpenVerdict(path string) (run Run, v checker.Verdict, err error) {
	if err := readJSON(filepath.Join(path, RunFile), &run); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
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
	d := &Diff{Valid: Two{a.Valid, b.Valid}, Same: a.Valid == b.Valid, Settings: []SettingDiff{}, Anomalies: []AnomalyDiff{}, Faults: []FaultDiff{}}
	settingsA, settingsB := settingTexts(runA), settingTexts(runB)
	for _, name := range keysOf(settingsA, settingsB) {
		if settingsA[name] != settingsB[name] {
			d.Settings = append(d.Settings, SettingDiff{name, settingsA[name], settingsB[name]})
		}
	}
	for _, name := range propertyNames(checker.Verdict{Properties: union(a.Properties, b.Properties)}) {
		pa, pb := a.Properties[name], b.Properties[name]
		d.Properties = append(d.Properties, PropertyDiff{name, Two{pa.Valid, pb.Valid}, pa.Required, pb.Required})
		d.Same = d.Same && pa.Valid == pb.Valid && pa.Required == pb.Required
	}
	countsA, countsB := kindsOf(a), kindsOf(b)
	for _, k := range keysOf(countsA, countsB) {
		name, cause, _ := strings.Cut(k, "\n")
		d.Anomalies = append(d.Anomalies, AnomalyDiff{name, cause, countsA[k], countsB[k]})
	}
	for _, name := range keysOf(a.Stats.Faults, b.Stats.Faults) {
		d.Faults = append(d.Faults, FaultDiff{name, a.Stats.Faults[name].Landed, b.Stats.Faults[name].Landed})
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
	for name, at := range map[string]*time.Duration{"ttl": &run.TTL, "hold": &run.Hold, "time_limit": &run.Limit, "bound": &run.Bound, "cut_short": &run.CutShort} {
		if *at != 0 {
			fields[name] = at.String()
		}
	}
	fields["seed"] = fmt.Sprint(run.Seed) // more than a float64 holds
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

func figures(a, b checker.Stats) []FigureDiff {
	wait := func(s checker.Stats) checker.Waits {
		if s.Waits == nil {
			return checker.Waits{}
		}
		return *s.Waits
	}
	rate := func(s checker.Stats) float64 {
		if s.Duration <= 0 {
			return 0
		}
		return float64(s.Grants) / time.Duration(s.Duration).Seconds()
	}
	wa, wb := wait(a), wait(b)
	return []FigureDiff{
		{"grants", "", float64(a.Grants), float64(b.Grants)},
		{"grants a second", "1/s", rate(a), rate(b)},
		{"contested", "", float64(a.Contested), float64(b.Contested)},
		{"writes accepted", "", float64(a.Writes), float64(b.Writes)},
		{"writes rejected", "", float64(a.Rejected), float64(b.Rejected)},
		{"unknown outcomes", "", float64(a.Unknown), float64(b.Unknown)},
		{"lost updates", "", float64(a.LostUpdates), float64(b.LostUpdates)},
		{"waited, p50", "ns", float64(wa.P50), float64(wb.P50)},
		{"waited, p99", "ns", float64(wa.P99), float64(wb.P99)},
		{"waited, longest", "ns", float64(wa.Max), float64(wb.Max)},
		{"first anomaly after", "ns", float64(a.FirstAnomaly), float64(b.FirstAnomaly)},
		{"duration", "ns", float64(a.Duration), float64(b.Duration)},
	}
}

func (f FigureDiff) words(v float64) string {
	switch {
	case f.Unit == "ns" && v == 0:
		return "-"
	case f.Unit == "ns":
		return format.Table.Length(int64(v))
	case f.Unit == "1/s":
		return format.Digits(v)
	}
	return fmt.Sprintf("%.0f", v)
}

// Text writes what a terminal shows: a line that differs begins with a star.
func (d *Diff) Text(w io.Writer) error {
	word := func(v checker.Validity) string {
		return map[checker.Validity]string{checker.True: "✓ holds", checker.False: "✗ broken", checker.Unknown: "? unknown"}[v]
	}
	head := "The verdicts are the same."
	if !d.Same {
		head = "The verdicts differ."
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(name, a, b string) {
		mark := " "
		if a != b {
			mark = "*"
		}
		fmt.Fprintf(t, "%s %s\t%s\t%s\n", mark, clip(name, 100), clip(firstNonEmpty(a, "-"), 100), clip(firstNonEmpty(b, "-"), 100))
	}
	part := func(title string, n int) {
		if n > 0 {
			fmt.Fprintf(t, "\n%s\n", title)
		}
	}
	fmt.Fprintf(t, "%s\n\n  \tA\tB\n", head)
	line("run", d.A, d.B)
	line("verdict", word(d.Valid.A), word(d.Valid.B))
	part("settings that differ", len(d.Settings))
	for _, s := range d.Settings {
		line(s.Name, s.A, s.B)
	}
	part("properties", len(d.Properties))
	for _, p := range d.Properties {
		a, b := word(p.A), word(p.B)
		if !p.RequiredA {
			a += ", not required"
		}
		if !p.RequiredB {
			b += ", not required"
		}
		line(p.Name, a, b)
	}
	part("anomalies", len(d.Anomalies))
	for _, a := range d.Anomalies {
		name := a.Name
		if a.Cause != "" {
			name += " (" + a.Cause + ")"
		}
		line(name, fmt.Sprint(a.A), fmt.Sprint(a.B))
	}
	part("faults that landed", len(d.Faults))
	for _, f := range d.Faults {
		line(f.Name, fmt.Sprint(f.A), fmt.Sprint(f.B))
	}
	part("figures", len(d.Figures))
	for _, f := range d.Figures {
		line(f.Name, f.words(f.A), f.words(f.B))
	}
	return t.Flush()
}
