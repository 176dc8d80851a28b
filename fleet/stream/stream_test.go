package stream

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"github.com/picklock/picklock/fleet"
	"github.com/picklock/picklock/hunt"
)

// left is what nats.go 1.55 leaves behind if a publisher is cleaned up before this function has
// read which channel to wait for.
const left = "github.com/nats-io/nats.go/jetstream.(*jetStream).resetPendingAcksOnReconnect"

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, goleak.IgnoreTopFunction(left)) }

// queue is a JetStream in this process and a connection to it.
func queue(t *testing.T) *Queue {
	t.Helper()
	s, err := Serve(ServerOptions{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return connect(t, Options{Server: s})
}

func connect(t *testing.T, o Options) *Queue {
	t.Helper()
	q, err := Connect(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(q.Close)
	return q
}

var about = About{ID: "x-1", Name: "x", Version: "v", Jobs: 2, Started: time.Unix(1, 0)}

func campaign(t *testing.T, q *Queue) *Campaign {
	t.Helper()
	c, err := q.Create(t.Context(), about, []fleet.Job{{Number: 0, Name: "one"}, {Number: 1, Name: "two"}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func take(t *testing.T, c *Campaign, job int) *Taken {
	t.Helper()
	got, err := c.Take(t.Context(), job, 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if got == nil {
		t.Fatalf("job %d has no item", job)
	}
	return got
}

// nothing waits this long only if no item is expected.
func nothing(t *testing.T, c *Campaign, job int) {
	t.Helper()
	if got, err := c.Take(t.Context(), job, 100*time.Millisecond); err != nil || got != nil {
		t.Fatalf("job %d gave %+v, %v", job, got, err)
	}
}

func results(t *testing.T, c *Campaign, n int) []fleet.Result {
	t.Helper()
	var out []fleet.Result
	enough := errors.New("enough")
	err := c.Results(t.Context(), func(r fleet.Result) error {
		if out = append(out, r); len(out) == n {
			return enough
		}
		return nil
	})
	if !errors.Is(err, enough) {
		t.Fatal(err)
	}
	return out
}

func item(job, n int) fleet.Item { return fleet.Item{Job: job, Kind: fleet.Slice, Number: n, End: 1} }

func send(t *testing.T, c *Campaign, items ...fleet.Item) {
	t.Helper()
	if err := c.Send(t.Context(), items); err != nil {
		t.Fatal(err)
	}
}

func TestItemsGoToTheirJobs(t *testing.T) {
	q := queue(t)
	c := campaign(t, q)
	send(t, c, item(0, 0), item(1, 0), item(0, 1))
	send(t, c, item(0, 0)) // as a coordinator does that is started again
	a, b := take(t, c, 0), take(t, c, 0)
	if a.Item.ID() != "0.slice.0" || b.Item.ID() != "0.slice.1" || a.Delivered != 1 {
		t.Errorf("took %s and %s", a.Item.ID(), b.Item.ID())
	}
	nothing(t, c, 0)
	all, err := q.Waiting(t.Context())
	if err != nil || len(all) != 2 || all[0] != (Waiting{"x-1", 0, 0, 2}) || all[1] != (Waiting{"x-1", 1, 1, 0}) {
		t.Errorf("%+v, %v", all, err)
	}
	if d := take(t, c, 1); d.Item.ID() != "1.slice.0" {
		t.Errorf("job 1 gave %s", d.Item.ID())
	}
}

// TestDoneTwice: if two workers finish an item, the first result counts, and the payload of the second
// is removed.
func TestDoneTwice(t *testing.T) {
	c := campaign(t, queue(t))
	send(t, c, item(0, 0), item(0, 1))
	first := take(t, c, 0)
	second := &Taken{Item: first.Item, c: c, msg: take(t, c, 0).msg}
	for worker, taken := range map[string]*Taken{"a": first} {
		if done, err := taken.Finished(t.Context()); err != nil || done {
			t.Fatalf("done before it was: %v, %v", done, err)
		}
		if err := taken.Done(t.Context(), fleet.Result{Worker: worker, Runs: 1}, &fleet.Payload{Report: []byte(worker)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := second.Done(t.Context(), fleet.Result{Worker: "b", Runs: 2}, &fleet.Payload{Report: []byte("b")}); err != nil {
		t.Fatal(err)
	}
	if done, err := second.Finished(t.Context()); err != nil || !done {
		t.Errorf("it is done: %v, %v", done, err)
	}
	got := results(t, c, 1)[0]
	if got.Worker != "a" || got.Item != "0.slice.0" {
		t.Errorf("what counts is %+v", got)
	}
	p, err := c.Payload(t.Context(), got.Object)
	if err != nil || string(p.Report) != "a" {
		t.Errorf("%v, %v", p, err)
	}
	if _, err := c.Payload(t.Context(), "0.slice.0/b"); err == nil {
		t.Error("the second payload is still there")
	}
}

// TestFailedIsGivenAgain: another worker gets an item that failed, and the errors are stored for the
// worker that dead-letters it.
func TestFailedIsGivenAgain(t *testing.T) {
	c := campaign(t, queue(t))
	send(t, c, item(0, 0))
	if err := take(t, c, 0).msg.Nak(); err != nil { // as if its worker had been silent
		t.Fatal(err)
	}
	if text, err := take(t, c, 0).Failures(t.Context()); err != nil || text != "1 worker that took it disappeared" {
		t.Errorf("%q, %v", text, err)
	}
	c2 := campaign(t, queue(t))
	send(t, c2, item(0, 0))
	first := take(t, c2, 0)
	if err := first.Failed(t.Context(), "w", errors.New("no redis")); err != nil {
		t.Fatal(err)
	}
	again := take(t, c2, 0)
	text, err := again.Failures(t.Context())
	if again.Delivered != 2 || err != nil || text != "w: no redis" {
		t.Errorf("delivered %d times, failures %q, %v", again.Delivered, text, err)
	}
	if err := again.Return(); err != nil {
		t.Fatal(err)
	}
	if third := take(t, c2, 0); third.Delivered != 3 {
		t.Errorf("delivered %d times, want 3", third.Delivered)
	}
}

// TestReturnIsNoAttempt: a worker that ends returns its item, and the item has as many attempts as
// before.
func TestReturnIsNoAttempt(t *testing.T) {
	c := campaign(t, queue(t))
	send(t, c, item(0, 0))
	for range 2 * Attempts {
		taken := take(t, c, 0)
		if n, err := taken.Attempted(t.Context()); n != 0 || err != nil {
			t.Fatalf("delivery %d: %d attempts before, %v", taken.Delivered, n, err)
		}
		if err := taken.Return(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestLostByFiveWorkers: the queue gives an item to a further worker, however many were lost with it,
// so that one of them dead-letters it.
func TestLostByFiveWorkers(t *testing.T) {
	c := campaign(t, queue(t))
	send(t, c, item(0, 0))
	for range Attempts + 1 {
		if err := take(t, c, 0).msg.Nak(); err != nil { // as if its worker had been silent
			t.Fatal(err)
		}
	}
	last := take(t, c, 0)
	n, err := last.Attempted(t.Context())
	text, ferr := last.Failures(t.Context())
	if n != 5 || err != nil || text != "5 workers that took it disappeared" || ferr != nil {
		t.Errorf("%d attempts (%v), %q (%v)", n, err, text, ferr)
	}
}

// TestUnreadableItem: an item that cannot be read is dead-lettered, and the next one is taken.
func TestUnreadableItem(t *testing.T) {
	c := campaign(t, queue(t))
	bad := item(0, 0)
	if _, err := c.q.js.Publish(t.Context(), c.subject(0), []byte("{"), jetstream.WithMsgID(c.ID+"."+bad.ID())); err != nil {
		t.Fatal(err)
	}
	send(t, c, item(0, 1))
	if _, err := c.Take(t.Context(), 0, time.Second); !errors.Is(err, ErrUnreadable) {
		t.Errorf("%v", err)
	}
	if r := results(t, c, 1); r[0].Item != bad.ID() || !strings.Contains(r[0].DeadLetter, "cannot be read") {
		t.Errorf("%+v", r)
	}
	if next := take(t, c, 0); next.Item.Number != 1 {
		t.Errorf("%+v", next.Item)
	}
}

// TestRestart: a server that starts again has all that it had, and its clients connect again.
func TestRestart(t *testing.T) {
	dir := t.TempDir()
	s, err := Serve(ServerOptions{Dir: dir, Listen: "127.0.0.1:0", Token: "secret"})
	if err != nil {
		t.Fatal(err)
	}
	url := s.URL()
	q := connect(t, Options{URL: url, Token: "secret"})
	c := campaign(t, q)
	send(t, c, item(0, 0), item(0, 1))
	first := take(t, c, 0)
	found, err := c.FollowCounterexamples(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer found.Close()
	s.Close()
	again := make(chan *Server)
	go func() {
		s, err := Serve(ServerOptions{Dir: dir, Listen: strings.TrimPrefix(url, "nats://"), Token: "secret"})
		if err != nil {
			t.Error(err)
		}
		again <- s
	}()
	if err := first.Done(t.Context(), fleet.Result{Worker: "a"}, nil); err != nil {
		t.Error(err)
	}
	s = <-again
	defer s.Close()
	defer q.Close()
	if err := c.AddCounterexample(t.Context(), 0, hunt.Signature{Anomaly: "granted-early"}); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(60 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if known, err := found.Known(); err != nil || len(known) > 0 || time.Now().After(end) {
			if len(known) != 1 {
				t.Errorf("the counterexamples are %v, %v", known, err)
			}
			break
		}
	}
	if second := take(t, c, 0); second.Item.ID() != "0.slice.1" {
		t.Errorf("took %s", second.Item.ID())
	}
	if got := results(t, c, 1); got[0].Worker != "a" {
		t.Errorf("%+v", got)
	}
}

// TestEnd: the end of a campaign removes its items, and no others.
func TestEnd(t *testing.T) {
	q := queue(t)
	c := campaign(t, q)
	other := about
	other.ID = "other"
	o, err := q.Create(t.Context(), other, []fleet.Job{{Number: 0}})
	if err != nil {
		t.Fatal(err)
	}
	send(t, c, item(0, 0))
	send(t, o, item(0, 0))
	if err := c.End(t.Context(), about); err != nil {
		t.Fatal(err)
	}
	nothing(t, c, 0)
	take(t, o, 0)
	all, err := q.Campaigns(t.Context())
	if err != nil || len(all) != 2 || all[0].Ended == all[1].Ended {
		t.Errorf("%+v, %v", all, err)
	}
	waiting, err := q.Waiting(t.Context())
	if err != nil || len(waiting) != 1 || waiting[0].Campaign != "other" {
		t.Errorf("%+v, %v", waiting, err)
	}
}

// TestDoneAtTheEnd: a worker with a last result does not wait for a queue that the coordinator has
// closed.
func TestDoneAtTheEnd(t *testing.T) {
	t.Parallel()
	c := campaign(t, queue(t))
	send(t, c, item(0, 0))
	last := take(t, c, 0)
	if err := c.End(t.Context(), about); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*askWithin)
	defer cancel()
	if err := last.Done(ctx, fleet.Result{Worker: "w"}, nil); err != nil || ctx.Err() != nil {
		t.Errorf("%v, %v", err, ctx.Err())
	}
	if got := results(t, c, 1); len(got) != 1 {
		t.Errorf("%d results", len(got))
	}
}

// TestUnreadable: an item whose result cannot be read does not run again, and what cannot be read
// hides nothing else.
func TestUnreadable(t *testing.T) {
	q := queue(t)
	c := campaign(t, q)
	send(t, c, item(0, 0))
	for key, text := range map[string]string{"done.0.slice.0": "{", "counterexample.0.bad": "{"} {
		if _, err := c.kv.Put(t.Context(), key, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if done, err := take(t, c, 0).Finished(t.Context()); err != nil || !done {
		t.Errorf("it counts as done: %v, %v", done, err)
	}
	if got := results(t, c, 1)[0]; got.Item != "0.slice.0" || !strings.Contains(got.DeadLetter, "cannot be read") {
		t.Errorf("%+v", got)
	}
	if err := c.AddCounterexample(t.Context(), 0, hunt.Signature{Anomaly: "granted-early"}); err != nil {
		t.Fatal(err)
	}
	if found, err := c.Counterexamples(t.Context(), 0); err != nil || len(found) != 1 {
		t.Errorf("%v, %v", found, err)
	}
	if err := c.Report(t.Context(), &fleet.Report{ID: "another"}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Reported(t.Context()); !errors.Is(err, ErrUnreadable) {
		t.Errorf("the report of another campaign: %v", err)
	}
	if a, there, err := q.About(t.Context(), "nobody"); there || err != nil {
		t.Errorf("%+v, %v", a, err)
	}
}

func TestInterrupted(t *testing.T) {
	c := campaign(t, queue(t))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Results(ctx, func(fleet.Result) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
