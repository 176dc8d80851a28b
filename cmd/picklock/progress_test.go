package main

import (
	"strings"
	"testing"
	"time"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/history"
)

// The live line tells what it sees and says that it judges nothing: a lock without a
// lease that two hold at once must not look sound until the end.
func TestLiveLine(t *testing.T) {
	now := time.Now()
	p := &progress{phase: "run", began: now.Add(-10 * time.Second), until: now.Add(5 * time.Second), live: checker.NewLive()}
	ok := func(process string, at int64) history.Event {
		return history.Event{Time: at, Process: process, Type: history.OK, F: history.Acquire, Key: "k0", Grant: process + ".1"}
	}
	for _, e := range []history.Event{ok("c1", 1), ok("c2", 2), {Time: 3, Process: "c1", Type: history.Fail, F: history.Write, Key: "k0"}} {
		p.live.Observe(e)
	}
	want := "run: 5s left, judged at the end; seen so far 2 grants (0.2/s), 1 refused, 1 overlapping holders; holder c1,c2, faults none"
	if got := p.line(now); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	p.live.Together, p.live.Anomalies = true, 2
	if got := p.line(now); strings.Contains(got, "overlapping") || !strings.Contains(got, "2 early or out of order") {
		t.Errorf("%q", got)
	}
}
