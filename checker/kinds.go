package checker

import (
	"cmp"
	"container/heap"
	"fmt"
	"slices"
	"strings"

	"github.com/picklock/picklock/history"
)

// Locks that are no mutex. What kind a lock is, its grants say themselves: those of a
// semaphore how many permits there are, those of readers that they are shared, those of a
// reentrant lock that they are entries of a hold. One whose grants say nothing of that
// is a mutex; and one of which they say several things is not judged.

// mode is how a grant holds the lock.
type mode uint8

const (
	exclusive mode = iota
	shared         // with others that are shared
	nested         // once more by a process that holds it: one hold with those before
)

func modeOf(m string) mode {
	switch m {
	case history.Shared:
		return shared
	case history.Nested:
		return nested
	}
	return exclusive
}

// learn takes in what a grant says of its lock. Of several numbers of permits the
// greatest counts: no more is allowed than that.
func (k *lock) learn(e *history.Event) {
	k.permits = max(k.permits, min(e.Permits, never))
	k.shared = k.shared || e.Mode == history.Shared
	k.nested = k.nested || e.Mode == history.Nested
}

func (k *lock) mutex() bool { return k.permits <= 0 && !k.shared && !k.nested }

// busyFor says whether the lock kept back a client that asks for it now.
func (k *lock) busyFor(e *history.Event) bool {
	switch {
	case e.Mode == history.Shared:
		return k.alone > 0
	case e.Permits > 0:
		return int64(k.held) >= e.Permits
	}
	return k.held > 0
}

// contestedBy says whether another client had to wait for this grant's end, or this one
// for another's. o is the grant's acquire, nil if it is not known.
func (k *lock) contestedBy(g *grant, o *op) bool {
	waited := o != nil && o.busy
	switch {
	case g.mode == nested:
		return false
	case g.mode == shared:
		return waited
	case k.permits > 0:
		return waited || int64(k.open)+int64(k.held) >= k.permits
	}
	return k.open > 0 || waited
}

// endHold ends what the process believed of the lock before it asks for it anew, or is
// granted it anew. An entry of a hold ends nothing.
func (ix *index) endHold(p *proc, k *lock, e *history.Event, t int64) {
	if e.Mode == history.Nested {
		return
	}
	if k.nested { // whatever was entered
		for _, g := range slices.Clone(p.held) {
			if g.lock == k {
				ix.endBelief(g, t)
			}
		}
	}
	if g := p.latest.get(k.name); g != nil {
		ix.endBelief(g, t)
	}
}

// kept chooses the words for a run with mutexes only, or with others.
func (ix *index) kept(mutex, other string) string {
	if slices.ContainsFunc(ix.keys, func(k *lock) bool { return !k.mutex() }) {
		return other
	}
	return mutex
}

// capacity looks at stretches of time in the order of their beginnings, and remembers of
// those before what can stand in the way of the next.
type capacity interface {
	// conflicts returns the fewest earlier stretches with which p is one too many; nil if
	// it is not.
	conflicts(p piece) []piece
	add(p piece)
}

func (k *lock) capacity() capacity {
	switch {
	case k.permits > 0 && !k.shared && !k.nested:
		return &permitCapacity{n: k.permits}
	case k.shared && k.permits <= 0 && !k.nested:
		return &sharedCapacity{}
	case k.nested && k.permits <= 0 && !k.shared:
		return &ownerCapacity{reach: map[string]int64{}, part: map[*grant]bool{}}
	}
	return nil
}

// ambiguous is a lock of which its grants say several things, nil if there is none.
func (ix *index) ambiguous() *lock {
	for _, k := range ix.keys {
		if !k.mutex() && k.capacity() == nil {
			return k
		}
	}
	return nil
}

// permitCapacity holds the n stretches that reach furthest.
type permitCapacity struct {
	n    int64
	list byEnd
}

type byEnd []piece

func (l byEnd) Len() int           { return len(l) }
func (l byEnd) Less(i, j int) bool { return l[i].to < l[j].to }
func (l byEnd) Swap(i, j int)      { l[i], l[j] = l[j], l[i] }
func (l *byEnd) Push(v any)        { *l = append(*l, v.(piece)) }
func (l *byEnd) Pop() any {
	last := len(*l) - 1
	v := (*l)[last]
	*l = (*l)[:last]
	return v
}

func (c *permitCapacity) conflicts(p piece) []piece {
	if int64(len(c.list)) < c.n || c.list[0].to <= p.from {
		return nil
	}
	return slices.Clone(c.list)
}

func (c *permitCapacity) add(p piece) {
	heap.Push(&c.list, p)
	if int64(len(c.list)) > c.n {
		heap.Pop(&c.list)
	}
}

// sharedCapacity holds, of those who share the lock and of those who do not, the stretch
// that reaches furthest.
type sharedCapacity struct{ exclusive, shared piece }

func (c *sharedCapacity) conflicts(p piece) []piece {
	rival := c.exclusive
	if p.g.mode != shared && c.shared.to > rival.to {
		rival = c.shared
	}
	if rival.to <= p.from {
		return nil
	}
	return []piece{rival}
}

func (c *sharedCapacity) add(p piece) {
	longest := &c.exclusive
	if p.g.mode == shared {
		longest = &c.shared
	}
	if p.to > longest.to {
		*longest = p
	}
}

// ownerCapacity holds the stretch that reaches furthest, and the one that does among those
// of other processes.
type ownerCapacity struct {
	longest, other piece
	reach          map[string]int64 // by process: until when it has the lock
	part           map[*grant]bool  // met a rival as part of a hold that had met it
}

func (c *ownerCapacity) conflicts(p piece) []piece {
	// A hold that begins anew is not the one that its process had before.
	anew := p.g.mode != nested && p.from == p.g.okT
	rival := c.longest
	if !anew && rival.g != nil && rival.g.process == p.g.process {
		rival = c.other
	}
	switch {
	case rival.to <= p.from || c.part[p.g]:
		return nil
	case !anew && c.reach[p.g.process] > p.from:
		// Whoever came last, the rest of the hold or the rival, was looked at then.
		c.part[p.g] = true
		return nil
	}
	return []piece{rival}
}

func (c *ownerCapacity) add(p piece) {
	c.reach[p.g.process] = max(c.reach[p.g.process], p.to)
	switch {
	case c.longest.g == nil || c.longest.g.process == p.g.process:
		if p.to > c.longest.to {
			c.longest = p
		}
	case p.to > c.longest.to:
		c.longest, c.other = p, c.longest
	case p.to > c.other.to:
		c.other = p
	}
}

// earlyOf is earlyOf for what kind of lock it is. What a kind other than the mutex is
// accused of are leases that were certainly alive at one instant; of a lease that was
// over before its client learnt of it nothing is said.
func (k *lock) earlyOf(grants []*grant) []earlyPair {
	if k.mutex() {
		return earlyOf(grants)
	}
	var pieces []piece
	for _, g := range grants {
		for _, s := range g.pieces() {
			pieces = append(pieces, piece{s, g})
		}
	}
	sortBy(pieces, func(p piece) int64 { return p.from })
	c := k.capacity()
	if c == nil {
		return nil
	}
	var out []earlyPair
	accused := map[*grant]bool{}
	for _, p := range pieces {
		if older := c.conflicts(p); older != nil && !accused[p.g] {
			accused[p.g] = true
			out = append(out, earlyPair{newer: p.g, older: grantsOf(older), from: p.from, renewed: p.from != p.g.okT})
		}
		c.add(p)
	}
	return out
}

// grantsOf lists the grants of stretches, in their order.
func grantsOf(pieces []piece) []*grant {
	out := make([]*grant, len(pieces))
	for i, p := range pieces {
		out[i] = p.g
	}
	slices.SortFunc(out, func(a, b *grant) int { return cmp.Compare(a.ok, b.ok) })
	return out
}

// tell explains a grant that was one too many, and returns the places that prove it.
func (ix *index) tell(e earlyPair, a *Anomaly) []int32 {
	newer, first := e.newer, e.older[0]
	places := newer.proof(e.from)
	until := newer.aliveUntil(e.from)
	for _, g := range e.older {
		places = append(places, g.proof(e.from)...)
		a.Sizes["remaining"] = min(a.Sizes["remaining"], g.leaseLeft(e.from))
		until = min(until, g.aliveUntil(e.from))
	}
	a.Sizes["overlap"] = until - e.from
	what := newer.gets()
	if e.renewed {
		a.Cause = "renewed-early"
		what = newer.process + "'s lease had ended and was renewed"
	}
	if newer.lock.permits > 0 {
		a.Explanation = fmt.Sprintf("%s by %s, while %s out: the leases of %s certainly had at least %s left",
			what, clock(e.from), permitWords(newer.lock.permits), andWords(processesOf(e.older)), dur(a.Sizes["remaining"]))
		return places
	}
	if w := newer.givenWithin(); !e.renewed && newer.mode == exclusive && first.mode == exclusive && len(newer.proof(e.from)) > 1 && first.aliveOver(w.from, w.to) && !first.startsAt(w.from) {
		places = ix.coverProof(e) // as between two grants of a mutex
	}
	a.Explanation = fmt.Sprintf("%s by %s, while %s's %s, granted %s earlier, certainly had %s left",
		what, clock(e.from), first.process, first.claim(), dur(e.from-first.okT), dur(a.Sizes["remaining"]))
	return places
}

// gets says what the grant gave: "c2 was granted a permit".
func (g *grant) gets() string {
	switch {
	case g.lock.permits > 0:
		return g.process + " was granted a permit"
	case g.mode == shared:
		return g.process + " was granted the lock to share it"
	case g.mode == nested:
		return g.process + " entered the lock again"
	case g.lock.shared:
		return g.process + " was granted the lock alone"
	}
	return g.process + " was granted the lock"
}

func permitWords(n int64) string {
	if n == 1 {
		return "the only permit was"
	}
	return fmt.Sprintf("all %d permits were", n)
}

// processesOf lists whose grants these are, each once.
func processesOf(grants []*grant) []string {
	var out []string
	for _, g := range grants {
		if !slices.Contains(out, g.process) {
			out = append(out, g.process)
		}
	}
	return out
}

func andWords(words []string) string {
	if n := len(words); n > 1 {
		return strings.Join(words[:n-1], ", ") + " and " + words[n-1]
	}
	return words[0]
}

// tooManyHolders is findTwoHolders for a lock that is no mutex.
func (ix *index) tooManyHolders(k *lock, early map[*grant]bool) []Anomaly {
	c := k.capacity()
	if c == nil {
		return nil
	}
	var out []Anomaly
	for _, g := range k.grants {
		if g.believedEnd <= g.okT {
			continue
		}
		p := piece{span{g.okT, g.believedEnd}, g}
		if older := c.conflicts(p); older != nil {
			out = append(out, ix.tooMany(grantsOf(older), g, early[g]))
		}
		c.add(p)
	}
	return out
}

func (ix *index) tooMany(older []*grant, newer *grant, early bool) Anomaly {
	a := Anomaly{Name: "two-holders", Property: Belief, Key: newer.lock.name, Time: newer.okT, Sizes: map[string]int64{}}
	until, from := newer.believedEnd, newer.okT
	places, culprit := []int32{newer.ok}, older[0]
	for _, g := range older {
		a.Grants = append(a.Grants, g.id)
		places = append(places, g.ok)
		until, from = min(until, g.believedEnd), min(from, g.okT)
		if g.promised > 0 && (culprit.promised == 0 || g.promised < culprit.promised) {
			culprit = g // the one whose lease ended first
		}
	}
	a.Grants, a.Processes = append(a.Grants, newer.id), processesOf(older)
	a.Events = ix.at(places...)
	a.Sizes["overlap"] = until - newer.okT
	all := "both believed it"
	switch {
	case len(older) > 1:
		a.Explanation = fmt.Sprintf("%s believed that they held all %d permits", andWords(a.Processes), len(older))
		all = "all believed it"
	case newer.lock.permits == 1:
		a.Explanation = older[0].process + " still believed that it held the only permit"
	case older[0].mode == shared:
		a.Explanation = older[0].process + " still believed that it shared the lock"
	default:
		a.Explanation = older[0].process + " still believed that it held the lock"
	}
	a.Explanation += fmt.Sprintf(" when %s by %s; %s for %s", newer.gets(), clock(newer.okT), all, dur(a.Sizes["overlap"]))
	blame(&a, culprit, newer, early)
	return ix.finish(a, from, newer.process)
}
