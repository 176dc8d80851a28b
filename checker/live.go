package checker

import (
	"cmp"
	"container/heap"
	"slices"

	"github.com/picklock/picklock/history"
)

// Live counts while a run goes on, for the progress line: what it sees so far, at
// constant cost an event. It is no verdict. It takes events as they come in, which
// need not be the order of their times, and reports only what is plain from the
// acquires, renewals and releases alone. Not safe for concurrent use.
type Live struct {
	Grants    int
	Anomalies int // grants that came while another lease was certainly alive, or with a smaller token
	Rejected  int // register operations that were refused
	// Overlaps are grants that came while another client believed that it held the
	// lock; whether that breaks anything, the verdict says.
	Overlaps int
	Together bool // the lock may be held by several, so that overlaps are not counted
	// Lag is how long, in ns of the events' times, each is held back so that those of
	// other clients, which arrive on ways of their own, can be put before it.
	Lag    int64
	newest int64
	held   liveHeap
	seen   int64
	keys   map[string]*liveKey
	grants map[string]*liveGrant
	faults map[string]int
}

type liveKey struct {
	holders []*liveGrant // believed, oldest first
	alive   *liveGrant   // whose lease reaches furthest
	top     int64        // greatest token
	topOk   int64        // the ok of its grant
}

type liveGrant struct {
	id, key, process string
	until            int64
	// early are the oks of the grants that came while this one seemed alive. Its
	// release may arrive after them although it was sent before.
	early []int64
	// beside are the oks of the grants that overlapped with this one, if it was not
	// given back before.
	beside []int64
}

// maxHolders bounds what one key remembers, so that clients that never release
// cannot make the progress line slow.
const maxHolders = 64

// NewLive starts a count at nothing.
func NewLive() *Live {
	return &Live{keys: map[string]*liveKey{}, grants: map[string]*liveGrant{}, faults: map[string]int{}}
}

// Observe takes one event.
func (l *Live) Observe(e history.Event) {
	if l.Lag <= 0 {
		l.take(e)
		return
	}
	e.Index = l.seen // as it came in
	l.seen++
	heap.Push(&l.held, e)
	l.newest = max(l.newest, e.Time)
	for len(l.held) > 0 && l.held[0].Time <= l.newest-l.Lag {
		l.take(heap.Pop(&l.held).(history.Event))
	}
}

// liveHeap has the earliest event on top.
type liveHeap []history.Event

func (h liveHeap) Len() int { return len(h) }
func (h liveHeap) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(h[i].Time, h[j].Time), cmp.Compare(h[i].Index, h[j].Index)) < 0
}
func (h liveHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *liveHeap) Push(x any)   { *h = append(*h, x.(history.Event)) }
func (h *liveHeap) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}

// take takes the next event.
func (l *Live) take(e history.Event) {
	if e.Process == history.Nemesis {
		switch e.Phase {
		case history.Begin:
			l.faults[e.F]++
			if baseName(e.F) == "kill" {
				for _, n := range e.Nodes {
					l.gone(n)
				}
			}
		case history.End:
			if l.faults[e.F]--; l.faults[e.F] <= 0 {
				delete(l.faults, e.F)
			}
		}
		return
	}
	switch {
	case e.F == history.Acquire && e.Type == history.OK:
		l.granted(e)
	case e.F == history.Release && e.Type == history.Invoke, e.F == history.Lost:
		if g := l.grants[e.Grant]; g != nil {
			g.until = min(g.until, e.Time)
			for _, ok := range g.early {
				if e.Time <= ok {
					l.Anomalies--
				}
			}
			for _, ok := range g.beside {
				if e.Time <= ok {
					l.Overlaps--
				}
			}
			l.drop(g)
		}
	case e.F == history.Renew && e.Type == history.OK && e.Lease > 0:
		if g := l.grants[e.Grant]; g != nil && (e.Held || e.Time <= g.until) {
			g.until = max(g.until, e.Since+e.Lease)
			if k := l.keys[g.key]; k.alive == nil || k.alive.until < g.until {
				k.alive = g
			}
		}
	case e.Type == history.Fail && (e.F == history.Read || e.F == history.Write || e.F == history.Add):
		l.Rejected++
	}
}

func (l *Live) granted(e history.Event) {
	l.Grants++
	k := l.keys[e.Key]
	if k == nil {
		k = &liveKey{}
		l.keys[e.Key] = k
	}
	g := &liveGrant{id: e.Grant, key: e.Key, process: e.Process}
	if e.Lease > 0 {
		g.until = e.Since + e.Lease
	}
	if e.Mode != "" || e.Permits > 0 {
		// Who may share it, only the verdict says.
		l.Together = true
		l.hold(k, g)
		return
	}
	// The latest of the others, which has the most reason to believe it.
	for i := len(k.holders) - 1; i >= 0; i-- {
		if h := k.holders[i]; h.process != g.process {
			l.Overlaps++
			h.beside = append(h.beside, e.Time)
			break
		}
	}
	switch {
	case k.alive != nil && k.alive.process != g.process && k.alive.until > e.Time && g.until > e.Time:
		l.Anomalies++
		k.alive.early = append(k.alive.early, e.Time)
	case e.Token != 0 && e.Lease > 0 && e.Token <= k.top && k.topOk < e.Since:
		l.Anomalies++
	}
	if e.Token > k.top {
		k.top, k.topOk = e.Token, e.Time
	}
	if k.alive == nil || k.alive.until < g.until || k.alive.process == g.process {
		k.alive = g
	}
	l.hold(k, g)
}

func (l *Live) hold(k *liveKey, g *liveGrant) {
	if len(k.holders) == maxHolders {
		delete(l.grants, k.holders[0].id)
		k.holders = slices.Delete(k.holders, 0, 1)
	}
	k.holders = append(k.holders, g)
	l.grants[g.id] = g
}

func (l *Live) drop(g *liveGrant) {
	delete(l.grants, g.id)
	k := l.keys[g.key]
	if i := slices.Index(k.holders, g); i >= 0 {
		k.holders = slices.Delete(k.holders, i, i+1)
	}
}

// gone ends what a killed client believed, and not what it was promised.
func (l *Live) gone(process string) {
	for _, k := range l.keys {
		k.holders = slices.DeleteFunc(k.holders, func(g *liveGrant) bool { return g.process == process })
	}
}

// Holders lists who believes that they hold the lock on key, oldest first.
func (l *Live) Holders(key string) []string {
	k := l.keys[key]
	if k == nil {
		return nil
	}
	var out []string
	for _, g := range k.holders {
		out = append(out, g.process)
	}
	return out
}

// Faults lists the names of the faults that are on.
func (l *Live) Faults() []string {
	out := make([]string, 0, len(l.faults))
	for f := range l.faults {
		out = append(out, f)
	}
	slices.Sort(out)
	return out
}
