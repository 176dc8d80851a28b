package web

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/fleet"
	"github.com/picklock/picklock/fleet/stream"
	"github.com/picklock/picklock/fleet/stream/streamtest"
	"github.com/picklock/picklock/hunt"
)

// A campaign that goes on is seen as it goes: what is done, what was found, who works. The page
// ends with its context.
func TestQueueIsFollowed(t *testing.T) {
	q := streamtest.Queue(t)
	jobs := []fleet.Job{
		{Number: 0, Name: "hunt redis none", Lock: "redis", Fencing: "none", Hunt: &hunt1},
		{Number: 1, Name: "matrix", Cells: []fleet.Cell{{Scenario: "a", Runs: 1}}},
	}
	about := stream.About{ID: "x-1", Name: "x", Version: "v", Jobs: 2, Started: time.Unix(1, 0)}
	c, err := q.Create(t.Context(), about, jobs)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Send(t.Context(), jobs[0].Items()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	s, err := New(Options{Queue: q, Loopback: true})
	if err != nil {
		t.Fatal(err)
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	over := make(chan error, 1)
	go func() { over <- s.Serve(ctx, l) }()
	url := "http://" + l.Addr().String()
	await(t, url, "the campaign", func(st State) bool {
		return len(st.Campaigns) == 1 && st.Campaigns[0].State == GoingOn && st.Campaigns[0].Jobs[0].Items == 2 && st.Campaigns[0].Jobs[0].Valid == checker.Unknown
	})
	way := hunt.Signature{Anomaly: "stale-write", Kinds: []string{"pause"}}
	if err := c.Found(t.Context(), 0, way); err != nil {
		t.Fatal(err)
	}
	taken, err := c.Take(t.Context(), 0, 5*time.Second)
	if err != nil || taken == nil {
		t.Fatal(taken, err)
	}
	if err := taken.Done(t.Context(), fleet.Result{Worker: "w1", Plays: 7, Ways: 1}, nil); err != nil {
		t.Fatal(err)
	}
	if err := q.Tell(t.Context(), fleet.Worker{Name: "w1", Plays: 7, Busy: 3.5, Done: 1}); err != nil {
		t.Fatal(err)
	}
	await(t, url, "what was found", func(st State) bool {
		j := st.Campaigns[0].Jobs[0]
		return j.Done == 1 && j.Plays == 7 && j.Valid == checker.False && len(j.Findings) == 1 && j.Findings[0].What == "stale-write" && !j.Ended &&
			len(st.Workers) == 1 && st.Workers[0].Rate == 2
	})
	left, err := c.Take(t.Context(), 0, 5*time.Second)
	if err != nil || left == nil {
		t.Fatal(left, err)
	}
	if err := c.Send(t.Context(), []fleet.Item{{Job: 0, Kind: fleet.Finish, Objects: []string{"x"}}}); err != nil {
		t.Fatal(err)
	}
	await(t, url, "what follows, with what is being done", func(st State) bool {
		j := st.Campaigns[0].Jobs[0]
		return j.Items == 3 && j.Done == 1 && j.On == 1 && j.Waits == 1
	})
	if err := c.End(t.Context(), about); err != nil {
		t.Fatal(err)
	}
	await(t, url, "the end", func(st State) bool { return st.Campaigns[0].State == Ended && st.Campaigns[0].Valid == "" })
	cancel()
	select {
	case err := <-over:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("the page does not end")
	}
}

var hunt1 = fleet.Hunt{Size: 4, Slice: 2}

// await asks for the state until it is as wanted.
func await(t *testing.T, url, what string, want func(State) bool) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	var last string
	for end := time.Now().Add(60 * time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		answer, err := client.Get(url + "/api/state")
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		var st State
		if err := json.Unmarshal(b, &st); err != nil {
			t.Fatal(err)
		}
		if last = string(b); want(st) {
			return
		}
	}
	t.Fatalf("%s is not seen: %s", what, last)
}

// What comes of no job is no reason to count it, and a result counts once.
func TestTake(t *testing.T) {
	f := &following{jobs: []tally{{job: fleet.Job{Number: 0}, done: map[string]bool{}, workers: map[string]bool{}}}, foreign: map[string]bool{}}
	for _, bad := range []string{"", "x", "1.slice.0", "-1.slice.0"} {
		f.take(fleet.Result{Item: bad, Plays: 1})
	}
	if _, trouble := f.campaign(); len(trouble) != 1 || !strings.Contains(trouble[0], "4 results of no job of it") {
		t.Errorf("told is %q", trouble)
	}
	for range 2 {
		f.take(fleet.Result{Item: "0.slice.0", Plays: 5})
	}
	if j := f.jobs[0].view(); j.Plays != 5 || j.Done != 1 {
		t.Errorf("%+v", j)
	}
}
