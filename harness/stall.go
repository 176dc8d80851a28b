package harness

import (
	"fmt"
	"sync"
	"time"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/history"
)

// stalls looks for times at which nothing ran here: a loaded machine, a suspended one,
// a virtual one whose host was busy. A client that does not run loses its lease as one
// that was stopped, and nobody asked for that.
type stalls struct {
	quit chan struct{}
	over sync.WaitGroup
}

// watchStalls records whatever lasts for a quarter of the lease or longer, until stop is
// called. now is the time since the run's start.
func watchStalls(ttl time.Duration, now func() int64, record func(history.Event)) *stalls {
	s := &stalls{quit: make(chan struct{})}
	every := max(ttl/50, time.Millisecond)
	last := history.Now() // here: it may take a while until the goroutine runs, which is a stall, too
	s.over.Go(func() {
		t := time.NewTicker(every)
		defer t.Stop()
		for {
			select {
			case <-s.quit:
				return
			case <-t.C:
			}
			at := history.Now()
			if still := time.Duration(at - last); still-every >= ttl/4 {
				recordStall(now(), still, record)
			}
			last = at
		}
	})
	return s
}

func recordStall(end int64, still time.Duration, record func(history.Event)) {
	e := history.Event{
		Time: max(0, end-int64(still)), Process: history.Nemesis, Type: history.Info, F: checker.Stall, Phase: history.Begin, Confirmed: true,
		Detail: fmt.Sprintf("this machine ran nothing of picklock's for %v", still.Round(time.Millisecond)),
	}
	record(e)
	e.Time, e.Phase, e.Confirmed, e.Detail = end, history.End, false, ""
	record(e)
}

func (s *stalls) stop() {
	if s == nil {
		return
	}
	close(s.quit)
	s.over.Wait()
}
