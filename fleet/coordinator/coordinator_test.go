package coordinator

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/clients/all"
	"github.com/picklock/picklock/fleet"
	"github.com/picklock/picklock/fleet/stream"
	"github.com/picklock/picklock/fleet/stream/streamtest"
	"github.com/picklock/picklock/hunt"
	"github.com/picklock/picklock/results"
)

// left is what nats.go 1.55 leaves behind if a publisher is cleaned up before this function has
// read which channel to wait for.
const left = "github.com/nats-io/nats.go/jetstream.(*jetStream).resetPendingAcksOnReconnect"

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, goleak.IgnoreTopFunction(left)) }

const file = `
name: x
tasks:
  - hunt: {locks: [redis], ttl: 250ms, max-faults: 0, finish: 1s}
  - matrix: {locks: [redis, etcd], scenarios: [pause-holder], fencing: [none], count: 2}
`

// inSlices is in how many slices a hunt is searched in most tests, however many schedules its space has.
const inSlices = 3

func plan(t *testing.T, text string, parts int) []fleet.Job {
	t.Helper()
	c, err := fleet.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	jobs, err := c.Jobs(t.Context(), all.Locks())
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range jobs {
		if h := j.Hunt; h != nil {
			h.Slice = (h.Size() + parts - 1) / parts
		}
	}
	return jobs
}

// work finishes enough items, with the results that answer gives.
func work(t *testing.T, q *stream.Queue, jobs, enough int, answer func(i fleet.Item, r *fleet.Result) *fleet.Payload) error {
	t.Helper()
	ctx := t.Context()
	for done := 0; done < enough; {
		c, err := q.Open(ctx, "x-1")
		if err != nil {
			time.Sleep(5 * time.Millisecond) // the coordinator has not made it yet
			continue
		}
		for n := 0; n < jobs && done < enough; n++ {
			taken, err := c.Take(ctx, n, 20*time.Millisecond)
			if err != nil {
				return err
			}
			if taken == nil {
				continue
			}
			r := fleet.Result{Worker: "w", Started: time.Now(), Seconds: 1, Runs: 3}
			p := answer(taken.Item, &r)
			if err := taken.Done(ctx, r, p); err != nil {
				return err
			}
			done++
		}
	}
	return nil
}

// both waits for work, unless the coordinator failed: then no item follows.
func both(t *testing.T, err error, worked <-chan error) error {
	t.Helper()
	if err != nil {
		return err
	}
	return <-worked
}

func portion(i fleet.Item) *fleet.Payload {
	p := hunt.Portion{Result: hunt.Result{Lock: "redis", Fencing: "none", Runs: i.End - i.First, Granted: i.End - i.First, Depths: []hunt.Depth{{Space: i.End - i.First, Ran: i.End - i.First, Done: true}}}}
	return &fleet.Payload{Portion: &p}
}

// found is a counterexample as a finish leaves it, or with its replays.
func found(number, hits int) *hunt.Counterexample {
	return &hunt.Counterexample{
		Signature: hunt.Signature{Anomaly: "granted-early", Kinds: []string{fmt.Sprint(number)}}, Name: fmt.Sprintf("counterexample-%d-granted-early", number),
		Search: hunt.Rate{Hits: 4, Runs: 4}, Alone: hunt.Rate{Hits: hits, Runs: min(hits, 1) * 10},
		Schedule: "name: s\nabout: a\nlocks: [redis]\nclients:\n  A: acquire, release\nexpect:\n  redis: {none: valid}\n",
	}
}

// usual answers like workers that find counterexamples, and whose second run of a cell fails.
func usual(i fleet.Item, r *fleet.Result) *fleet.Payload {
	switch i.Kind {
	case fleet.Slice:
		return portion(i)
	case fleet.Finish:
		return &fleet.Payload{Hunt: &hunt.Result{Lock: "redis", Fencing: "none", Runs: len(i.Objects), Granted: 1, Depths: []hunt.Depth{{Space: len(i.Objects), Ran: len(i.Objects), Done: true}},
			Counterexamples: []*hunt.Counterexample{found(1, 0), found(2, 0)}}, Finds: []hunt.Find{{Counterexample: found(1, 0)}, {Counterexample: found(2, 0)}}}
	case fleet.Measure:
		return &fleet.Payload{Finds: []hunt.Find{{Counterexample: found(i.Number+1, 9+i.Number)}}}
	}
	cell := results.Cell{Runs: 1, Clean: 1, Met: checker.True, Valid: checker.True, Scenario: "another", Dir: "../../etc"}
	if i.Number%2 == 1 {
		cell.Clean, cell.Met, cell.Valid, cell.Broken = 0, checker.False, checker.False, []string{"granted-early"}
		return &fleet.Payload{Cell: &cell, Report: []byte("<p>report</p>")}
	}
	return &fleet.Payload{Cell: &cell}
}

func TestCampaign(t *testing.T) {
	s := streamtest.Serve(t)
	jobs := plan(t, file, inSlices)
	var last Progress
	over := make(chan error, 1)
	go func() { over <- work(t, streamtest.Connect(t, s), len(jobs), inSlices+1+2+4, usual) }()
	out, err := Run(t.Context(), Options{Queue: streamtest.Connect(t, s), ID: "x-1", Name: "x", Jobs: jobs, OnProgress: func(p Progress) { last = p }})
	if err := both(t, err, over); err != nil {
		t.Fatal(err)
	}
	c, err := streamtest.Connect(t, s).Open(t.Context(), "x-1")
	if err != nil {
		t.Fatal(err)
	}
	if kept, err := c.Reported(t.Context()); err != nil || kept == nil || kept.Valid() != checker.False || len(kept.Jobs) != 2 {
		t.Errorf("the report on the queue is %+v, %v", kept, err)
	}
	if last.Done != 10 || last.Items != 10 || last.Runs != 30 || last.Found != 0 {
		t.Errorf("the last progress is %+v", last)
	}
	dir := t.TempDir()
	if err := out.Write(dir); err != nil {
		t.Fatal(err)
	}
	r, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if r.Valid() != checker.False || r.Jobs[0].Valid != checker.False || r.Jobs[0].Findings[0].What != "granted-early" || r.Jobs[0].Items != 6 {
		t.Errorf("%+v", r.Jobs[0])
	}
	if f := r.Jobs[0].Findings; len(f) != 2 || f[0].Rate != "9 of 10" || f[1].Rate != "10 of 10" {
		t.Errorf("what was measured is not there: %+v", f)
	}
	m := r.Jobs[1]
	if m.Valid != checker.False || len(m.Findings) != 2 || m.Findings[0].Rate != "1 of 2" || m.Findings[0].Of != "pause-holder, etcd, none" {
		t.Errorf("%+v", m)
	}
	for _, name := range []string{"junit.xml", "jobs/001/hunt.html", "jobs/001/counterexamples/counterexample-1-granted-early.yaml", "jobs/002/matrix.html", "jobs/002/cells/1/2/report.html", "jobs/002/cells/2/4/report.html"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	if r.Jobs[0].Folder != "jobs/001" || r.Jobs[0].Page != "hunt.html" {
		t.Errorf("the hunt's page is %s in %s", r.Jobs[0].Page, r.Jobs[0].Folder)
	}
}

// TestStartedAgain: a coordinator that ends in the middle continues, and no item runs twice.
func TestStartedAgain(t *testing.T) {
	s := streamtest.Serve(t)
	jobs := plan(t, file, inSlices)
	var mu sync.Mutex
	seen := map[string]int{}
	answer := func(i fleet.Item, r *fleet.Result) *fleet.Payload {
		mu.Lock()
		defer mu.Unlock()
		seen[i.ID()]++
		return usual(i, r)
	}
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan error, 1)
	go func() { over <- work(t, streamtest.Connect(t, s), len(jobs), 3, answer) }()
	_, err := Run(ctx, Options{Queue: streamtest.Connect(t, s), ID: "x-1", Name: "x", Jobs: jobs, OnProgress: func(p Progress) {
		if p.Done == 3 {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("%v, want that it was cancelled", err)
	}
	if err := <-over; err != nil {
		t.Fatal(err)
	}
	go func() { over <- work(t, streamtest.Connect(t, s), len(jobs), 7, answer) }()
	out, err := Run(t.Context(), Options{Queue: streamtest.Connect(t, s), ID: "x-1", Name: "x", Jobs: jobs})
	if err := both(t, err, over); err != nil {
		t.Fatal(err)
	}
	for id, n := range seen {
		if n != 1 {
			t.Errorf("%s was done %d times", id, n)
		}
	}
	if len(seen) != 10 || len(out.Report.Jobs[1].Findings) != 2 {
		t.Errorf("%d items, %+v", len(seen), out.Report.Jobs)
	}
}

// TestDeadLetters: a dead-lettered item makes a job unknown, and the report lists it.
func TestDeadLetters(t *testing.T) {
	s := streamtest.Serve(t)
	jobs := plan(t, strings.ReplaceAll(file, ", count: 2", ""), inSlices)
	over := make(chan error, 1)
	go func() {
		over <- work(t, streamtest.Connect(t, s), len(jobs), inSlices+1+2, func(i fleet.Item, r *fleet.Result) *fleet.Payload {
			switch {
			case i.Kind == fleet.Slice && i.Number == 1, i.Kind == fleet.Run && i.Number == 1:
				r.DeadLetter = "no redis"
				return nil
			case i.Kind == fleet.Finish:
				return &fleet.Payload{Hunt: &hunt.Result{Runs: len(i.Objects), Granted: 1, Depths: []hunt.Depth{{Space: len(i.Objects), Ran: len(i.Objects), Done: true}}}}
			}
			return usual(i, r)
		})
	}()
	out, err := Run(t.Context(), Options{Queue: streamtest.Connect(t, s), ID: "x-1", Name: "x", Jobs: jobs})
	if err := both(t, err, over); err != nil {
		t.Fatal(err)
	}
	for _, j := range out.Report.Jobs {
		if j.Valid != checker.Unknown || len(j.DeadLetters) != 1 || j.DeadLetters[0].Why != "no redis" {
			t.Errorf("%+v", j)
		}
	}
	if out.Hunts[0].Depths[0].Done || out.Hunts[0].Runs != 2 {
		t.Errorf("a slice is missing, and the hunt says %+v", out.Hunts[0])
	}
	if c := out.Cells[1].Cells[1]; c.State() != results.LeftOut || !strings.Contains(c.LeftOut, "no redis") {
		t.Errorf("%+v", c)
	}
}

// TestUnreadableObjects: a result whose object cannot be read makes an error of its item alone.
func TestUnreadableObjects(t *testing.T) {
	s := streamtest.Serve(t)
	jobs := plan(t, strings.ReplaceAll(file, ", count: 2", ""), inSlices)
	over := make(chan error, 1)
	go func() {
		over <- work(t, streamtest.Connect(t, s), len(jobs), inSlices+1+2, func(i fleet.Item, r *fleet.Result) *fleet.Payload {
			switch {
			case i.Kind == fleet.Slice && i.Number == 1:
				return &fleet.Payload{} // it is no portion
			case i.Kind == fleet.Run && i.Number == 1:
				r.Object = "gone" // without a payload, nobody stores it
				return nil
			case i.Kind == fleet.Finish:
				return &fleet.Payload{Hunt: &hunt.Result{Runs: len(i.Objects), Granted: 1, Depths: []hunt.Depth{{Space: len(i.Objects), Ran: len(i.Objects), Done: true}}}}
			}
			return usual(i, r)
		})
	}()
	out, err := Run(t.Context(), Options{Queue: streamtest.Connect(t, s), ID: "x-1", Name: "x", Jobs: jobs})
	if err := both(t, err, over); err != nil {
		t.Fatal(err)
	}
	for _, j := range out.Report.Jobs {
		if j.Valid != checker.Unknown || len(j.DeadLetters) != 1 || !strings.Contains(j.DeadLetters[0].Why, "cannot be read") {
			t.Errorf("%+v", j)
		}
	}
	if out.Hunts[0].Runs != 2 || out.Hunts[0].Depths[0].Done {
		t.Errorf("the finish got the unreadable portion: %+v", out.Hunts[0])
	}
	if c := out.Cells[1].Cells; c[0].State() == results.LeftOut || c[1].State() != results.LeftOut {
		t.Errorf("%+v", c)
	}
}

// TestUnmeasured: a counterexample without replays stays as it was found, and the report says so. If
// the time for counterexamples is over, workers skip the rest.
func TestUnmeasured(t *testing.T) {
	s := streamtest.Serve(t)
	jobs := plan(t, "name: x\ntasks: [{hunt: {locks: [redis], ttl: 250ms, max-faults: 0, finish: 10s}}]", 1)
	q := streamtest.Connect(t, s)
	over := make(chan error, 1)
	go func() {
		over <- work(t, q, 1, 4, func(i fleet.Item, r *fleet.Result) *fleet.Payload {
			switch {
			case i.Kind == fleet.Measure && i.Number == 0:
				r.Seconds = 11
			case i.Kind == fleet.Measure:
				r.Skipped = true
				return nil
			}
			return usual(i, r)
		})
	}()
	out, err := Run(t.Context(), Options{Queue: q, ID: "x-1", Name: "x", Jobs: jobs})
	if err := both(t, err, over); err != nil {
		t.Fatal(err)
	}
	h := out.Hunts[0]
	if len(h.Counterexamples) != 2 || len(h.Unfinished) != 2 || !strings.Contains(h.Unfinished[0], "1 of 2 counterexamples not run alone") {
		t.Errorf("%d counterexamples, %q", len(h.Counterexamples), h.Unfinished)
	}
	if j := out.Report.Jobs[0]; j.Skipped != 0 || j.Unmeasured != 1 {
		t.Errorf("%d skipped, %d not measured: nothing of the search is missing", j.Skipped, j.Unmeasured)
	}
	c, err := q.Open(t.Context(), "x-1")
	if err != nil {
		t.Fatal(err)
	}
	if late, err := c.Marked(t.Context(), fleet.MeasuredMark(0)); err != nil || !late {
		t.Errorf("that the time is over is not on the queue: %v, %v", late, err)
	}
}

// TestTime: guided search gets the time that the schedules leave. When the time is over, workers
// skip the items that wait.
func TestTime(t *testing.T) {
	for _, c := range []struct {
		time     string
		kinds    string
		whole    bool
		answered int
	}{
		{"40s", "slice slice slice guided guided finish", true, 6},
		{"1500ms", "slice slice slice finish", false, 4},
	} {
		t.Run(c.time, func(t *testing.T) {
			s := streamtest.Serve(t)
			jobs := plan(t, "name: x\ntasks: [{hunt: {locks: [redis], ttl: 250ms, max-faults: 0, duration: "+c.time+"}}]", inSlices)
			var kinds []string
			over := make(chan error, 1)
			go func() {
				over <- work(t, streamtest.Connect(t, s), 1, c.answered, func(i fleet.Item, r *fleet.Result) *fleet.Payload {
					kinds = append(kinds, i.Kind)
					if !c.whole && i.Number == 2 {
						r.Skipped = true // as a worker does if the job's time is over
						return nil
					}
					if i.Kind == fleet.Guided {
						return &fleet.Payload{Portion: &hunt.Portion{Result: hunt.Result{Runs: 1, Granted: 1}}}
					}
					if i.Kind == fleet.Finish {
						return &fleet.Payload{Hunt: &hunt.Result{Runs: 6, Granted: 6, Depths: []hunt.Depth{{Done: true}}}}
					}
					return usual(i, r)
				})
			}()
			out, err := Run(t.Context(), Options{Queue: streamtest.Connect(t, s), ID: "x-1", Name: "x", Jobs: jobs})
			if err := both(t, err, over); err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(kinds, " "); got != c.kinds {
				t.Errorf("%s, want %s", got, c.kinds)
			}
			if done := out.Hunts[0].Depths[0].Done; done != c.whole {
				t.Errorf("the hunt claims that all schedules ran: %v", done)
			}
		})
	}
}

// TestForeign: a result of an item that the campaign does not have is ignored.
func TestForeign(t *testing.T) {
	s := &state{sent: map[string]bool{"0.run.0": true, "0.run.1": true}, done: map[string]fleet.Result{}}
	k := &coordinator{jobs: []*state{s}, foreign: map[string]bool{}}
	for _, id := range []string{"", "7.run.0", "-1.run.0", "x", "0.run.2", "0.slice.0", "0.run.0"} {
		if err := k.add(t.Context(), fleet.Result{Item: id}); err != nil {
			t.Errorf("%q: %v", id, err)
		}
	}
	if len(s.done) != 1 || len(k.foreign) != 6 || s.ended {
		t.Errorf("%d results were taken and %d ignored", len(s.done), len(k.foreign))
	}
}
