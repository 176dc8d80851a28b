package results

import (
	"cmp"
	"maps"
	"math"
	"slices"
)

// focusKind is what the first view of a run without anomalies shows.
type focusKind string

const (
	focusRefusal    focusKind = "refusal"    // what the fencing is for
	focusContention focusKind = "contention" // a client holds the lock and another waits for it
	focusStart      focusKind = "start"
)

// focus is where to look first in a run without anomalies.
type focus struct {
	From, To int64
	What     focusKind
	Tracks   []int // that hold, do something with the register or are under a fault meanwhile
}

// focus finds it: the first refused operation, or else the first contention, or else
// the beginning.
func (t *timeline) focus(lease int64) focus {
	if lease <= 0 {
		lease = 1e9
	}
	lease = min(lease, math.MaxInt64/32)
	f := focus{t.Start, min(t.End, t.Start+10*lease), focusStart, nil}
	if r := t.rejected(); len(r) > 0 {
		f.From, f.To, f.What = max(t.Start, r[0].At-3*lease), min(t.End, r[0].At+lease), focusRefusal
	} else if at, end, ok := t.contention(); ok {
		f.From, f.To, f.What = max(t.Start, at-(end-at)/8-1), min(t.End, end), focusContention
	}
	f.Tracks = t.acting(f.From, f.To)
	return f
}

// sections is how many critical sections the first contended view shows.
const sections = 12

// contention finds the first hold for which another client waited, and the end of the
// last of the sections from there on.
func (t *timeline) contention() (from, to int64, ok bool) {
	order := make([]int, len(t.Holds))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(t.Holds[a].From, t.Holds[b].From) })
	waits := t.waitsByKey()
	for n, i := range order {
		h := t.Holds[i]
		if !waits[h.Key].meets(h) {
			continue
		}
		last := t.Holds[order[min(n+sections-1, len(order)-1)]]
		return h.From, max(h.From+1, h.To, last.To), true
	}
	return 0, 0, false
}

// keyWaits are the waits for one key, by their begins. Of each and all before it, reach has the
// place of the one that ends last, and other of the one that does among those of other tracks, -1
// where there is none.
type keyWaits struct {
	list         []*wait
	reach, other []int32
}

func (t *timeline) waitsByKey() map[int]*keyWaits {
	out := map[int]*keyWaits{}
	for i := range t.Waits {
		w := &t.Waits[i]
		if out[w.Key] == nil {
			out[w.Key] = &keyWaits{}
		}
		out[w.Key].list = append(out[w.Key].list, w)
	}
	for _, k := range out {
		slices.SortStableFunc(k.list, func(a, b *wait) int { return cmp.Compare(a.From, b.From) })
		k.reach, k.other = make([]int32, len(k.list)), make([]int32, len(k.list))
		reach, other := int32(0), int32(-1)
		for i, w := range k.list {
			at := int32(i)
			switch far := k.list[reach]; {
			case w.To > far.To && w.Track != far.Track:
				reach, other = at, reach
			case w.To > far.To:
				reach = at
			case w.Track != far.Track && (other < 0 || w.To > k.list[other].To):
				other = at
			}
			k.reach[i], k.other[i] = reach, other
		}
	}
	return out
}

// meets says whether another track waited while the hold lasted.
func (k *keyWaits) meets(h hold) bool {
	if k == nil {
		return false
	}
	n, _ := slices.BinarySearchFunc(k.list, h.To, func(w *wait, t int64) int { return cmp.Compare(w.From, t) })
	if n == 0 {
		return false
	}
	rival := k.reach[n-1]
	if k.list[rival].Track == h.Track {
		rival = k.other[n-1]
	}
	return rival >= 0 && k.list[rival].To > h.From
}

// maxActing is how many tracks a first view has room for.
const maxActing = 40

// acting lists the tracks on which anything but waiting happens, those that come first
// if they are too many.
func (t *timeline) acting(from, to int64) []int {
	since := map[int]int64{}
	see := func(track int, a, b int64) {
		if a > to || b < from {
			return
		}
		if at, ok := since[track]; !ok || a < at {
			since[track] = a
		}
	}
	for _, h := range t.Holds {
		see(h.Track, h.From, h.To)
	}
	for _, m := range t.Marks {
		see(m.Track, m.From, m.At)
	}
	for _, b := range t.Bands {
		for _, l := range b.Tracks {
			see(l, b.From, b.To)
		}
	}
	out := slices.SortedFunc(maps.Keys(since), func(a, b int) int { return cmp.Or(cmp.Compare(since[a], since[b]), cmp.Compare(a, b)) })
	out = out[:min(len(out), maxActing)]
	slices.Sort(out)
	return out
}
