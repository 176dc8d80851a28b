package checker

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/picklock/picklock/history"
)

// lax are histories of the corpus that a file could not hold: they are about what is
// made of a history that is not whole, which evidence cut down to their events are.
var lax = map[string]string{
	"granted-early-foreign-almost":             `names grant "c1.1", which was given to "c1"`,         // renewed by another
	"granted-early-released-twice":             "without having invoked it before",                    // a release that nobody announced
	"granted-early-since-almost":               "begins at 900000000 (since), after the event itself", // a client that reads another clock
	"granted-early-unannounced-release-almost": "without having invoked it before",
	"nonlinearizable-twice":                    "its write of event 2 is still open",          // given up, and answered later
	"starvation-killed-almost":                 "its acquire of event 2 is still open",        // killed by nobody that the history knows of
	"two-holders-killed-before":                "ends without having begun before",            // a history without its beginning
	"two-holders-without-ids":                  `was granted key "k0" without a name`,         // operations found by their lock
	"unknown-stray":                            `names grant "c1.1", which was given to "c1"`, // an operation that nobody asked for
}

// TestCorpusIsSound: the histories that the checker is tested with are histories that
// it would take from a file, or say why not.
func TestCorpusIsSound(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no corpus: %v", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := sound(script(t, string(text))); err != nil {
			got = err.Error()
		}
		if want, ok := lax[name]; ok != (got != "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// TestSimulatedAreSound: whatever a sound or unsound lock does, its clients' history is
// one that files may hold.
func TestSimulatedAreSound(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := simulate(rt, rapid.Bool().Draw(rt, "sound"), rapid.Bool().Draw(rt, "tokens"), rapid.Bool().Draw(rt, "fencing"), rapid.Bool().Draw(rt, "leases"))
		w.in = givenUp(w.in)
		if err := sound(w.in); err != nil {
			rt.Fatalf("%v\n%s", err, dump(w))
		}
	})
}

func sound(in Input) error {
	var v history.Validator
	for i := range in.Events {
		if err := v.Check(&in.Events[i]); err != nil {
			return err
		}
	}
	return nil
}

// givenUp completes, with info, what simulated clients leave open when they go on.
func givenUp(in Input) Input {
	type id struct{ process, f, grant string }
	open := map[id]history.Event{}
	var events []history.Event
	for _, e := range in.Events {
		at := id{e.Process, e.F, e.Grant}
		if old, ok := open[at]; ok && e.Type == history.Invoke {
			old.Type, old.Time, old.Value = history.Info, e.Time, ""
			events = append(events, old)
		}
		if delete(open, at); e.Type == history.Invoke && e.F != history.Acquire {
			open[at] = e
		}
		events = append(events, e)
	}
	for i := range events {
		events[i].Index = int64(i)
	}
	in.Events = events
	return in
}

// BenchmarkSound is what the validator adds to the reading of a history.
func BenchmarkSound(b *testing.B) {
	in := validHistory(100_000, 50, 1)
	b.ReportAllocs()
	for b.Loop() {
		if err := sound(in); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(in.Events)), "ns/event")
}
