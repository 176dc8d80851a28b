package forward

import (
	"context"
	"sync"
	"time"
)

// pace lets so many pass in a second, and as many at once after a second of rest.
type pace struct {
	each time.Duration
	mu   sync.Mutex
	next time.Time // when the next one may pass, were there no rest before
}

func newPace(perSecond int) *pace { return &pace{each: time.Second / time.Duration(perSecond)} }

// take counts one more and says how long it has to wait.
func (p *pace) take(now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if earliest := now.Add(-time.Second); p.next.Before(earliest) {
		p.next = earliest
	}
	p.next = p.next.Add(p.each)
	return p.next.Sub(now)
}

// wait returns when one more may pass; false says that ctx ended before.
func (p *pace) wait(ctx context.Context) bool {
	d := p.take(time.Now())
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
