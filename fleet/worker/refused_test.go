package worker

import (
	"strings"
	"testing"
	"time"

	"github.com/picklock/picklock/clients/all"
	"github.com/picklock/picklock/fleet"
	"github.com/picklock/picklock/fleet/stream"
	"github.com/picklock/picklock/fleet/stream/streamtest"
)

// TestNoCampaign: work of a campaign that is not there, or that cannot be read, is no reason to
// end.
func TestNoCampaign(t *testing.T) {
	server := streamtest.Serve(t)
	q, js := streamtest.Connect(t, server), streamtest.Raw(t, server)
	for _, id := range []string{"gone", "bad"} {
		c, err := q.Create(t.Context(), stream.About{ID: id, Jobs: 1, Started: time.Now()}, []fleet.Job{{Number: 0}})
		if err == nil {
			err = c.Send(t.Context(), []fleet.Item{{Kind: fleet.Run}})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	kv, err := js.KeyValue(t.Context(), "picklock-bad")
	if err == nil {
		_, err = kv.Put(t.Context(), "job.0", []byte("{"))
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := js.DeleteKeyValue(t.Context(), "picklock-gone"); err != nil {
		t.Fatal(err)
	}
	var lines []string
	w := &worker{o: Options{Queue: q, Table: all.Locks(), Say: func(s string) { lines = append(lines, s) }}, jobs: map[string]*job{}}
	for range 2 {
		if j, more, err := w.choose(t.Context()); j != nil || !more || err != nil {
			t.Fatalf("%v, %v, %v", j, more, err)
		}
	}
	text := strings.Join(lines, "\n")
	if len(lines) != 2 || !strings.Contains(text, "job 0 of gone is refused") || !strings.Contains(text, "job 0 of bad is refused") {
		t.Errorf("it says %q", lines)
	}
}
