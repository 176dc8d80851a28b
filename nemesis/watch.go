package nemesis

import (
	"math/rand/v2"
	"sync"
	"time"

	"github.com/picklock/picklock/history"
)

// watch follows the clients' events, so that a fault can strike in the moment
// that matters instead of by luck, and end when it has done its harm.
type watch struct {
	mu      sync.Mutex
	reading map[string]string       // key -> client that has read and not yet written
	keys    map[string]string       // client -> the key that it last read
	waiting []chan string           // triggers that want the next such client
	harms   map[string][]harmWaiter // by key
	// grants: clients only hold the lock, so that a grant is the moment that matters.
	grants bool
}

type harmWaiter struct {
	victim string
	done   chan struct{}
}

func newWatch(grants bool) *watch {
	return &watch{grants: grants, reading: map[string]string{}, keys: map[string]string{}, harms: map[string][]harmWaiter{}}
}

// observe takes one event of a client.
func (w *watch) observe(e history.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	write := e.F == history.Write || e.F == history.Add
	moment := history.Read
	if w.grants {
		moment = history.Acquire
	}
	switch {
	case e.F == moment && e.Type == history.OK:
		w.reading[e.Key], w.keys[e.Process] = e.Process, e.Key
		for _, c := range w.waiting {
			c <- e.Process // has room for one, and gets only one
		}
		w.waiting = nil
	case write && e.Type == history.Invoke, e.F == history.Release && e.Type == history.Invoke:
		if w.reading[e.Key] == e.Process {
			delete(w.reading, e.Key)
		}
	case write && e.Type == history.OK:
		rest := w.harms[e.Key][:0]
		for _, h := range w.harms[e.Key] {
			if h.victim == e.Process {
				rest = append(rest, h)
				continue
			}
			close(h.done)
		}
		w.harms[e.Key] = rest
	}
}

// next gives the next client that has read and not yet written.
func (w *watch) next() <-chan string {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := make(chan string, 1)
	w.waiting = append(w.waiting, c)
	return c
}

// harm closes when another client's write to the key that victim last read has
// been accepted; never where nothing is written.
func (w *watch) harm(victim string) <-chan struct{} {
	if w.grants {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	h := harmWaiter{victim, make(chan struct{})}
	w.harms[w.keys[victim]] = append(w.harms[w.keys[victim]], h)
	return h.done
}

// untilHarm is how long a holder suffers at most: it ends when harm was done (see
// Awaiter). Where nothing tells of harm, it is so long that a lease ends now and then.
func untilHarm(e *Env, rng *rand.Rand) time.Duration {
	if e.Holds {
		return between(rng, e.TTL, 1, 3)
	}
	return 4*e.TTL + time.Second
}
