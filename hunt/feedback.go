package hunt

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"github.com/picklock/picklock/history"
)

// feedback is what a run was worth to the search, besides what it broke.
type feedback struct {
	states  []uint64           // abstract states, and steps from one to another
	margins map[string]float64 // by property: how close it came, in leases; 0 is a violation
}

// clientState is what the history says of one client at one moment.
type clientState struct {
	key                          string // of its latest acquire
	asks, believes, lost, writes bool
	shared                       bool // the lock, by its latest grant
	entries                      int  // of a reentrant lock, after the first
	// holds: it was granted the lock and has neither begun to release it nor been notified of its loss.
	// until, lostAt and wrote are of that grant, and known until it is released.
	holds  bool
	until  int64 // the end of its lease; 0: it has none
	lostAt int64 // when the service reported its loss; 0: it did not
	wrote  int64 // when its last write was answered, or sent; 0: it has not written
}

// feedbackOf reads the plain trace of a run: who believes, whose lease lives, who waits, what
// is on, and in which order. Plain traces do as well as models of the system under test
// (Dragoi et al., Model-guided fuzzing of distributed systems, 2024).
func feedbackOf(events []history.Event, ttl time.Duration) feedback {
	f := feedback{margins: map[string]float64{}}
	clients := map[string]*clientState{}
	on := map[string]int{}
	var last uint64
	for _, e := range events {
		if e.Process == history.Nemesis {
			if e.Phase == history.Begin && e.Confirmed {
				on[e.F]++
			} else if e.Phase == history.End && on[e.F] > 0 {
				on[e.F]--
			}
		} else {
			c := clients[e.Process]
			if c == nil {
				c = &clientState{}
				clients[e.Process] = c
			}
			f.margin(clients, e, ttl)
			c.step(e)
		}
		now := abstract(clients, on, e)
		if now == last {
			continue
		}
		f.states = append(f.states, now, now*31+last)
		last = now
	}
	slices.Sort(f.states)
	f.states = slices.Compact(f.states)
	return f
}

func (c *clientState) step(e history.Event) {
	switch {
	case e.F == history.Acquire:
		c.key = e.Key
		if c.asks = e.Type == history.Invoke; e.Type != history.OK {
			break
		}
		if e.Mode == history.Nested {
			c.entries++
			break
		}
		c.believes, c.lost, c.holds, c.shared, c.entries = true, false, true, e.Shares(), 0
		c.until, c.lostAt, c.wrote = 0, 0, 0
	case e.F == history.Release && e.Type == history.Invoke && c.entries > 0:
		c.entries--
	case e.F == history.Release && e.Type == history.Invoke:
		// Who is granted the lock from now on is so because of this release, however soon it comes.
		c.believes, c.holds = false, false
		c.until, c.lostAt, c.wrote = 0, 0, 0
	case e.F == history.Lost:
		c.lost, c.believes, c.holds = true, false, false
		c.lostAt = e.Time
	case e.F == history.Write || e.F == history.Add:
		c.writes, c.wrote = e.Type == history.Invoke, e.Time
	}
	if e.Type == history.OK && e.Lease > 0 && (e.F == history.Acquire || e.F == history.Renew) && c.holds {
		c.until = e.Since + e.Lease
	}
}

// margin measures how far the run was from a violation when another client is granted the lock
// although the one before it has not released it. A handover by a release is no near miss.
//
//   - exclusion: the time from the end of one lease to the next grant;
//   - belief: the time from the notice of a loss to the next grant;
//   - register: the time from the last write under the one grant to the next grant.
func (f *feedback) margin(clients map[string]*clientState, e history.Event, ttl time.Duration) {
	if e.F != history.Acquire || e.Type != history.OK {
		return
	}
	closer := func(property string, by int64) {
		m := max(0, float64(by)/float64(ttl))
		if have, ok := f.margins[property]; !ok || m < have {
			f.margins[property] = m
		}
	}
	for name, c := range clients {
		if name == e.Process || c.key != e.Key || !c.holds && c.lostAt == 0 || c.shared && e.Shares() {
			continue
		}
		if c.until > 0 {
			closer("exclusion", e.Time-c.until)
		}
		if c.lostAt > 0 {
			closer("belief", e.Time-c.lostAt)
		}
		switch {
		case c.writes:
			closer("register", 0)
		case c.wrote > 0:
			closer("register", e.Time-c.wrote)
		}
	}
}

// abstract is the state after an event, without names of grants and without times: only
// whether a lease is over.
func abstract(clients map[string]*clientState, on map[string]int, e history.Event) uint64 {
	var b strings.Builder
	var keys []string // in the order of the clients: their names differ from run to run
	for _, name := range clientNames {
		c := clients[name]
		if c == nil {
			b.WriteString("-")
			continue
		}
		over := c.until > 0 && e.Time > c.until
		if !slices.Contains(keys, c.key) {
			keys = append(keys, c.key)
		}
		fmt.Fprintf(&b, "%s%d%t%t%t%t%t;", name, slices.Index(keys, c.key), c.asks, c.believes, c.lost, c.writes, over && c.believes)
	}
	var faults []string
	for k, n := range on {
		if n > 0 {
			faults = append(faults, k)
		}
	}
	slices.Sort(faults)
	fmt.Fprintf(&b, "%v %s %s %s", faults, e.Process, e.F, e.Type)
	h := fnv.New64a()
	_, _ = h.Write([]byte(b.String())) // cannot fail
	return h.Sum64()
}
