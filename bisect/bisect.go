// Package bisect finds the version of a library at which a counterexample begins or ceases to show. It
// knows versions and outcomes, and neither locks nor registries.
package bisect

import (
	"context"
	"fmt"
	"slices"

	"github.com/picklock/picklock/internal/suggest"
)

// Outcome is what came of the counterexample on one version.
type Outcome struct {
	Version   string  `json:"version"`
	Hits      int     `json:"hits"` // runs that showed it
	Runs      int     `json:"runs"` // without those that were discarded
	Discarded int     `json:"discarded"`
	Low       float64 `json:"low"` // where the true rate lies, at 95 %
	High      float64 `json:"high"`
	// Skipped is why the version says nothing, or "": its client cannot be built, or too few runs counted.
	Skipped string `json:"skipped,omitempty"`
}

// Shows says whether the counterexample shows: one run is a proof.
func (o Outcome) Shows() bool { return o.Hits > 0 }

// Result is what a search has found.
type Result struct {
	// First is the first version whose outcome is that of the last one, and Before the version before it that
	// was tried. Both are nil if the first and the last version have the same outcome.
	First  *Outcome `json:"first,omitempty"`
	Before *Outcome `json:"before,omitempty"`
	// Between are versions between the two that say nothing: the change may be in any of them.
	Between []string  `json:"between,omitempty"`
	Tried   []Outcome `json:"tried"` // in the order in which they were tried
}

// Between are the versions from one to another, both included, in order. Those that come before a
// release (rc, beta) are left out unless they are one of the two.
func Between(versions []string, from, to string) ([]string, error) {
	for _, end := range []string{from, to} {
		if !slices.Contains(versions, end) {
			return nil, fmt.Errorf("the registry has no version %s%s", end, suggest.Word(end, versions))
		}
	}
	if Compare(from, to) >= 0 {
		return nil, fmt.Errorf("--from %s is not before --to %s", from, to)
	}
	var out []string
	for _, v := range versions {
		inside := Compare(from, v) < 0 && Compare(v, to) < 0 && !early(v)
		if inside || v == from || v == to {
			out = append(out, v)
		}
	}
	slices.SortFunc(out, Compare)
	return slices.Compact(out), nil
}

// Search tries the first and the last version, and halves what is between them for as long as the two differ.
// A version that says nothing is passed over for one beside it. An error of try ends the search.
func Search(ctx context.Context, versions []string, try func(ctx context.Context, version string) (Outcome, error)) (Result, error) {
	var r Result
	known := map[int]Outcome{}
	ask := func(i int) (Outcome, error) {
		if o, ok := known[i]; ok {
			return o, nil
		}
		o, err := try(ctx, versions[i])
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return o, err
		}
		known[i] = o
		r.Tried = append(r.Tried, o)
		return o, nil
	}
	low, high := 0, len(versions)-1
	before, err := ask(low)
	if err != nil || before.Skipped != "" {
		return r, err
	}
	first, err := ask(high)
	if err != nil || first.Skipped != "" || before.Shows() == first.Shows() {
		return r, err
	}
	for {
		i, o, err := near(low, high, ask)
		if err != nil {
			return r, err
		}
		if i < 0 {
			break
		}
		if o.Shows() == before.Shows() {
			low, before = i, o
		} else {
			high, first = i, o
		}
	}
	r.First, r.Before, r.Between = &first, &before, versions[low+1:high]
	return r, nil
}

// near is the version nearest to the middle between two that says something; -1 if there is none.
func near(low, high int, ask func(int) (Outcome, error)) (int, Outcome, error) {
	middle := (low + high) / 2
	for far := 0; middle-far > low || middle+far < high; far++ {
		for _, i := range []int{middle - far, middle + far} {
			if i <= low || i >= high {
				continue
			}
			if o, err := ask(i); err != nil || o.Skipped == "" {
				return i, o, err
			}
		}
	}
	return -1, Outcome{}, nil
}
