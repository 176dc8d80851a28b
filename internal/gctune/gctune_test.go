package gctune

import (
	"runtime/debug"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// TestRelax: what was set before is set again, also where so much is in use that there is no
// room any more.
func TestRelax(t *testing.T) {
	defer goleak.VerifyNone(t)
	was := func() (int, int64) {
		percent := debug.SetGCPercent(100)
		debug.SetGCPercent(percent)
		return percent, debug.SetMemoryLimit(-1)
	}
	percent, limit := was()
	back := Relax()
	if p, l := was(); p != -1 || l != most {
		t.Errorf("percent %d, limit %d", p, l)
	}
	back()
	if p, l := was(); p != percent || l != limit {
		t.Errorf("percent %d and limit %d after that, want %d and %d", p, l, percent, limit)
	}
	back = Relax()
	held := make([]byte, enough+1<<20)
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		debug.FreeOSMemory()
		if p, l := was(); l == limit && p == growth {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the limit stays")
		}
	}
	held[0]++
	back()
	if p, l := was(); p != percent || l != limit {
		t.Errorf("percent %d and limit %d at the end, want %d and %d", p, l, percent, limit)
	}
}
