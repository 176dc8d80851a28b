package web

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/fleet"
	"github.com/picklock/picklock/fleet/stream"
	"github.com/picklock/picklock/fleet/stream/streamtest"
)

// onQueue is a queue that is looked at, and a connection to it that writes whatever it likes.
func onQueue(t *testing.T) (*Site, *stream.Queue, jetstream.JetStream) {
	t.Helper()
	server := streamtest.Serve(t)
	q, js := streamtest.Connect(t, server), streamtest.Raw(t, server)
	s, err := New(Options{Queue: q, Loopback: true})
	if err != nil {
		t.Fatal(err)
	}
	return s, q, js
}

func create(t *testing.T, q *stream.Queue, id string, second int64) (*stream.Campaign, stream.About) {
	t.Helper()
	about := stream.About{ID: id, Name: "x", Version: "v", Jobs: 1, Started: time.Unix(second, 0)}
	c, err := q.Create(t.Context(), about, []fleet.Job{{Number: 0, Name: "matrix", Cells: []fleet.Cell{{Scenario: "a", Runs: 3}}}})
	if err != nil {
		t.Fatal(err)
	}
	return c, about
}

func writeRaw(t *testing.T, js jetstream.JetStream, bucket, key, text string) {
	t.Helper()
	kv, err := js.KeyValue(t.Context(), bucket)
	if err == nil {
		_, err = kv.Put(t.Context(), key, []byte(text))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// asking asks the queue until the state is as wanted.
func asking(t *testing.T, ctx context.Context, s *Site, wg *sync.WaitGroup, what string, want func(State) bool) {
	t.Helper()
	var st State
	for end := time.Now().Add(60 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		trouble := s.queue.ask(ctx, wg)
		s.queue.mu.Lock()
		s.queue.trouble = trouble
		s.queue.mu.Unlock()
		if st = s.state(ctx); want(st) {
			return
		}
	}
	t.Fatalf("%s is not seen: %+v", what, st)
}

// watching ends what asking began.
func watching(t *testing.T) (context.Context, *sync.WaitGroup) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	t.Cleanup(func() { cancel(); wg.Wait() })
	return ctx, &wg
}

// What cannot be opened or read on a queue is told, and hides nothing else.
func TestQueuePassesOver(t *testing.T) {
	s, q, js := onQueue(t)
	c, _ := create(t, q, "good-1", 1)
	create(t, q, "gone-1", 2)
	if err := js.DeleteKeyValue(t.Context(), "picklock-gone-1"); err != nil {
		t.Fatal(err)
	}
	writeRaw(t, js, "picklock-campaigns", "bad-1", "{")
	writeRaw(t, js, "picklock-workers", "bad", "{")
	writeRaw(t, js, "picklock-good-1", "done.0.run.0", "{")
	writeRaw(t, js, "picklock-good-1", "done.0.run.1", `{"item":"0.run.7","plays":1}`)
	writeRaw(t, js, "picklock-good-1", "done.9.run.0", `{"item":"9.run.0","plays":1}`)
	if err := c.Send(t.Context(), []fleet.Item{{Job: 0, Kind: fleet.Run, Number: 2}}); err != nil {
		t.Fatal(err)
	}
	taken, err := c.Take(t.Context(), 0, 5*time.Second)
	if err != nil || taken == nil {
		t.Fatal(taken, err)
	}
	if err := taken.Done(t.Context(), fleet.Result{Worker: "w1", Plays: 7}, nil); err != nil {
		t.Fatal(err)
	}
	if err := q.Tell(t.Context(), fleet.Worker{Name: "w1"}); err != nil {
		t.Fatal(err)
	}
	ctx, wg := watching(t)
	asking(t, ctx, s, wg, "what can be shown", func(st State) bool {
		if len(st.Campaigns) != 1 || len(st.Workers) != 1 {
			return false
		}
		j := st.Campaigns[0].Jobs[0]
		return j.Plays == 7 && j.Done == 3 && len(j.Dead) == 2 && strings.Contains(j.Dead[0].Why, "cannot be read") && strings.Contains(j.Dead[1].Why, "0.run.7")
	})
	told := strings.Join(s.state(ctx).Trouble, "\n")
	for _, want := range []string{"campaign gone-1: ", "bad-1 of picklock-campaigns: it cannot be read", "bad of picklock-workers", `"9.run.0" among them`} {
		if !strings.Contains(told, want) {
			t.Errorf("%q is not told: %s", want, told)
		}
	}
}

// The newest are shown, whenever they came; who is not among them is followed no longer.
func TestNewestAreShown(t *testing.T) {
	s, q, _ := onQueue(t)
	s.queue.most = 1
	create(t, q, "one-1", 1)
	ctx, wg := watching(t)
	only := func(id string) func(State) bool {
		return func(st State) bool { return len(st.Campaigns) == 1 && st.Campaigns[0].ID == id }
	}
	asking(t, ctx, s, wg, "the first", only("one-1"))
	first := s.queue.following["one-1"]
	create(t, q, "two-1", 2)
	asking(t, ctx, s, wg, "the second", only("two-1"))
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		first.mu.Lock()
		begun := first.begun
		first.mu.Unlock()
		if !begun {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the first is still followed")
		}
	}
}

// Campaigns on a queue are compared with one another, and with those in the folder.
func TestCompareOnQueue(t *testing.T) {
	s, q, _ := onQueue(t)
	dir := site(t, shown(t))
	s.folder = dir.folder
	for i, valid := range []checker.Validity{checker.True, checker.False} {
		c, about := create(t, q, []string{"before-1", "now-1"}[i], int64(i+1))
		j := fleet.JobReport{Name: "hunt redis none", Valid: valid, Headline: "a headline"}
		if valid == checker.False {
			j.Findings = []fleet.Finding{{Of: "redis, none", What: "stale-write", Takes: "pause"}}
		}
		if err := c.Report(t.Context(), &fleet.Report{ID: about.ID, Name: "x", Started: about.Started, Jobs: []fleet.JobReport{j}}); err != nil {
			t.Fatal(err)
		}
		if err := c.End(t.Context(), about); err != nil {
			t.Fatal(err)
		}
	}
	create(t, q, "on-1", 9)
	ctx, wg := watching(t)
	asking(t, ctx, s, wg, "what both came to", func(st State) bool {
		a, _ := st.campaign("queue:before-1")
		b, _ := st.campaign("queue:now-1")
		return a.Valid == "true" && b.Valid == "false" && b.Jobs[0].Headline == "a headline" && b.Jobs[0].Ended
	})
	for target, want := range map[string]string{
		"/compare?a=queue:before-1&b=queue:now-1": "Something broke that did not before",
		"/compare?a=queue:now-1&b=queue:before-1": "Nothing broke that did not before",
		"/compare?a=folder:now&b=queue:now-1":     "Less is known than before",
		"/compare?a=queue:before-1&b=folder:now":  "Something broke that did not before",
		"/compare?a=queue:before-1&b=queue:on-1":  "only campaigns that have ended",
		"/campaign?of=queue:now-1":                `href="/compare?a=queue%3Abefore-1&amp;b=queue%3Anow-1"`,
	} {
		a, page := ask(t, s, target)
		if missing := a.StatusCode == http.StatusNotFound; !strings.Contains(page, want) || missing != strings.HasPrefix(want, "only") {
			t.Errorf("%s: %d, without %q", target, a.StatusCode, want)
		}
	}
}
