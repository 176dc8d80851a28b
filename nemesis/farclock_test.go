package nemesis

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/picklock/picklock/history"
)

// The same kernel's clock is our own; another's is known to half of a round trip, and
// the agent is not asked for every reading.
func TestFarClock(t *testing.T) {
	for _, tt := range []struct {
		name       string
		boot       string
		ahead      time.Duration
		wait       time.Duration // each way
		asked      int64
		exact      bool
		unanswered bool
	}{
		{"same kernel", "b", 0, 0, 1, true, false},
		{"same kernel, time namespace", "b", time.Hour, time.Millisecond, clockSamples, false, false},
		{"another kernel, started later", "x", -time.Duration(history.Now() / 2), time.Millisecond, clockSamples, false, false},
		{"no boot id", "", time.Minute, time.Millisecond, clockSamples, false, false},
		{"no answer", "b", 0, 0, 100, true, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var asked atomic.Int64
			c := farClock{boot: "b", ask: func(context.Context) (int64, string, error) {
				asked.Add(1)
				if tt.unanswered {
					return 0, "", errors.New("gone")
				}
				time.Sleep(tt.wait)
				now := history.Now() + int64(tt.ahead)
				time.Sleep(tt.wait)
				return now, tt.boot, nil
			}}
			last := int64(0)
			for range 100 {
				before := history.Now()
				now := c.now()
				after := history.Now()
				if now < last {
					t.Fatalf("it went back by %v", time.Duration(last-now))
				}
				last = now
				slack := int64(20 * time.Millisecond)
				if tt.exact {
					slack = 0
				}
				if now < before+int64(tt.ahead)-slack || now > after+int64(tt.ahead)+slack {
					t.Fatalf("it reads %v from this one, want %v", time.Duration(now-before), tt.ahead)
				}
			}
			if got := asked.Load(); got != tt.asked {
				t.Errorf("the agent was asked %d times, want %d", got, tt.asked)
			}
		})
	}
}

// A later measurement does not delay a reader of the time.
func TestFarClockMeasuresAgain(t *testing.T) {
	var asked atomic.Int64
	c := farClock{ask: func(context.Context) (int64, string, error) {
		asked.Add(1)
		return history.Now() + int64(time.Hour), "", nil
	}}
	c.now()
	c.measured.Add(-int64(clockEvery) - int64(time.Second))
	c.now()
	for deadline := time.Now().Add(10 * time.Second); asked.Load() < 2*clockSamples; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("asked %d times", asked.Load())
		}
	}
}
