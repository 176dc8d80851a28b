package scenarios

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

// A fault's word is complete, and is found by its name alone; so is an event.
func TestTables(t *testing.T) {
	words := map[string]bool{}
	for _, w := range faultWordTable {
		if w.name == "" || words[w.name] || w.kind == "" || w.read == nil || (w.requests == nil) == (w.do == nil) {
			t.Errorf("fault %q: no name, one that another has, or nothing that reads or does it", w.name)
		}
		words[w.name] = true
	}
	for _, e := range events {
		if e.text == nil || (e.form == nil) != (e.read == nil) {
			t.Errorf("event %q cannot be named or read", e.what)
		}
		if (e.at != nil || e.wait != nil) == (e.seen != nil) {
			t.Errorf("event %q: want either clients, or servers, or who holds messages to tell of it", e.what)
		}
	}
}

// Of two at one trigger none is late because the other takes its time: where the client waits they
// strike in their order, where it goes on both at once.
func TestTwoAtOneTrigger(t *testing.T) {
	slow := func(s *stage, _ *Runner) {
		s.lands, s.takes["A write"] = 300*time.Millisecond, 900*time.Millisecond
	}
	for when, want := range map[string]string{
		"before A's write": "0s A acquire granted; 1.5s A write ok; 300ms partition A; 600ms clock A",
		"A's write":        "0s A acquire granted; 300ms clock A; 300ms partition A; 900ms A write ok",
	} {
		got := runSchedule(t, "clients:\n  A: acquire, write\n"+strike(when, "cut: A to redis", "9 leases")+more(when, "clock: A +5s", "9 leases"), slow)
		if got.err != nil {
			t.Errorf("%s: %v", when, got.err)
		}
		log := slices.DeleteFunc(got.log, func(l string) bool { return strings.Contains(l, " end ") })
		if slices.Sort(log); strings.Join(log, "; ") != want {
			t.Errorf("%s: done %s\nwant %s", when, strings.Join(log, "; "), want)
		}
	}
}

// What a client has opened is shut by nothing that comes later.
func TestGatesOfADiscardedRunAreOpened(t *testing.T) {
	text := "clients:\n  A: acquire, write\n" + strike("A's write has sent message 1", "cut: A to redis", "") + more("A's write has sent message 2", "pause: A", "")
	count := 0
	got := runSchedule(t, text, func(s *stage, p *Runner) {
		s.messages = 3
		p.stage = &second{Stage: p.stage, count: &count}
	})
	var discarded *DiscardedError
	if !errors.As(got.err, &discarded) || !slices.ContainsFunc(got.log, func(l string) bool { return strings.HasSuffix(l, "open A 1 redis") }) {
		t.Errorf("%v: %q", got.err, got.log)
	}
}

// second is a stage that has one gate.
type second struct {
	Stage
	count *int
}

func (s *second) Gate(ctx context.Context, r GateRequest) (Gate, error) {
	if *s.count++; *s.count > 1 {
		return nil, errors.New("no second door")
	}
	return s.Stage.Gate(ctx, r)
}
