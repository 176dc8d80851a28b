package results

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/checker/verdict"
	"github.com/picklock/picklock/internal/suggest"
)

// Expectations are what a matrix is compared with: by scenario, lock and discipline,
// the anomalies that must appear; none for valid.
type Expectations struct {
	file  string
	cells map[string]map[string]map[string]expected
}

type expected struct {
	anomalies []string
	line      int
}

// ReadExpectations reads what WriteExpectations writes, and what a user made of it.
func ReadExpectations(path string) (*Expectations, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the expectations: %w (write them with --write-expect)", err)
	}
	var raw map[string]map[string]map[string]yaml.Node
	if err := yaml.Unmarshal(text, &raw); err != nil {
		return nil, fmt.Errorf("read the expectations: %s: want scenario: lock: fencing: valid or [anomaly, ...]: %w", path, err)
	}
	if len(raw) == 0 {
		return nil, fmt.Errorf("read the expectations: %s has none (write them with --write-expect)", path)
	}
	e := &Expectations{file: path, cells: map[string]map[string]map[string]expected{}}
	for scenario, locks := range raw {
		e.cells[scenario] = map[string]map[string]expected{}
		for lock, disciplines := range locks {
			e.cells[scenario][lock] = map[string]expected{}
			for fencing, n := range disciplines {
				want := expected{line: n.Line}
				if err := n.Decode(&want.anomalies); err != nil && n.Value != "valid" {
					return nil, fmt.Errorf("read the expectations: %s:%d: want valid or a list of anomalies", path, n.Line)
				}
				if err := knownAnomalies(want.anomalies); err != nil {
					return nil, fmt.Errorf("read the expectations: %s:%d: %w", path, n.Line, err)
				}
				e.cells[scenario][lock][fencing] = want
			}
		}
	}
	return e, nil
}

// knownAnomalies refuses a name that no anomaly has: it would make each comparison a difference.
func knownAnomalies(names []string) error {
	var known []string
	for _, a := range verdict.Anomalies() {
		known = append(known, a.Name)
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return suggest.Unknown("anomaly", name, known)
		}
	}
	return nil
}

// Apply judges the matrix anew by the file. What differs in either direction is
// unexpected; so is a cell that the file does not know. One that the file knows, of a
// scenario and lock that were run, and that is missing is inconclusive.
func (e *Expectations) Apply(m *Matrix) {
	played := map[string]bool{}
	for i := range m.Cells {
		c := &m.Cells[i]
		played[c.Scenario+"\n"+c.Lock+"\n"+c.Fencing] = true
		want, ok := e.cells[c.Scenario][c.Lock][c.Fencing]
		if c.LeftOut != "" {
			if ok {
				c.Must, c.Expected, c.Met = want.anomalies, firstNonEmpty(strings.Join(want.anomalies, ", "), "valid"), checker.Unknown
				c.Why, c.LeftOut = fmt.Sprintf("it is in %s and was left out: %s", e.file, c.LeftOut), ""
			}
			continue
		}
		if !ok {
			c.Expected, c.Met, c.Why = "nothing", checker.False, fmt.Sprintf("%s does not know this cell: add it with --write-expect", e.file)
			continue
		}
		slices.Sort(want.anomalies)
		inconclusive := c.Met == checker.Unknown
		c.Must, c.Expected, c.Why, c.Met = want.anomalies, firstNonEmpty(strings.Join(want.anomalies, ", "), "valid"), "", checker.True
		switch {
		case len(want.anomalies) == 0 && len(c.Broken) == 0 && c.Valid == checker.Unknown:
			c.Met, c.Why = checker.Unknown, "the run proved too little"
		case !slices.Equal(want.anomalies, c.Broken) && inconclusive && len(c.Broken) == 0:
			c.Met, c.Why = checker.Unknown, "the run proved too little"
		case !slices.Equal(want.anomalies, c.Broken):
			c.Met, c.Why = checker.False, fmt.Sprintf("%s:%d expects %s", e.file, want.line, c.Expected)
		case len(want.anomalies) > 0 && c.Clean == 0 && c.Unproved > 0:
			c.Met, c.Why = checker.Unknown, fmt.Sprintf("%d of %d runs proved too little", c.Unproved, c.Runs)
		case len(want.anomalies) > 0 && c.Clean > 0:
			c.Met, c.Why = checker.False, fmt.Sprintf("%d of %d runs show no violation", c.Clean, c.Runs)
		}
	}
	for _, s := range m.Scenarios {
		for lock, disciplines := range e.cells[s.Name] {
			for fencing := range disciplines {
				if !slices.ContainsFunc(m.Cells, func(c Cell) bool { return c.Scenario == s.Name && c.Lock == lock }) {
					continue
				}
				if !played[s.Name+"\n"+lock+"\n"+fencing] && slices.Contains(m.columns(), fencing) {
					m.Cells = append(m.Cells, Cell{Scenario: s.Name, Lock: lock, Fencing: fencing, Expected: "something", Met: checker.Unknown, Why: "it is in " + e.file + " and was not run"})
				}
			}
		}
	}
}

// WriteExpectations writes what came of a matrix as what is expected of the next. A
// cell that proved nothing is left out.
func WriteExpectations(path string, m *Matrix) error {
	var b strings.Builder
	b.WriteString("# Written by picklock scenario run --write-expect. By scenario, lock and fencing mode:\n# the anomalies that must appear, or valid. Compare with picklock scenario run --expect.\n")
	scenario, lock := "", ""
	cells := slices.Clone(m.Cells)
	slices.SortStableFunc(cells, func(x, y Cell) int {
		if c := strings.Compare(x.Scenario, y.Scenario); c != 0 {
			return c
		}
		return strings.Compare(x.Lock, y.Lock)
	})
	for _, c := range cells {
		if c.LeftOut != "" || c.Valid == checker.Unknown && len(c.Broken) == 0 {
			continue
		}
		if c.Scenario != scenario {
			fmt.Fprintf(&b, "%s:\n", yamlText(c.Scenario))
			scenario, lock = c.Scenario, ""
		}
		if c.Lock != lock {
			fmt.Fprintf(&b, "  %s:\n", yamlText(c.Lock))
			lock = c.Lock
		}
		what := "valid"
		if len(c.Broken) > 0 {
			what = "[" + strings.Join(c.Broken, ", ") + "]"
		}
		fmt.Fprintf(&b, "    %s: %s\n", yamlText(c.Fencing), what)
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
		return fmt.Errorf("write the expectations: %w", err)
	}
	return nil
}

// yamlText is s as a YAML key.
func yamlText(s string) string {
	out, err := yaml.Marshal(s)
	if err != nil {
		return fmt.Sprintf("%q", s)
	}
	return strings.TrimSpace(string(out))
}
