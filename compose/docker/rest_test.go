package docker

import (
	"context"
	"syscall"
	"testing"
	"time"

	"github.com/picklock/picklock/compose"
	"github.com/picklock/picklock/nemesis"
)

// A container that computes is not at rest, one that waits for its clients is, and one that was
// stopped amid its computing is stopped: a wait for what it may yet answer goes on as long as it
// computes.
func TestContainerAtRest(t *testing.T) {
	c, remote := start(t, needEngine(t), load(t, "redis"))
	n := nodeOf(t, c, "redis")
	become := func(rest, stopped bool) {
		t.Helper()
		for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
			r, err := remote.Do(t.Context(), nemesis.Op{Name: nemesis.OpRest, PIDs: []int{n.PID}})
			if err != nil {
				t.Fatal(err)
			}
			if r.Yes == rest && (len(r.Stopped) > 0) == stopped {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("at rest %v, stopped %v", r.Yes, r.Stopped)
			}
		}
	}
	become(true, false)
	// It goes on with a script whoever has asked for it.
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, _, _ = remote.Ask(ctx, n.NetNS, n.HostPort(), &compose.Probe{Send: "EVAL \"while true do end\" 0\r\n", Expect: "never"})
	for range 20 {
		if r, err := remote.Do(t.Context(), nemesis.Op{Name: nemesis.OpRest, PIDs: []int{n.PID}}); err != nil || r.Yes {
			t.Fatalf("what computes is at rest: %v", err)
		}
	}
	if err := do(t, remote, nemesis.Op{Name: nemesis.OpSignal, PID: n.PID, Signal: syscall.SIGSTOP}); err != nil {
		t.Fatal(err)
	}
	become(true, true)
}
