package status

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/fleet"
	"github.com/picklock/picklock/fleet/stream"
	"github.com/picklock/picklock/fleet/stream/streamtest"
)

func create(t *testing.T, q *stream.Queue, id string, second int64, jobs ...fleet.Job) (*stream.Campaign, stream.About) {
	t.Helper()
	about := stream.About{ID: id, Name: "x", Version: "v", Jobs: len(jobs), Started: time.Unix(second, 0)}
	c, err := q.Create(t.Context(), about, jobs)
	if err != nil {
		t.Fatal(err)
	}
	return c, about
}

// do takes an item of a job and finishes it.
func do(t *testing.T, c *stream.Campaign, job int, r fleet.Result) {
	t.Helper()
	taken, err := c.Take(t.Context(), job, 5*time.Second)
	if err != nil || taken == nil {
		t.Fatal(taken, err)
	}
	if err := taken.Done(t.Context(), r, nil); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, q *stream.Queue, id string) *Queue {
	t.Helper()
	got, err := ReadQueue(t.Context(), q, id)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// await reads until the one campaign is as wanted: the server counts what waits a moment after
// it was sent.
func await(t *testing.T, q *stream.Queue, what string, want func(s *Status) bool) *Queue {
	t.Helper()
	var got *Queue
	for end := time.Now().Add(60 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if got = read(t, q, ""); want(got.Campaigns[0]) {
			return got
		}
	}
	t.Fatalf("%s is not seen: %+v", what, got.Campaigns[0])
	return nil
}

// TestRunningCampaign: the status follows a campaign from its first item to its report.
func TestRunningCampaign(t *testing.T) {
	q := streamtest.Queue(t)
	job := huntJob
	c, about := create(t, q, "x-1", 1, job)
	if err := c.Send(t.Context(), job.Items()); err != nil {
		t.Fatal(err)
	}
	await(t, q, "the beginning", func(s *Status) bool {
		return s.State == Running && s.Items == 2 && s.Done == 0 && s.Jobs[0].Waiting == 2 && s.Valid == ""
	})
	if err := c.AddCounterexample(t.Context(), 0, stale); err != nil {
		t.Fatal(err)
	}
	do(t, c, 0, fleet.Result{Worker: "w1", Runs: 7, Found: 1})
	if err := q.Heartbeat(t.Context(), fleet.Worker{Name: "w1", Runs: 7, Busy: 3.5, Done: 1, Item: "0.slice.1", Job: job.Name}); err != nil {
		t.Fatal(err)
	}
	taken, err := c.Take(t.Context(), 0, 5*time.Second)
	if err != nil || taken == nil {
		t.Fatal(taken, err)
	}
	if err := c.Send(t.Context(), []fleet.Item{{Job: 0, Kind: fleet.Finish, Objects: []string{"x"}}}); err != nil {
		t.Fatal(err)
	}
	got := await(t, q, "the middle", func(s *Status) bool {
		j := s.Jobs[0]
		return j.Items == 3 && j.Done == 1 && j.Running == 1 && j.Waiting == 1 && j.Runs == 7 && j.Valid == checker.False && len(j.Findings) == 1 && s.Valid == "false"
	})
	var text strings.Builder
	if err := got.Write(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"x-1: running, started ", "1 of 3 items done, 1 counterexample\n", "  fail    hunt redis none: 1 of 3 items, 7 runs; 1 counterexample so far\n",
		"          redis, none: stale-write, by pause of a client\n", "1 worker\n", "  w1: works on 0.slice.1 of hunt redis none; 1 items, 7 runs (2.0 a second), last seen ",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the text is without %q:\n%s", want, text.String())
		}
	}
	if err := c.End(t.Context(), about); err != nil {
		t.Fatal(err)
	}
	if s := read(t, q, "").Campaigns[0]; s.State != Finished || s.Jobs[0].Ended {
		t.Errorf("ended without a report: %+v", s)
	}
	if err := c.Report(t.Context(), &fleet.Report{ID: "x-1", Name: "x", Jobs: []fleet.JobReport{{Name: job.Name, Valid: checker.True, Items: 3, Headline: "a headline"}}}); err != nil {
		t.Fatal(err)
	}
	if s := read(t, q, "").Campaigns[0]; s.State != Finished || s.Valid != "true" || !s.Jobs[0].Ended || s.Jobs[0].Headline != "a headline" {
		t.Errorf("at the end: %+v", s)
	}
}

func TestWhichCampaigns(t *testing.T) {
	q := streamtest.Queue(t)
	empty := read(t, q, "")
	var text strings.Builder
	if err := empty.Write(&text); err != nil || text.String() != "no campaign is on the queue\n0 workers\n" {
		t.Errorf("an empty queue: %q, %v", text.String(), err)
	}
	ids := func(got *Queue) (out []string) {
		for _, s := range got.Campaigns {
			out = append(out, s.ID)
		}
		for _, a := range got.Others {
			out = append(out, "("+a.ID+")")
		}
		return out
	}
	for i, id := range []string{"one-1", "two-1", "three-1"} {
		c, about := create(t, q, id, int64(i+1), matrixJob)
		if i != 1 {
			if err := c.End(t.Context(), about); err != nil {
				t.Fatal(err)
			}
		}
		for wanted, want := range map[string][]string{
			"":      {"one-1", "two-1 (one-1)", "two-1 (one-1) (three-1)"},
			"one-1": {"one-1", "one-1 (two-1)", "one-1 (two-1) (three-1)"},
		} {
			if got := ids(read(t, q, wanted)); !slices.Equal(got, strings.Fields(want[i])) {
				t.Errorf("%d campaigns, %q wanted: %q", i+1, wanted, got)
			}
		}
	}
	if _, err := ReadQueue(t.Context(), q, "four-1"); !errors.Is(err, ErrNoCampaign) {
		t.Errorf("a campaign that is not there: %v", err)
	}
}

func put(t *testing.T, js jetstream.JetStream, bucket, key, text string) {
	t.Helper()
	kv, err := js.KeyValue(t.Context(), bucket)
	if err == nil {
		_, err = kv.Put(t.Context(), key, []byte(text))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestUnreadable: what cannot be opened or read on a queue is a problem, and hides nothing else.
func TestUnreadable(t *testing.T) {
	server := streamtest.Serve(t)
	q, js := streamtest.Connect(t, server), streamtest.Raw(t, server)
	job := matrixJob
	job.Number = 0
	c, _ := create(t, q, "good-1", 1, job)
	create(t, q, "gone-1", 2, job)
	if err := js.DeleteKeyValue(t.Context(), "picklock-gone-1"); err != nil {
		t.Fatal(err)
	}
	put(t, js, "picklock-campaigns", "bad-1", "{")
	put(t, js, "picklock-workers", "bad", "{")
	put(t, js, "picklock-good-1", "done.0.run.0", "{")
	put(t, js, "picklock-good-1", "done.0.run.1", `{"item":"0.run.7","runs":1}`)
	put(t, js, "picklock-good-1", "done.9.run.0", `{"item":"9.run.0","runs":1}`)
	put(t, js, "picklock-good-1", "done.x", `{"item":"x","runs":1}`)
	if err := c.Send(t.Context(), []fleet.Item{{Job: 0, Kind: fleet.Run, Number: 2}}); err != nil {
		t.Fatal(err)
	}
	do(t, c, 0, fleet.Result{Worker: "w1", Runs: 7})
	if err := q.Heartbeat(t.Context(), fleet.Worker{Name: "w1"}); err != nil {
		t.Fatal(err)
	}
	got := read(t, q, "")
	if len(got.Campaigns) != 1 || len(got.Workers) != 1 {
		t.Fatalf("%+v", got)
	}
	j := got.Campaigns[0].Jobs[0]
	if j.Runs != 7 || j.Done != 3 || len(j.DeadLetters) != 2 || !strings.Contains(j.DeadLetters[0].Why, "cannot be read") || !strings.Contains(j.DeadLetters[1].Why, "0.run.7") {
		t.Errorf("%+v", j)
	}
	problems := strings.Join(append(got.Problems, got.Campaigns[0].Problems...), "\n")
	for _, want := range []string{"campaign gone-1: ", "bad-1 of picklock-campaigns: it cannot be read", "bad of picklock-workers", `2 results of no job, for example "9.run.0", ignored`} {
		if !strings.Contains(problems, want) {
			t.Errorf("%q is no problem: %s", want, problems)
		}
	}
}

// TestReadOnly: reading the status makes and changes no stream.
func TestReadOnly(t *testing.T) {
	server := streamtest.Serve(t)
	q, js := streamtest.Connect(t, server), streamtest.Raw(t, server)
	state := func() map[string]uint64 {
		out := map[string]uint64{}
		list := js.ListStreams(t.Context())
		for i := range list.Info() {
			out[i.Config.Name] = i.State.LastSeq
		}
		if list.Err() != nil {
			t.Fatal(list.Err())
		}
		return out
	}
	read(t, q, "")
	if got := state(); len(got) != 0 {
		t.Errorf("an empty queue has streams: %v", got)
	}
	c, about := create(t, q, "x-1", 1, huntJob)
	if err := c.End(t.Context(), about); err != nil {
		t.Fatal(err)
	}
	create(t, q, "x-2", 2, huntJob)
	before := state()
	for _, id := range []string{"", "x-1", "x-2"} {
		read(t, q, id)
	}
	if after := state(); len(after) == 0 || len(after) != len(before) {
		t.Errorf("%v, then %v", before, after)
	} else {
		for name, seq := range before {
			if after[name] != seq {
				t.Errorf("%s was at %d and is at %d", name, seq, after[name])
			}
		}
	}
}
