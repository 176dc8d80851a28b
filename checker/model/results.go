package model

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/picklock/picklock/checker"
)

// Results is what Jepsen's checkers say of a run.
type Results struct {
	Valid    checker.Validity
	Checkers []CheckerResult // by name
}

// CheckerResult is what one of them says.
type CheckerResult struct {
	Name  string // the path to it: "workload", "indep/7/linear"
	Valid checker.Validity
	// Linearizable says that it looked for an order of the operations that its model
	// allows, as Check does.
	Linearizable bool
	Key          string // of jepsen.independent, "" for all
}

// ReadResults reads a results.edn: a map with :valid?, and such maps in it.
func ReadResults(r io.Reader, name string) (*Results, error) {
	d := newEDN(r)
	v, err := d.next()
	if err != nil {
		return nil, &LineError{name, d.line, more(err)}
	}
	valid, ok := validity(v)
	if !ok {
		return nil, &LineError{name, v.line, fmt.Errorf("want a map with :valid?, found %.40s", v)}
	}
	out := &Results{Valid: valid}
	out.collect(v, "", "")
	slices.SortFunc(out.Checkers, func(a, b CheckerResult) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// validity is what a result says; false of what is none.
func validity(v value) (checker.Validity, bool) {
	switch valid := v.get("valid?"); {
	case valid.kind == kBool && valid.text == "true":
		return checker.True, true
	case valid.kind == kBool:
		return checker.False, true
	case valid.kind == kKeyword && valid.text == "unknown":
		return checker.Unknown, true
	}
	return checker.Unknown, false
}

// marks are the members that only results of Knossos have.
var marks = []string{"analyzer", "final-paths", "configs"}

// linearizable are the names under which tests put the checker of that name.
var linearizable = []string{"linear", "linearizable", "linearizability", "knossos"}

// collect takes in all results inside of one.
func (r *Results) collect(v value, path, key string) {
	for i := 0; i+1 < len(v.items); i += 2 {
		name, inner := v.items[i].bare(), v.items[i+1]
		if _, ok := validity(inner); ok {
			r.add(inner, strings.TrimPrefix(path+"/"+name, "/"), key)
			continue
		}
		if name != "results" || inner.kind != kMap {
			continue
		}
		for j := 0; j+1 < len(inner.items); j += 2 { // of jepsen.independent: one a key
			k := inner.items[j].String()
			r.add(inner.items[j+1], strings.TrimPrefix(path+"/"+k, "/"), k)
		}
	}
	if path == "" && slices.ContainsFunc(marks, func(m string) bool { return v.get(m).kind != kNil }) {
		r.add(v, "the checker", key) // a test with one checker and no names
	}
}

// add takes in one result and those inside of it.
func (r *Results) add(v value, name, key string) {
	valid, ok := validity(v)
	if !ok {
		return
	}
	last := name[strings.LastIndexByte(name, '/')+1:]
	c := CheckerResult{Name: name, Valid: valid, Key: key}
	c.Linearizable = slices.Contains(linearizable, last) || slices.ContainsFunc(marks, func(m string) bool { return v.get(m).kind != kNil })
	r.Checkers = append(r.Checkers, c)
	if name != "the checker" {
		r.collect(v, name, key)
	}
}

// bare is a keyword or a string without what marks it as one.
func (v value) bare() string {
	if v.kind == kKeyword || v.kind == kString {
		return v.text
	}
	return v.String()
}

// Comparison is how picklock's verdict stands to Jepsen's.
type Comparison struct {
	Jepsen checker.Validity `json:"valid"`
	// Agrees is True where both have decided, and alike; False where they differ.
	Agrees    checker.Validity `json:"agrees"`
	Checkers  []Compared       `json:"checkers"`
	Different []string         `json:"different,omitempty"` // checkers that say something else
}

// Compared is one of Jepsen's checkers.
type Compared struct {
	Name   string           `json:"name"`
	Valid  checker.Validity `json:"valid"`
	Judged bool             `json:"judged"` // by us, too
	Agrees checker.Validity `json:"agrees"` // unknown where one of the two has not decided
}

// Compare says where Jepsen's results agree with a verdict of Check. What Jepsen has
// judged otherwise than by an order of the operations (their speed, their number, the
// service's logs) is outside picklock's verdict.
func (r *Results) Compare(v checker.Verdict) Comparison {
	out := Comparison{Jepsen: r.Valid, Agrees: checker.Unknown, Checkers: []Compared{}}
	broken := map[string]bool{}
	for _, a := range v.Anomalies {
		broken[a.Key] = true
	}
	for _, c := range r.Checkers {
		one := Compared{Name: c.Name, Valid: c.Valid, Judged: c.Linearizable, Agrees: checker.Unknown}
		ours := v.Valid
		if c.Key != "" { // of one object: those without an anomaly hold where all was decided
			switch {
			case broken[c.Key]:
				ours = checker.False
			case ours == checker.False:
				ours = checker.True
			}
		}
		if c.Linearizable && ours != checker.Unknown && c.Valid != checker.Unknown {
			one.Agrees = checker.True
			if ours != c.Valid {
				one.Agrees = checker.False
				out.Different = append(out.Different, c.Name)
			}
		}
		out.Checkers = append(out.Checkers, one)
		switch {
		case one.Agrees == checker.False:
			out.Agrees = checker.False
		case one.Agrees == checker.True && out.Agrees == checker.Unknown:
			out.Agrees = checker.True
		}
	}
	return out
}
