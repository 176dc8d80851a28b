package harness

import (
	"path/filepath"
	"testing"

	"github.com/picklock/picklock/history"
)

// TestRecorderTellsAtOnce: whoever watches the run learns of a history that cannot be written, and not only the end of the run.
func TestRecorderTellsAtOnce(t *testing.T) {
	r, err := newRecorder(filepath.Join(t.TempDir(), "history.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.f.Close(); err != nil { // what is written next fails, as on a full disk
		t.Fatal(err)
	}
	for range 2 {
		r.record(history.Event{Process: "c1", Type: history.Invoke, F: history.Acquire})
	}
	select {
	case err := <-r.broken:
		if err == nil {
			t.Error("it told of nothing")
		}
	default:
		t.Error("it told nobody")
	}
	if err := r.finish(); err != nil {
		t.Errorf("told twice: %v", err)
	}
	if r.record(history.Event{}); r.err == nil {
		t.Error("the error is forgotten")
	}
}
