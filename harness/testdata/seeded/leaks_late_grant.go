package main

import "time"

// abandons is an acquire that answers when its time is over, whatever is under way, and leaves a grant that comes
// after that to late.
func abandons(late func(*lock, *hold)) func(*recipe) {
	type answered struct {
		h   *hold
		err error
	}
	return func(r *recipe) {
		watched(r)
		r.acquire = func(l *lock, key string, end time.Time) (*hold, error) {
			answers := make(chan answered)
			over := make(chan struct{})
			go func() {
				h, err := poll(l, key, end)
				select {
				case answers <- answered{h, err}:
				case <-over:
					if err == nil {
						late(l, h)
					}
				}
			}()
			t := time.NewTimer(time.Until(end))
			defer t.Stop()
			select {
			case a := <-answers:
				return a.h, a.err
			case <-t.C:
				close(over)
				return nil, errTimeout
			}
		}
	}
}

// What becomes of a grant that nobody waits for any more.
func renewForEver(l *lock, h *hold) {
	for {
		time.Sleep(l.ttl / 3)
		if renewAside(l, h) == errNotHeld {
			return
		}
	}
}

func giveBack(l *lock, h *hold) { _ = l.free(l, h) } // what is not given back ends by itself

func init() {
	// A promise with a time-out around it does not end what it promises.
	plant(bug{
		name:  "leaks-late-grant",
		about: "an acquire that was given up goes on, and its late grant is renewed for ever",
		wrong: abandons(renewForEver),
		right: abandons(giveBack),
	})
}
