package model

import (
	"context"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/history"
)

// TestKindsAgree: of a history without leases, faults and doubt, belief and exclusion say of
// each kind of lock what its model says; unknown only where nothing was tried.
func TestKindsAgree(t *testing.T) {
	for name, kind := range map[string]struct {
		permits int64
		mode    string
		nests   bool
	}{
		"semaphore:1": {permits: 1}, "semaphore:2": {permits: 2}, "semaphore:3": {permits: 3},
		"rw-lock": {mode: history.Shared}, "reentrant-mutex": {nests: true}, "owner-mutex": {},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := Named(name)
			if err != nil {
				t.Fatal(err)
			}
			good, bad := 0, 0
			rapid.Check(t, func(t *rapid.T) {
				var events []history.Event
				// Each process's events in their order; which is next is drawn.
				var lines [][]history.Event
				for p := range rapid.IntRange(max(2, int(kind.permits)), 5).Draw(t, "processes") {
					var line []history.Event
					n := 0
					c := fmt.Sprintf("c%d", p+1)
					take := func(mode string) func() {
						n++
						e := history.Event{Process: c, Type: history.Invoke, F: history.Acquire, Key: "k", Mode: mode, Permits: kind.permits}
						line = append(line, e)
						e.Type, e.Grant = history.OK, fmt.Sprintf("%s.%d", c, n)
						line = append(line, e)
						r := history.Event{Process: c, Type: history.Invoke, F: history.Release, Key: "k", Grant: e.Grant}
						return func() {
							line = append(line, r)
							r.Type = history.OK
							line = append(line, r)
						}
					}
					for range rapid.IntRange(1, 2).Draw(t, "holds") {
						mode := ""
						if kind.mode != "" && rapid.Bool().Draw(t, "shares") {
							mode = kind.mode
						}
						end := take(mode)
						if kind.nests && rapid.Bool().Draw(t, "enters") {
							take(history.Nested)()
						}
						end()
					}
					lines = append(lines, line)
				}
				for len(lines) > 0 {
					i := rapid.IntRange(0, len(lines)-1).Draw(t, "next")
					e := lines[i][0]
					e.Index, e.Time = int64(len(events)), int64(len(events)+1)
					events = append(events, e)
					if lines[i] = lines[i][1:]; len(lines[i]) == 0 {
						lines = append(lines[:i], lines[i+1:]...)
					}
				}
				h, err := FromEvents(events, func(i int) int { return i + 1 }, m, "h")
				if err != nil {
					t.Fatal(err)
				}
				v, err := Check(context.Background(), h, m, Options{})
				if err != nil {
					t.Fatal(err)
				}
				own := checker.Check(checker.Input{Events: events})
				for _, name := range []string{checker.Belief, checker.Exclusion} {
					p := own.Properties[name]
					untried := p.Valid == checker.Unknown && v.Valid == checker.True && (own.Stats.Contested == 0 || name == checker.Exclusion)
					if v.Valid != p.Valid && !untried {
						t.Fatalf("the model says %v, %s %v (%s)\n%+v", v.Valid, name, p.Valid, p.Why, events)
					}
				}
				if v.Valid == checker.True {
					good++
				} else {
					bad++
				}
			})
			if min(good, bad) == 0 && !testing.Short() {
				t.Errorf("%d good and %d bad histories: the test sees one side only", good, bad)
			}
		})
	}
}
