package worker

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/picklock/picklock/clients/all"
	"github.com/picklock/picklock/fleet"
	"github.com/picklock/picklock/fleet/stream"
	"github.com/picklock/picklock/fleet/stream/streamtest"
)

// TestNotMeasured: when the time for what was found is over, what is left is skipped; an item
// that names no counterexample fails, and nothing is brought up for it.
func TestNotMeasured(t *testing.T) {
	q := streamtest.Queue(t)
	h, _ := jobs(t)
	c, err := q.Create(t.Context(), stream.About{ID: "x-1", Jobs: 1, Started: time.Now()}, []fleet.Job{h})
	if err != nil {
		t.Fatal(err)
	}
	var items []fleet.Item
	for n := range 3 {
		items = append(items, fleet.Item{Kind: fleet.Measure, Number: n, Objects: []string{"0.finish.0/w"}})
	}
	if err := c.Send(t.Context(), items); err != nil {
		t.Fatal(err)
	}
	take := func() *stream.Taken {
		got, err := c.Take(t.Context(), 0, 5*time.Second)
		if err != nil || got == nil {
			t.Fatal(got, err)
		}
		return got
	}
	w := &worker{o: Options{Name: "w", Dir: t.TempDir(), Queue: q, Table: all.Locks(), Say: func(string) {}}, jobs: map[string]*job{}}
	j := &job{campaign: c, job: h}
	if _, err := w.do(t.Context(), j, take().Item, nil, &fleet.Result{}); err == nil || w.hunting != nil {
		t.Errorf("there is no such object: %v", err)
	}
	done := take()
	if err := done.Done(t.Context(), fleet.Result{Worker: "other"}, &fleet.Payload{}); err != nil {
		t.Fatal(err)
	}
	stored, err := c.ResultsNow(t.Context())
	if err != nil || len(stored) != 1 {
		t.Fatal(stored, err)
	}
	if _, err := w.measure(t.Context(), j, fleet.Item{Kind: fleet.Measure, Objects: []string{stored[0].Object}}, &fleet.Result{}); err == nil || !strings.Contains(err.Error(), "has no counterexample 0") {
		t.Errorf("there is no such counterexample: %v", err)
	}
	if err := c.Mark(t.Context(), fleet.MeasuredMark(0)); err != nil {
		t.Fatal(err)
	}
	last := take()
	if err := w.item(t.Context(), j, last, nil); err != nil {
		t.Fatal(err)
	}
	enough := errors.New("enough")
	err = c.Results(t.Context(), func(r fleet.Result) error {
		if r.Item != last.Item.ID() {
			return nil
		}
		if !r.Skipped {
			t.Errorf("it was not skipped: %+v", r)
		}
		return enough
	})
	if !errors.Is(err, enough) {
		t.Error(err)
	}
}
