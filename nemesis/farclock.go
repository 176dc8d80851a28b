package nemesis

import (
	"context"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/picklock/picklock/history"
)

const (
	// clockSamples are taken for one measurement; the quickest answer counts.
	clockSamples = 8
	// clockEvery is how long a measurement is relied on. Two machines' clocks drift
	// apart by at most 500 ppm while they are slewed, which makes 5 ms in that time.
	clockEvery = 10 * time.Second
	clockWait  = time.Second // for one answer
)

// farClock knows how far the monotonic clock of the nodes' kernel is ahead of this process's. A
// reader waits for the first measurement only; later ones run in the background, because the
// time is read under locks and for each event. On the same kernel it is the same clock,
// exactly; else it is off by at most half of the quickest round trip, and by what
// the clocks drifted apart since (see clockEvery). It never goes back.
type farClock struct {
	ask  func(ctx context.Context) (now int64, boot string, err error)
	boot string // our kernel's, "" if that cannot be known

	first     sync.Mutex
	measured  atomic.Int64 // when, on our clock; 0 for never
	same      atomic.Bool  // it is our own clock
	ahead     atomic.Int64 // ns
	measuring atomic.Bool
	last      atomic.Int64 // the latest time that was returned
}

func (c *farClock) now() int64 {
	if c.measured.Load() == 0 {
		c.first.Lock()
		if c.measured.Load() == 0 {
			c.measure()
		}
		c.first.Unlock()
	}
	here := history.Now()
	if c.same.Load() {
		return here
	}
	if at := c.measured.Load(); at != 0 && here-at > int64(clockEvery) && c.measuring.CompareAndSwap(false, true) {
		go func() {
			defer c.measuring.Store(false)
			c.measure()
		}()
	}
	for {
		now, last := here+c.ahead.Load(), c.last.Load()
		if now <= last {
			return last
		}
		if c.last.CompareAndSwap(last, now) {
			return now
		}
	}
}

// measure changes nothing where the agent does not answer.
func (c *farClock) measure() {
	quickest := int64(-1)
	for range clockSamples {
		ctx, cancel := context.WithTimeout(context.Background(), clockWait)
		before := history.Now()
		there, boot, err := c.ask(ctx)
		after := history.Now()
		cancel()
		if err != nil {
			break
		}
		// A clock of the same kernel that a time namespace has shifted would show a time
		// that is not between the two.
		if boot != "" && boot == c.boot && before <= there && there <= after {
			c.same.Store(true)
			c.measured.Store(after)
			return
		}
		if quickest < 0 || after-before < quickest {
			quickest = after - before
			c.ahead.Store(there - before - (after-before)/2)
		}
	}
	if quickest >= 0 {
		c.measured.Store(history.Now())
	}
}

// bootID names this start of the kernel among all of all machines; "" where the kernel
// does not tell. Processes for which it is the same read the same monotonic clock, but
// for time namespaces.
func bootID() string {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}
