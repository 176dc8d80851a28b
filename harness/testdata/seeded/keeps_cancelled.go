package main

import "time"

// cancelled is an acquire that its client can cancel. It answers at once then, and leaves a grant that comes after that to late.
func cancelled(late func(*lock, *hold)) func(*recipe) {
	type answered struct {
		h   *hold
		err error
	}
	return func(r *recipe) {
		watched(r)
		r.Cancels = true
		r.acquire = func(l *lock, key string, end time.Time) (*hold, error) {
			if l.cancelAfter == 0 {
				return poll(l, key, end)
			}
			answers := make(chan answered)
			over := make(chan struct{})
			go func() {
				h, err := pollUnless(l, key, end, over)
				select {
				case answers <- answered{h, err}:
				case <-over:
					if err == nil {
						late(l, h)
					}
				}
			}()
			t := time.NewTimer(l.cancelAfter)
			defer t.Stop()
			select {
			case a := <-answers:
				return a.h, a.err
			case <-t.C:
				close(over)
				return nil, errCancelled
			}
		}
	}
}

func init() {
	// The request under way is not cancelled by the end of the thread or the task that waits for it.
	plant(bug{
		name:  "keeps-cancelled",
		about: "an acquire that was cancelled while its request was under way is granted the lock, and renews it for ever",
		wrong: cancelled(renewForEver),
		right: cancelled(giveBack),
	})
}
