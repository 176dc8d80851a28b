package harness

import (
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/history"
)

// TestStallIsRecorded: a process that was stopped for half of the lease says so when it
// goes on, as a fault that concerns everybody.
func TestStallIsRecorded(t *testing.T) {
	if os.Getenv("PICKLOCK_STALL") == "" {
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestStallIsRecorded$", "-test.v")
		cmd.Env = append(os.Environ(), "PICKLOCK_STALL=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	start := history.Now()
	events := make(chan history.Event, 100)
	s := watchStalls(400*time.Millisecond, func() int64 { return history.Now() - start }, func(e history.Event) { events <- e })
	defer s.stop()
	// A helper outlives our stop and lets us go on.
	helper := exec.CommandContext(t.Context(), "sh", "-c", `kill -STOP $0; sleep 0.5; kill -CONT $0`, strconv.Itoa(os.Getpid()))
	if err := helper.Start(); err != nil {
		t.Fatal(err)
	}
	defer helper.Wait()
	for {
		select {
		case e := <-events:
			if e.F != checker.Stall || e.Process != history.Nemesis || len(e.Nodes) != 0 || e.Phase != history.Begin || !e.Confirmed {
				t.Fatalf("%+v", e)
			}
			end := <-events
			if end.Phase != history.End {
				t.Fatalf("%+v", end)
			}
			if end.Time-e.Time >= int64(450*time.Millisecond) {
				return // the one of this test; a busy machine may have had others
			}
		case <-time.After(20 * time.Second):
			t.Fatal("nothing was recorded")
		}
	}
}

func TestSmallDelaysAreNoStall(t *testing.T) {
	var events []history.Event
	s := watchStalls(time.Hour, func() int64 { return 0 }, func(e history.Event) { events = append(events, e) })
	time.Sleep(50 * time.Millisecond)
	s.stop()
	if len(events) > 0 {
		t.Errorf("%+v", events)
	}
}
