package history

import (
	"bufio"
	"container/heap"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
)

// merge hands over the events of all chunks in their order.
func (s *sorter) merge(yield func([]byte) bool) error {
	var h chunks
	from := int64(0)
	for i, to := range s.ends {
		c := &chunk{number: i, in: bufio.NewReaderSize(io.NewSectionReader(s.spill, from, to-from), 1<<16)}
		from = to
		ok, err := c.next()
		if err != nil {
			return err
		}
		if ok {
			h = append(h, c)
		}
	}
	heap.Init(&h)
	for len(h) > 0 {
		c := h[0]
		if !yield(c.record) {
			return nil
		}
		ok, err := c.next()
		switch {
		case err != nil:
			return err
		case ok:
			heap.Fix(&h, 0)
		default:
			heap.Pop(&h)
		}
	}
	return nil
}

// chunk is a sorted part of the events, read one by one.
type chunk struct {
	number int
	in     *bufio.Reader
	record []byte    // packed; as long as nothing more is read
	key    packedKey // of it
	ahead  int       // how much of in it is
	long   []byte    // a record that is longer than in's room
}

// next reads an event; false at the end.
func (c *chunk) next() (bool, error) {
	_, _ = c.in.Discard(c.ahead) // what was peeked at
	c.ahead = 0
	n, err := binary.ReadUvarint(c.in)
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	if err == nil && n > uint64(c.in.Size()) {
		c.long = slices.Grow(c.long[:0], int(n))[:n]
		_, err = io.ReadFull(c.in, c.long)
		c.record = c.long
	} else if err == nil {
		c.record, err = c.in.Peek(int(n))
		c.ahead = len(c.record)
	}
	if err != nil {
		return false, fmt.Errorf("put the history in order: %w", err)
	}
	c.key.time, c.key.index = packedOrder(c.record)
	return true, nil
}

// chunks is a heap with the earliest event on top.
type chunks []*chunk

func (h chunks) Len() int { return len(h) }
func (h chunks) Less(i, j int) bool {
	if c := h[i].key.compare(h[j].key); c != 0 {
		return c < 0
	}
	return h[i].number < h[j].number
}
func (h chunks) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *chunks) Push(x any)   { *h = append(*h, x.(*chunk)) }
func (h *chunks) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}
