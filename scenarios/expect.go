package scenarios

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/picklock/picklock/checker/verdict"
	"github.com/picklock/picklock/internal/suggest"
)

// Expectation is what must come of a scenario on one lock with one discipline; "*"
// stands for all that are not named.
type Expectation struct {
	Lock, Fencing string
	Must          []string       // anomalies that must appear; none: the verdict must be valid
	May           []string       // anomalies that may
	Not           []string       // anomalies that must not; where there are any, all others may
	Counts        map[string]int // what a count must come to, by its name
}

// Every stands for all that are not named. Among a scenario's locks it stands for
// those that the catalogue does not know: a user's own.
const Every = "*"

// Anomalies are the names that an expectation can use.
var Anomalies = func() (names []string) {
	for _, a := range verdict.Anomalies() {
		names = append(names, a.Name)
	}
	return names
}()

// Expected finds the expectation for a lock and a discipline, nil if there is none.
// What is named comes before what is not, the lock before the discipline.
func (s *Scenario) Expected(lock, fencing string) *Expectation {
	names := []string{lock, Every}
	if Own(lock) {
		names = []string{strings.TrimPrefix(lock, LibraryPrefix), OwnLocks, Every}
	}
	for _, want := range combined(names, []string{fencing, Every}) {
		for i, e := range s.Expect {
			if e.Lock == want[0] && e.Fencing == want[1] {
				return &s.Expect[i]
			}
		}
	}
	return nil
}

// Breaking finds the expectation that an anomaly must appear with a discipline, whatever version of a library's
// lock runs: that of the lock by its name, else of the first version that the file names (NAME@VERSION), else of all
// locks. It is nil if there is none.
func (s *Scenario) Breaking(lock, fencing string) *Expectation {
	names := []string{lock}
	for _, e := range s.Expect {
		if strings.HasPrefix(e.Lock, lock+"@") {
			names = append(names, e.Lock)
		}
	}
	for _, want := range combined(append(names, OwnLocks, Every), []string{fencing, Every}) {
		for i, e := range s.Expect {
			if e.Lock == want[0] && e.Fencing == want[1] && len(e.Must) > 0 {
				return &s.Expect[i]
			}
		}
	}
	return nil
}

func combined(locks, disciplines []string) (out [][2]string) {
	for _, l := range locks {
		for _, d := range disciplines {
			out = append(out, [2]string{l, d})
		}
	}
	return out
}

// AppliesTo says whether the scenario can be run on a lock.
func (s *Scenario) AppliesTo(lock string) bool {
	return slices.Contains(s.Locks, strings.TrimPrefix(lock, LibraryPrefix)) || slices.Contains(s.Locks, Every) && Own(lock)
}

func (e *Expectation) String() string {
	words := slices.Clone(e.Must)
	for _, name := range e.Not {
		words = append(words, "no "+name)
	}
	text := strings.Join(words, ", ")
	if len(words) == 0 {
		text = "valid"
	}
	if len(e.May) > 0 {
		text += " (perhaps " + some(e.May) + ")"
	}
	for _, name := range sortedKeys(e.Counts) {
		text += fmt.Sprintf(", %d %s", e.Counts[name], name)
	}
	return text
}

// maxNamed is how many names stand in a line for a reader.
const maxNamed = 4

// some are the first of many names, and how many more there are: all are in the scenario.
func some(names []string) string {
	if len(names) <= maxNamed {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s or %d others", strings.Join(names[:maxNamed-1], ", "), len(names)-maxNamed+1)
}

// Judge compares a verdict with the expectation: true when it is met, false with
// the reason when it is not, unknown when the run proved too little.
func (e *Expectation) Judge(v verdict.Verdict, counts map[string]int) (verdict.Validity, string) {
	unexpected, missing := e.compare(v)
	switch {
	case len(unexpected) > 0:
		return verdict.False, "not expected: " + strings.Join(unexpected, "; ")
	case len(missing) > 0 && v.Valid == verdict.Unknown:
		return verdict.Unknown, "no " + strings.Join(missing, ", ") + "; " + v.Why
	case len(missing) > 0:
		return verdict.False, "expected, but not seen: " + strings.Join(missing, ", ")
	case len(e.Must) == 0 && len(e.Not) == 0 && v.Valid == verdict.Unknown:
		return verdict.Unknown, v.Why
	}
	if why := e.untried(v); why != "" {
		return verdict.Unknown, why
	}
	for _, name := range sortedKeys(e.Counts) {
		if counts[name] != e.Counts[name] {
			return verdict.False, fmt.Sprintf("%d %s, expected %d", counts[name], name, e.Counts[name])
		}
	}
	return verdict.True, ""
}

// Misses says that something which must be found was not, and that nothing was found which must not be.
func (e *Expectation) Misses(v verdict.Verdict) bool {
	unexpected, missing := e.compare(v)
	return len(unexpected) == 0 && len(missing) > 0
}

// compare tells what was found without being expected, in words, and the names of what must be
// found and was not.
func (e *Expectation) compare(v verdict.Verdict) (unexpected, missing []string) {
	found := map[string]bool{}
	for _, i := range v.ByCause() {
		a := &v.Anomalies[i]
		// No lease keeps belief under a long enough pause: what is not required is
		// not held against the lock, unless it is asked for.
		expected := slices.Contains(e.Must, a.Name) || slices.Contains(e.May, a.Name) || !v.Properties[a.Property].Required
		if len(e.Not) > 0 {
			expected = !slices.Contains(e.Not, a.Name)
		}
		if !found[a.Name] && !expected {
			unexpected = append(unexpected, a.Name+": "+a.Explanation)
		}
		found[a.Name] = true
	}
	for _, name := range e.Must {
		if !found[name] {
			missing = append(missing, name)
		}
	}
	return unexpected, missing
}

// untried says why it is no wonder that what must not appear did not: nothing put the lock to
// that test. What else is unknown of the run is no matter here.
func (e *Expectation) untried(v verdict.Verdict) string {
	if len(e.Not) == 0 {
		return ""
	}
	for _, kind := range sortedKeys(v.Stats.Faults) {
		if f := v.Stats.Faults[kind]; f.Injected > 0 && f.Confirmed == 0 {
			return fmt.Sprintf("fault %s never took effect", kind)
		}
	}
	for _, a := range verdict.Anomalies() {
		if p := v.Properties[a.Property]; slices.Contains(e.Not, a.Name) && p.Valid == verdict.Unknown {
			return fmt.Sprintf("nothing says whether %s was tried: %s: %s", a.Name, a.Property, p.Why)
		}
	}
	return ""
}

// Forbidding is the expectation that anomalies do not appear, whatever else does.
func Forbidding(anomalies []string) (*Expectation, error) {
	for _, name := range anomalies {
		if !slices.Contains(Anomalies, name) {
			return nil, suggest.Unknown("anomaly", name, Anomalies)
		}
	}
	return &Expectation{Lock: Every, Fencing: Every, Not: anomalies}, nil
}

func sortedKeys[V any](m map[string]V) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// expect reads lock -> discipline -> outcome, where one outcome may stand for all
// disciplines of a lock.
func (p *parser) expect(n *yaml.Node) error {
	if n.Kind != yaml.MappingNode {
		return p.errorf(n, `expect: want a mapping of locks, or "*", to what must come of them`)
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		lock, v := n.Content[i], n.Content[i+1]
		if lock.Value == OwnLocks && !slices.Contains(p.s.Locks, Every) {
			return p.errorf(lock, `expect: own speaks of locks that the catalogue does not know: give "*" among the locks`)
		}
		if lock.Value != Every && lock.Value != OwnLocks && !slices.Contains(p.s.Locks, lock.Value) {
			return p.errorf(lock, "expect: %q is not among the scenario's locks%s (%s)", lock.Value, suggest.Word(lock.Value, p.s.Locks), strings.Join(p.s.Locks, ", "))
		}
		if !byDiscipline(v) {
			if err := p.outcome(lock.Value, Every, v); err != nil {
				return err
			}
			continue
		}
		for j := 0; j+1 < len(v.Content); j += 2 {
			fencing := v.Content[j]
			if fencing.Value != Every {
				if err := p.discipline(fencing, fencing.Value); err != nil {
					return err
				}
			}
			if err := p.outcome(lock.Value, fencing.Value, v.Content[j+1]); err != nil {
				return err
			}
		}
	}
	return nil
}

var outcomeFields = []string{"must", "may", "not", "counts"}

// byDiscipline tells a mapping of disciplines from an outcome that is written out.
func byDiscipline(n *yaml.Node) bool {
	return n.Kind == yaml.MappingNode && len(n.Content) > 0 && !slices.Contains(outcomeFields, n.Content[0].Value)
}

func (p *parser) outcome(lock, fencing string, n *yaml.Node) (err error) {
	e := Expectation{Lock: lock, Fencing: fencing}
	if slices.ContainsFunc(p.s.Expect, func(o Expectation) bool { return o.Lock == lock && o.Fencing == fencing }) {
		return p.errorf(n, "expect: lock %s with fencing %s again: it has one expectation", lock, fencing)
	}
	defer func() {
		if err == nil {
			p.s.Expect = append(p.s.Expect, e)
		}
	}()
	if n.Kind != yaml.MappingNode {
		e.Must, err = p.anomalies(n)
		return err
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, v := n.Content[i], n.Content[i+1]
		switch key.Value {
		case "must":
			e.Must, err = p.anomalies(v)
		case "may":
			e.May, err = p.anomalies(v)
		case "not":
			if e.Not, err = p.anomalies(v); err == nil && len(e.Not) == 0 {
				err = p.errorf(v, "not: name the anomalies that must not appear")
			}
		case "counts":
			if err = v.Decode(&e.Counts); err != nil {
				err = p.errorf(v, "counts: want a mapping of names to numbers")
			}
		default:
			err = p.errorf(key, "unknown field %q of an expectation%s (have %s)", key.Value, suggest.Word(key.Value, outcomeFields), strings.Join(outcomeFields, ", "))
		}
		if err != nil {
			return err
		}
	}
	for _, name := range e.Not {
		if slices.Contains(e.Must, name) {
			return p.errorf(n, "%s cannot be both what must appear and what must not", name)
		}
	}
	if len(e.Not) > 0 && len(e.May) > 0 {
		return p.errorf(n, "leave out may: beside not, all anomalies that it does not name may appear")
	}
	return nil
}

func (p *parser) anomalies(n *yaml.Node) ([]string, error) {
	if n.Kind == yaml.ScalarNode && n.Value == "valid" {
		return nil, nil
	}
	names, err := p.words(n)
	if err != nil {
		return nil, err
	}
	for i, name := range names {
		if !slices.Contains(Anomalies, name) {
			return nil, p.errorf(at(n, i), "unknown anomaly %q%s (have valid, or a list of %s)", name, suggest.Word(name, append([]string{"valid"}, Anomalies...)), strings.Join(Anomalies, ", "))
		}
	}
	return names, nil
}
