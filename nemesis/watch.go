package nemesis

import (
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/picklock/picklock/history"
)

// watch follows the clients' events, so that a fault can be triggered in the
// moment that matters instead of at random, and end when it has been on for long enough.
type watch struct {
	mu      sync.Mutex
	reading map[string]string       // key -> client that has read and not yet written
	keys    map[string]string       // client -> the key that it last read
	asks    map[string]bool         // clients that have asked for a lock and have no answer
	waiting []chan string           // triggers that want the next such client
	harms   map[string][]harmWaiter // by key
	// grants: clients only hold the lock, so that a grant is the moment that matters.
	grants bool
}

type harmWaiter struct {
	victim string
	early  bool // before the other client's write: as soon as it has read
	done   chan struct{}
}

func newWatch(grants bool) *watch {
	return &watch{grants: grants, reading: map[string]string{}, keys: map[string]string{}, asks: map[string]bool{}, harms: map[string][]harmWaiter{}}
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
	if e.F == history.Acquire {
		delete(w.asks, e.Process)
		if e.Type == history.Invoke {
			w.asks[e.Process] = true
		}
	}
	if e.Type == history.OK && (write || e.F == history.Read) {
		w.suffered(e, write)
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
	}
}

// suffered ends the faults that were waiting for this read or write of another client.
func (w *watch) suffered(e history.Event, write bool) {
	rest := w.harms[e.Key][:0]
	for _, h := range w.harms[e.Key] {
		if h.victim == e.Process || !write && !h.early {
			rest = append(rest, h)
			continue
		}
		close(h.done)
	}
	w.harms[e.Key] = rest
}

// asking lists the clients that have asked for a lock and have no answer yet.
func (w *watch) asking() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Sorted(maps.Keys(w.asks))
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
// been accepted, or early, as soon as that one has read what it will write upon; never
// where nothing is written.
func (w *watch) harm(victim string, early bool) <-chan struct{} {
	if w.grants {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	h := harmWaiter{victim, early, make(chan struct{})}
	w.harms[w.keys[victim]] = append(w.harms[w.keys[victim]], h)
	return h.done
}

// untilHarm is how long a fault of a holder lasts at most: it ends when another client has
// written (see Awaiter). If nothing is written, it is so long that a lease ends now and then.
func untilHarm(e *Env, rng *rand.Rand) time.Duration {
	if e.Holds {
		return between(rng, e.TTL, 1, 3)
	}
	return 4*e.TTL + time.Second
}
