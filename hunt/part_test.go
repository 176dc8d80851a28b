package hunt

import (
	"encoding/json"
	"slices"
	"testing"
	"time"
)

// Every place is in one part, however the space is divided.
func TestParts(t *testing.T) {
	on := target(1, 1)
	n := on.Size(1)
	var slicesOf []Part
	for at := 0; at < n; at += 100 {
		slicesOf = append(slicesOf, Part{First: at, End: at + 100})
	}
	for name, parts := range map[string][]Part{
		"one": {{}}, "three shards": {{First: 0, Step: 3}, {First: 1, Step: 3}, {First: 2, Step: 3}}, "slices": slicesOf,
	} {
		t.Run(name, func(t *testing.T) {
			var all []string
			for _, part := range parts {
				for p := range portionOf(on, 1, part) {
					if !p.same {
						all = append(all, key(p.schedule))
					}
				}
			}
			slices.Sort(all)
			if len(all) != n || len(slices.Compact(all)) != n {
				t.Fatalf("%d places, %d of them different, want %d", len(all), len(slices.Compact(all)), n)
			}
		})
	}
}

// portions are what a model comes to, part by part, each written and read.
func portions(t *testing.T, m func() *model, o Options, parts ...Part) []Portion {
	t.Helper()
	var out []Portion
	for _, part := range parts {
		o.Part = part
		h, _ := search(t, m(), o, 2)
		b, err := json.Marshal(h.Portion())
		if err != nil {
			t.Fatal(err)
		}
		var p Portion
		if err := json.Unmarshal(b, &p); err != nil {
			t.Fatal(err)
		}
		out = append(out, p)
	}
	return out
}

func TestPortionsMakeTheWhole(t *testing.T) {
	m := func() *model {
		return &model{bugs: []bug{
			{"granted-early", "clock", both(struck("pause", "A"), struck("kill", "B"))},
			{"stale-write", "renewed-late", struck("hold", "")},
		}}
	}
	o := Options{Target: target(1, 1, "pause", "kill", "hold"), Depth: 2}
	_, whole := search(t, m(), o, 2)
	parts := []Part{{First: 0, Step: 3}, {First: 1, Step: 3}, {First: 2, Step: 3}}
	h := Assemble(o, portions(t, m, o, parts...))
	got := h.Result()
	if want := counterexampleNames(whole); len(want) == 0 || !slices.Equal(counterexampleNames(got), want) {
		t.Fatalf("counterexamples %q, the whole has %q", counterexampleNames(got), want)
	}
	for i, d := range got.Depths {
		// Pairs that contain a sufficient fault are left out: a part knows only of its own.
		if w := whole.Depths[i]; i < 2 && d != w || !d.Done || d.Ran < w.Ran {
			t.Errorf("%d faults: %+v, the whole has %+v", i, d, w)
		}
	}
	if got.Runs < whole.Runs || len(got.Curve) == 0 || got.Curve[len(got.Curve)-1].Runs > got.Runs {
		t.Errorf("%d runs, the curve ends with %+v; the whole has %d", got.Runs, got.Curve[len(got.Curve)-1], whole.Runs)
	}
	if err := h.Finish(t.Context(), []Runner{m()}, FinishOptions{Replays: 3}); err != nil {
		t.Fatal(err)
	}
	for _, w := range h.Result().Counterexamples {
		if w.Alone != (Rate{Hits: 3, Runs: 3}) || w.Faults > 2 {
			t.Errorf("%s: %d faults, %+v", w, w.Faults, w.Alone)
		}
	}
}

// A depth is done if every portion is done with it, and those that did not look at the space
// say nothing of it.
func TestAssembledDepths(t *testing.T) {
	o := Options{Target: target(1, 1), Depth: 1}
	part := func(done bool) Portion {
		return Portion{Result: Result{Depths: []Depth{{Faults: 0, Ran: 2, Done: true}, {Faults: 1, Ran: 3, Done: done}}}}
	}
	guided := Portion{Result: Result{Guided: 5, Runs: 7}}
	for name, c := range map[string]struct {
		portions []Portion
		done     bool
	}{
		"all":            {[]Portion{part(true), guided, part(true)}, true},
		"the last not":   {[]Portion{part(true), part(false)}, false},
		"the first not":  {[]Portion{part(false), part(true)}, false},
		"guided only":    {[]Portion{guided}, false},
		"guided first":   {[]Portion{guided, part(true)}, true},
		"none at all":    {nil, false},
		"not, and after": {[]Portion{part(false), guided, part(true)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Assemble(o, c.portions).Result().Depths[1].Done; got != c.done {
				t.Fatalf("done %v, want %v", got, c.done)
			}
		})
	}
}

// A fault that could not be done in one part and struck in another can be done.
func TestImpossibleEverywhere(t *testing.T) {
	o := Options{Target: target(1, 1), Depth: 1}
	gone := map[string]string{"fault disk: redis": "no disk", "fault reset: A": "no connection"}
	at := time.Unix(0, 0)
	h := Assemble(o, []Portion{
		{Result: Result{Started: at}, Infeasible: gone}, {Result: Result{Started: at.Add(time.Second)}, Confirmed: []string{"reset: A"}},
	})
	if got := h.Result().Infeasible; len(got) != 1 || got[0] != "disk: redis: no disk" {
		t.Fatalf("impossible: %q", got)
	}
}

// No part of the space: only what is drawn.
func TestNoSpace(t *testing.T) {
	m := &model{}
	m.after = func(runs int) {
		if runs == 20 {
			m.dead = true
		}
	}
	_, r := search(t, m, Options{Target: target(1, 1), Depth: -1, Strategy: Guided, Time: 50 * time.Millisecond}, 1)
	if len(r.Depths) != 0 || r.Guided == 0 {
		t.Fatalf("%d guided, depths %+v", r.Guided, r.Depths)
	}
	if n := target(1, 1).Size(-1); n != 0 {
		t.Fatalf("%d places in no space", n)
	}
}

// TestUneven: what one machine could not do and another could was run by nobody where the
// first passed it over. That nothing broke proves nothing then.
func TestUneven(t *testing.T) {
	o := Options{Target: target(1, 1), Depth: 1}
	whole := func(p Portion) Portion {
		p.Result.Runs, p.Result.Granted = 10, 10
		p.Result.Depths = []Depth{{Faults: 0, Ran: 1, Done: true}, {Faults: 1, Ran: 9, Done: true}}
		return p
	}
	can := whole(Portion{Confirmed: []string{"cut: A from servers"}})
	cannot := whole(Portion{Infeasible: map[string]string{"fault cut: A from servers": "no namespaces"}, Skipped: map[string]int{"cut: A from servers": 7}})
	tried := whole(Portion{Infeasible: map[string]string{"fault cut: A from servers": "it was idle"}})
	for _, c := range []struct {
		name     string
		portions []Portion
		proved   bool
	}{
		{"one could not", []Portion{can, cannot}, false},
		{"the other way round", []Portion{cannot, can}, false},
		{"nobody could: it is told as impossible", []Portion{cannot, cannot}, true},
		{"all could", []Portion{can, can}, true},
		{"nothing was passed over", []Portion{can, tried}, true},
	} {
		r := Assemble(o, c.portions).Result()
		if (r.Unproved() == "") != c.proved || r.Depths[1].Done != c.proved || !r.Depths[0].Done {
			t.Errorf("%s: %q, %+v, want it proved: %v", c.name, r.Unproved(), r.Depths, c.proved)
		}
	}
}

// TestSkippedIsCounted: a search says what it passed over.
func TestSkippedIsCounted(t *testing.T) {
	o := Options{Target: target(1, 1, "pause"), Strategy: Exhaustive, Depth: 1, Infeasible: map[string]string{"fault pause: A": "not here"}}
	h, r := search(t, &model{}, o, 1)
	n := h.Portion().Skipped["pause: A"]
	if n == 0 || r.Depths[1].Ran+n != o.Target.Size(1)-o.Target.Size(0) {
		t.Errorf("%d run, %d passed over, of %d", r.Depths[1].Ran, n, o.Target.Size(1)-o.Target.Size(0))
	}
}
