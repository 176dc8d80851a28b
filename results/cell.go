package results

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/checker/verdict"
	"github.com/picklock/picklock/internal/format"
)

// The files that a scenario's run has besides those of every run.
const (
	CellFile      = "scenario.json"
	ScenarioFile  = "scenario.yaml"      // as it was run
	CellJUnitFile = "scenario-junit.xml" // one case: whether what was expected came
)

// Cell is one scenario on one lock with one discipline: what was expected and what
// came of it, in one run or in several.
type Cell struct {
	Scenario string `json:"scenario"`
	Lock     string `json:"lock"`
	Fencing  string `json:"fencing"`
	Service  string `json:"service,omitempty"` // what the lock is made with: redis, etcd
	Runs     int    `json:"runs"`

	Met      checker.Validity `json:"met"` // true, false, or "unknown": it proved too little
	Why      string           `json:"why,omitempty"`
	LeftOut  string           `json:"left_out,omitempty"` // why it could not be run here
	Expected string           `json:"expected"`           // in words; "" where nothing is known
	Must     []string         `json:"must,omitempty"`     // the anomalies that had to appear
	Valid    checker.Validity `json:"valid"`
	Class    verdict.Class    `json:"class,omitempty"` // of a fail: the gravest of all runs
	Found    map[string]int   `json:"found"`           // anomalies by name
	Broken   []string         `json:"broken"`          // those of them that break a required property
	Clean    int              `json:"clean"`           // runs without one
	// Unproved counts the runs without one that proved too little: they are not among Clean.
	Unproved  int            `json:"unproved,omitempty"`
	Counts    map[string]int `json:"counts,omitempty"`  // what the scenario counted
	Confirmed int            `json:"confirmed"`         // faults
	Refused   int            `json:"refused,omitempty"` // operations that the register refused
	// Discarded counts the runs before these that proved nothing: this machine was too busy.
	Discarded int         `json:"discarded,omitempty"`
	Sentence  string      `json:"sentence,omitempty"`
	Causes    []Cause     `json:"causes,omitempty"` // of what broke a required property, the deepest first of its first run
	Steps     []StepTaken `json:"steps,omitempty"`
	CutShort  bool        `json:"cut_short,omitempty"` // it was interrupted

	Started  time.Time         `json:"started"`
	Seconds  float64           `json:"seconds"`
	Dir      string            `json:"dir"`
	Emulator string            `json:"emulator,omitempty"` // what stood in for the lock's service
	Command  []string          `json:"command,omitempty"`  // the arguments, to run it again
	Versions map[string]string `json:"versions,omitempty"`
}

// StepTaken is one step of a script that was taken.
type StepTaken struct {
	Line    int           `json:"line"`
	Text    string        `json:"text"`
	At      int64         `json:"at"` // ns since the run's start
	Took    time.Duration `json:"took"`
	Outcome string        `json:"outcome,omitempty"`
}

// WriteCell writes scenario.json, the scenario itself, and whether it came to what was
// expected as JUnit, which junit.xml, of what the run proved, cannot say.
func (d *Dir) WriteCell(c Cell, scenario []byte) error {
	if err := d.write(ScenarioFile, scenario); err != nil {
		return err
	}
	var b bytes.Buffer
	if err := MatrixJUnit(&b, &Matrix{Started: c.Started, Cells: []Cell{c}}); err != nil {
		return fmt.Errorf("write %s: %w", CellJUnitFile, err)
	}
	if err := d.write(CellJUnitFile, b.Bytes()); err != nil {
		return err
	}
	return d.writeJSON(CellFile, c)
}

// ReadCell reads what WriteCell wrote.
func ReadCell(path string) (Cell, error) {
	var c Cell
	return c, readJSON(path, &c)
}

// CellSummary writes what a terminal shows at a scenario's end.
func CellSummary(w io.Writer, c Cell, report string, color bool) error {
	p := paint(color)
	var b strings.Builder
	if c.LeftOut != "" {
		fmt.Fprintf(&b, "%s %s\n  why:      %s\n", p.sign(checker.Unknown), p.bold(fmt.Sprintf("%s on %s, fencing %s: left out", clip(c.Scenario, 80), clip(c.Lock, 80), c.Fencing)), clip(c.LeftOut, 2000))
		_, err := io.WriteString(w, b.String())
		return err
	}
	fmt.Fprintf(&b, "%s %s\n", p.cellSign(c), p.bold(fmt.Sprintf("%s on %s, fencing %s: %s", clip(c.Scenario, 80), clip(c.Lock, 80), c.Fencing, c.word())))
	fmt.Fprintf(&b, "  expected: %s\n  found:    %s\n", firstNonEmpty(clip(c.Expected, 300), "no broken promise, since the scenario does not name this lock"), c.found())
	if c.Discarded > 0 {
		fmt.Fprintf(&b, "  discarded: %s before: this machine was too busy\n", fmt.Sprintf("%d %s", c.Discarded, format.Noun(c.Discarded, "run", "runs")))
	}
	if c.Why != "" {
		fmt.Fprintf(&b, "  why:      %s\n", clip(c.Why, 2000))
	}
	for _, name := range slices.Sorted(maps.Keys(c.Counts)) {
		fmt.Fprintf(&b, "  counted:  %d %s\n", c.Counts[name], clip(name, 60))
	}
	if c.Sentence != "" {
		fmt.Fprintf(&b, "  %s\n", clip(c.Sentence, 600))
	}
	for _, cause := range summed(c.Causes) {
		fmt.Fprintf(&b, "  cause:    %s\n", cause)
	}
	if report != "" {
		fmt.Fprintf(&b, "  report:   %s\n", clean(report))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// word says what the lock did and whether that was expected, if anything was.
func (c Cell) word() string {
	did := firstNonEmpty(c.Class.Title(), map[checker.Validity]string{checker.True: "pass", checker.False: "fail", checker.Unknown: "unknown"}[c.Valid])
	if c.Expected == "" && c.Met != checker.Unknown {
		return did
	}
	switch c.Met {
	case checker.True:
		return did + ", as expected"
	case checker.False:
		return did + ", not as expected"
	}
	return "unknown"
}

// cellSign is the tick of a lock that held, as was expected. One that broke has none,
// even if it was expected.
func (p paint) cellSign(c Cell) string {
	if c.Met == checker.True && c.Valid == checker.False {
		return p.wrap("32", "●")
	}
	return p.sign(c.Met)
}

// found lists the anomalies: "stale-write 1, two-holders 2", or the verdict where
// there are none.
func (c Cell) found() string {
	if len(c.Found) == 0 {
		if c.Valid == checker.True {
			return "valid"
		}
		return "no anomaly; the verdict is " + c.Valid.String()
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(c.Found)) {
		parts = append(parts, fmt.Sprintf("%s %d", clip(name, 60), c.Found[name]))
	}
	return strings.Join(parts, ", ")
}
