package hunt

import (
	"cmp"
	"maps"
	"slices"

	"github.com/picklock/picklock/scenarios"
)

// Gain is a schedule that showed something new twice, as searches on several machines tell
// each other, so that together they search one space.
type Gain struct {
	Schedule string             `json:"schedule"`
	States   []uint64           `json:"states,omitempty"`
	Margins  map[string]float64 `json:"margins,omitempty"` // in leases, by property
	// Once says that it was seen in one run only: who takes it runs it again first.
	Once bool `json:"once,omitempty"`
}

// CorpusSync is a corpus that several searches have together. Both methods are called while the
// search waits: they must not wait for a network.
type CorpusSync interface {
	// Publish gives what this search gained.
	Publish(Gain)
	// Take returns what others gained since it was last called.
	Take() []Gain
}

// gain is what others can use of an entry.
func (e *entry) gain() Gain {
	return Gain{Schedule: string(e.schedule.Write()), States: slices.Clone(e.gained), Margins: maps.Clone(e.closest)}
}

// merge takes what another search gained. What is new of it there and not here is no news.
func (c *corpus) merge(g Gain) {
	s, err := scenarios.Parse("schedule.yaml", []byte(g.Schedule))
	if err != nil {
		return // written by another version
	}
	before := len(c.entries)
	c.add(s, feedback{states: g.States, margins: g.Margins})
	for _, e := range c.entries[before:] {
		e.asked, e.proven = !g.Once, !g.Once
	}
}

// Best are the schedules of this search that another would go on from: the closest to a
// violation, and of the others those that brought most that was new, so many at most.
func (h *Search) Best(most int) []Gain {
	h.mu.Lock()
	defer h.mu.Unlock()
	entries := slices.Clone(h.corpus.entries)
	slices.SortStableFunc(entries, func(a, b *entry) int {
		return cmp.Or(len(b.closest)-len(a.closest), len(b.gained)-len(a.gained))
	})
	var out []Gain
	for _, e := range entries[:min(most, len(entries))] {
		g := e.gain()
		g.Once = !e.proven
		out = append(out, g)
	}
	return out
}

// exchange takes what others gained. h.mu is held.
func (h *Search) exchange() {
	if h.o.CorpusSync == nil {
		return
	}
	for _, g := range h.o.CorpusSync.Take() {
		h.corpus.merge(g)
	}
}
