package history

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
)

// sortChunk is how many events a sorter has in memory at a time, about 120 bytes each.
const sortChunk = 1 << 18

// sorter puts events into their true order (see Sort) in memory that does not grow with
// their number: it sorts chunks of them, writes each to a file of its own, and merges
// them. Few events stay in memory. Not safe for concurrent use.
type sorter struct {
	size  int
	chunk packedEvents
	spill *os.File // nil as long as one chunk holds all
	ends  []int64  // of the chunks in it
}

func newSorter(size int) *sorter { return &sorter{size: size} }

// packedEvents are events one after the other in packed form, with what orders them.
type packedEvents struct {
	text []byte
	keys []packedKey
}

// packedKey says what orders an event, and where it stands.
type packedKey struct {
	time, index int64
	from, to    int
}

func (p *packedEvents) add(e *Event, line int) {
	from := len(p.text)
	p.text = packEvent(p.text, e, line)
	p.keys = append(p.keys, packedKey{e.Time, e.Index, from, len(p.text)})
}

func (p *packedEvents) reset() { p.text, p.keys = p.text[:0], p.keys[:0] }

func (p *packedEvents) at(k packedKey) []byte { return p.text[k.from:k.to] }

// sort puts the keys into the order of their events.
func (p *packedEvents) sort() {
	if !slices.IsSortedFunc(p.keys, packedKey.compare) {
		slices.SortStableFunc(p.keys, packedKey.compare)
	}
}

func (k packedKey) compare(o packedKey) int {
	if k.time != o.time {
		return cmp.Compare(k.time, o.time)
	}
	return cmp.Compare(k.index, o.index)
}

// add takes an event, which may be changed afterwards, and where it stands.
func (s *sorter) add(e *Event, line int) error {
	s.chunk.add(e, line)
	return s.flushFull()
}

// addPacked takes events that are packed already.
func (s *sorter) addPacked(p *packedEvents) error {
	at := len(s.chunk.text)
	s.chunk.text = append(s.chunk.text, p.text...)
	for _, k := range p.keys {
		k.from, k.to = k.from+at, k.to+at
		s.chunk.keys = append(s.chunk.keys, k)
	}
	return s.flushFull()
}

func (s *sorter) flushFull() error {
	if len(s.chunk.keys) < s.size {
		return nil
	}
	return s.flush()
}

// flush writes the chunk and empties it.
func (s *sorter) flush() error {
	if len(s.chunk.keys) == 0 {
		return nil
	}
	if s.spill == nil {
		f, err := os.CreateTemp("", "picklock-sort-*")
		if err != nil {
			return fmt.Errorf("put the history in order: %w", err)
		}
		s.spill = f
		// Nobody else needs its name, and so nothing is left of it however this ends.
		if err := os.Remove(f.Name()); err != nil {
			return fmt.Errorf("put the history in order: %w", err)
		}
	}
	s.chunk.sort()
	w := bufio.NewWriterSize(s.spill, 1<<18)
	for _, k := range s.chunk.keys {
		var head [binary.MaxVarintLen64]byte
		_, _ = w.Write(head[:binary.PutUvarint(head[:], uint64(k.to-k.from))])
		_, _ = w.Write(s.chunk.at(k)) // Flush says whether they could be written
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("put the history in order: write %s: %w", os.TempDir(), err)
	}
	at, err := s.spill.Seek(0, io.SeekCurrent)
	s.ends = append(s.ends, at)
	s.chunk.reset()
	return err
}

// sortedBatch is a stretch of events in their order, on its way through an unpacker.
type sortedBatch struct {
	text   []byte
	ends   []int
	err    error // of what was to come after them
	events []Event
	lines  []int
}

// each hands over all events in their order, once. They are unpacked on all CPUs; take is
// called by the caller's goroutine.
func (s *sorter) each(take func(e *Event, line int) error) error {
	free := make(chan *sortedBatch, 4*runtime.GOMAXPROCS(0))
	return ordered(
		func(emit func(*sortedBatch) bool) { s.batches(free, emit) },
		func() func(*sortedBatch) {
			in := &interner{}
			return func(b *sortedBatch) { b.unpack(in) }
		},
		func(b *sortedBatch) error {
			for i := range b.events {
				if err := take(&b.events[i], b.lines[i]); err != nil {
					return err
				}
			}
			if b.err != nil {
				return b.err
			}
			select {
			case free <- b:
			default:
			}
			return nil
		})
}

// batches cuts the sorted events into batches, until emit wants no more.
func (s *sorter) batches(free <-chan *sortedBatch, emit func(*sortedBatch) bool) {
	fresh := func() *sortedBatch {
		select {
		case b := <-free:
			b.text, b.ends = b.text[:0], b.ends[:0]
			return b
		default:
			return &sortedBatch{}
		}
	}
	b := fresh()
	err := s.records(func(record []byte) bool {
		b.text = append(b.text, record...)
		b.ends = append(b.ends, len(b.text))
		if len(b.text) < batchBytes {
			return true
		}
		full := b
		b = fresh()
		return emit(full)
	})
	b.err = err
	emit(b)
}

func (b *sortedBatch) unpack(in *interner) {
	b.events, b.lines = slices.Grow(b.events[:0], len(b.ends))[:len(b.ends)], b.lines[:0]
	from := 0
	for i, to := range b.ends {
		b.lines = append(b.lines, unpackEvent(b.text[from:to], &b.events[i], in))
		from = to
	}
}

// records hands over all packed events in their order, until yield wants no more.
func (s *sorter) records(yield func([]byte) bool) error {
	if s.spill == nil {
		s.chunk.sort()
		for _, k := range s.chunk.keys {
			if !yield(s.chunk.at(k)) {
				return nil
			}
		}
		return nil
	}
	if err := s.flush(); err != nil {
		return err
	}
	s.chunk = packedEvents{}
	return s.merge(yield)
}

// close gives back what the sorter holds.
func (s *sorter) close() error {
	if s.spill == nil {
		return nil
	}
	return s.spill.Close()
}
