package harness

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/picklock/picklock/history"
)

// TestRecorderTellsAtOnce: the watch on the run learns of a history that cannot be written while the run goes on, and the run's end returns the error.
func TestRecorderTellsAtOnce(t *testing.T) {
	r, err := newRecorder(filepath.Join(t.TempDir(), "history.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-r.broken:
		t.Fatal("broken before anything was written")
	default:
	}
	if err := r.f.Close(); err != nil { // what is written next fails, as on a full disk
		t.Fatal(err)
	}
	for range 2 {
		r.record(history.Event{Process: "c1", Type: history.Invoke, F: history.Acquire})
	}
	select {
	case <-r.broken:
	default:
		t.Error("the failed write was not told at once")
	}
	if err := r.finish(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("the end of the run returns %v, want the failed write", err)
	}
}
