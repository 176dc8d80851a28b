package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/picklock/picklock/hunt"
)

// outcome is what came of a bug.
type outcome string

// The outcomes.
const (
	found       outcome = "found"       // a counterexample of its kind that the fixed version does not have
	shown       outcome = "shown"       // a counterexample of its kind, and there is no fixed version to compare with
	notFound    outcome = "not found"   // no counterexample of its kind that the fixed version does not have
	unavailable outcome = "unavailable" // it could not be tried
)

// record is what was done for one bug: REPORTED/ID/bug.json.
type record struct {
	ID      string    `json:"id"`
	Outcome outcome   `json:"outcome"`
	Why     string    `json:"why,omitempty"` // it is unavailable
	At      time.Time `json:"at"`
	Limit   float64   `json:"limit"` // s, of the search in each version
	// Runs are the runs of the hunt of the broken version.
	Runs int `json:"runs"`
	// Tested says how many of the schedules with up to one fault that were.
	Tested string `json:"tested"`
	Tried  []try  `json:"tried"` // the counterexamples of its kind that were compared with the fixed version
	// Found is the one of Tried that shows the bug.
	Found *try `json:"found,omitempty"`
	// Other are counterexamples of the broken version of another kind.
	Other []string `json:"other,omitempty"`
	// Accused are the lock bugs that the hunt of the fixed version came to. Each is a false alarm unless
	// it is a bug that the fixed version has, too.
	Accused   []string `json:"accused"`
	FixedRuns int      `json:"fixed_runs"`
}

// try is a counterexample of the broken version, and how often it comes in both.
type try struct {
	Name    string    `json:"name"` // of its file
	Says    string    `json:"says"` // anomaly, cause and faults
	Hazard  bool      `json:"hazard,omitempty"`
	Cause   string    `json:"cause"`   // what picklock says about one run
	Seconds float64   `json:"seconds"` // of the search until it was found
	Faults  int       `json:"faults"`
	Steps   int       `json:"steps"`
	Broken  hunt.Rate `json:"broken"`
	Fixed   hunt.Rate `json:"fixed"`
}

const recordFile = "bug.json"

// errNotDone says of a bug that nothing has been done for it.
var errNotDone = errors.New("nothing was done yet")

// do does what is left to do for a bug; with only, nothing.
func (r runner) do(ctx context.Context, b bug, only bool) (record, error) {
	folder := filepath.Join(r.out, b.ID)
	rec := record{ID: b.ID, At: time.Now().UTC(), Limit: r.time.Seconds()}
	if b.Unavailable != "" {
		rec.Outcome, rec.Why = unavailable, b.Unavailable
		return rec, nil
	}
	var before record
	err := readJSON(filepath.Join(folder, recordFile), &before)
	switch {
	case err == nil && (only || !r.again):
		return before, nil
	case only:
		return rec, errNotDone
	case err != nil && !missing(err):
		return rec, err
	}
	if r.again {
		err = os.RemoveAll(folder)
	} else {
		err = nil
	}
	if err = errors.Join(err, os.MkdirAll(folder, 0o755)); err != nil {
		return rec, err
	}
	fmt.Fprintf(os.Stderr, "%s: hunt %s, then %s\n", b.ID, b.at(b.Broken), orNone(b.Fixed))
	if err := r.compare(ctx, b, folder, &rec); err != nil {
		return rec, err
	}
	fmt.Fprintf(os.Stderr, "%s: %s\n", b.ID, rec.Outcome)
	return rec, writeJSON(filepath.Join(folder, recordFile), rec)
}

func orNone(version string) string {
	if version == "" {
		return "no other: no fixed version is released"
	}
	return version
}

// compare hunts the broken version, runs what it found on the fixed one, and hunts that.
func (r runner) compare(ctx context.Context, b bug, folder string, rec *record) error {
	for _, version := range []string{b.Broken, b.Fixed} {
		if version == "" {
			continue
		}
		if _, err := r.call(ctx, folder, "build@"+version, append([]string{"lock", "build"}, b.build(version)...)...); err != nil {
			if ctx.Err() == nil {
				rec.Outcome, rec.Why = unavailable, "it cannot be built: "+err.Error()
				return nil
			}
			return err
		}
	}
	result, err := r.hunt(ctx, b, b.Broken, folder, "broken")
	if err != nil {
		return err
	}
	rec.Runs, rec.Tested = result.Runs, covered(result)
	rec.Outcome = notFound
	mine := ofKind(result, r.kinds[b.Kind])
	for _, w := range result.Counterexamples {
		if !contains(mine, w) {
			rec.Other = append(rec.Other, w.String())
		}
	}
	var failed error
	for _, w := range mine {
		t, err := r.try(ctx, b, w, folder)
		if ctx.Err() != nil {
			return err
		}
		if err != nil { // another may show it
			failed = errors.Join(failed, fmt.Errorf("replay %s: %w", w.Name, err))
			continue
		}
		rec.Tried = append(rec.Tried, t)
		if t.shows(b) {
			rec.Found, rec.Outcome = &t, found
			if b.Fixed == "" {
				rec.Outcome = shown
			}
			break
		}
	}
	if rec.Found == nil && failed != nil {
		return failed // nobody knows whether it is found
	}
	if b.Fixed == "" {
		return nil
	}
	fixed, err := r.hunt(ctx, b, b.Fixed, folder, "fixed")
	if err != nil {
		return err
	}
	rec.FixedRuns = fixed.Runs
	rec.Accused = []string{}
	for _, w := range fixed.Counterexamples {
		if !w.Hazard() {
			rec.Accused = append(rec.Accused, w.String())
		}
	}
	return nil
}

// covered says how much of the space with no more than one fault a hunt ran.
func covered(r *hunt.Result) string {
	ran, space := 0, 0
	for _, d := range r.Depths {
		if d.Faults <= 1 {
			ran, space = ran+d.Ran, space+d.Space
		}
	}
	return fmt.Sprintf("%d of %d", ran, space)
}

func contains(all []*hunt.Counterexample, one *hunt.Counterexample) bool {
	for _, w := range all {
		if w == one {
			return true
		}
	}
	return false
}

// few is how often a counterexample is replayed on the fixed version before it is replayed as often as
// was asked for: mostly that is enough to see that it comes there, too.
const few = 3

// try replays a counterexample on both versions.
func (r runner) try(ctx context.Context, b bug, w *hunt.Counterexample, folder string) (try, error) {
	t := try{Name: w.Name, Says: w.String(), Hazard: w.Hazard(), Cause: w.Explanation, Seconds: w.FirstSecond, Faults: w.Faults, Steps: w.Steps, Broken: w.Alone}
	var err error
	if b.Fixed != "" {
		if t.Fixed, err = r.replay(ctx, b, b.Fixed, w, folder, few); err != nil || t.Fixed.Hits > 0 {
			return t, err
		}
		if t.Fixed, err = r.replay(ctx, b, b.Fixed, w, folder, r.replays); err != nil || t.Fixed.Hits > 0 {
			return t, err
		}
	}
	if t.Broken.Runs < r.replays { // the hunt had no time for all of them
		t.Broken, err = r.replay(ctx, b, b.Broken, w, folder, r.replays)
	}
	return t, err
}

// shows says that a counterexample shows the bug: it comes in the broken version, and never in the
// fixed one, which is not by chance.
func (t try) shows(b bug) bool {
	if b.Fixed == "" {
		return !t.Hazard && t.Broken.Hits > 0
	}
	return t.Fixed.Runs > 0 && t.Fixed.Hits == 0 && chance(t.Broken, t.Fixed) < 0.05
}

// chance is how probable it is that all hits fall on the broken version if both versions are alike:
// Fisher's exact test, one-sided (R. A. Fisher, On the interpretation of chi-squared from contingency
// tables, and the calculation of P, 1922). The fixed version has no hits.
func chance(broken, fixed hunt.Rate) float64 {
	log := 0.0
	for i := range broken.Hits {
		log += math.Log(float64(broken.Runs-i)) - math.Log(float64(broken.Runs+fixed.Runs-i))
	}
	return math.Exp(log)
}
