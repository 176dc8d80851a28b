package history

import (
	"bufio"
	"container/heap"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// sortChunk is how many events SortFile has in memory at a time.
const sortChunk = 1 << 16

// SortFile puts the events of a history file into their true order (see Sort) and
// numbers them anew, in memory that does not grow with the file. It is for files that
// were written as their events arrived, numbered in that order. path is replaced only
// when the whole file is on disk.
func SortFile(path string) error { return sortFile(path, sortChunk) }

func sortFile(path string, size int) (err error) {
	s := sorter{path: path, size: size}
	defer func() { err = errors.Join(err, s.close()) }()
	if err := StreamFile(path, s.add); err != nil {
		return fmt.Errorf("put the history in order: %w", err)
	}
	if s.spill == nil {
		Sort(s.chunk)
		return WriteFile(path, s.chunk)
	}
	if err := s.flush(); err != nil {
		return fmt.Errorf("put the history in order: %w", err)
	}
	s.chunk = nil
	return s.merge()
}

// sorter writes sorted chunks one after the other to a file of its own, and merges
// them.
type sorter struct {
	path  string
	size  int
	chunk []Event
	spill *os.File // nil as long as one chunk holds all
	ends  []int64  // of the chunks in it
}

func (s *sorter) add(e *Event) error {
	s.chunk = append(s.chunk, *e)
	if len(s.chunk) < s.size {
		return nil
	}
	return s.flush()
}

// flush writes the chunk and empties it.
func (s *sorter) flush() error {
	if s.spill == nil {
		f, err := os.Create(s.path + ".sort")
		if err != nil {
			return err
		}
		s.spill = f
	}
	Sort(s.chunk)
	w := bufio.NewWriterSize(s.spill, 1<<20)
	for i := range s.chunk {
		line, err := json.Marshal(&s.chunk[i])
		if err != nil {
			return err
		}
		if _, err := w.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	at, err := s.spill.Seek(0, io.SeekCurrent)
	s.ends, s.chunk = append(s.ends, at), s.chunk[:0]
	return err
}

func (s *sorter) merge() error {
	var h chunks
	from := int64(0)
	for _, to := range s.ends {
		c := &chunk{lines: bufio.NewReaderSize(io.NewSectionReader(s.spill, from, to-from), 1<<16)}
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
	return writeFile(s.path, func(yield func(*Event) error) error {
		for len(h) > 0 {
			c := h[0]
			e := c.event
			if err := yield(&e); err != nil {
				return err
			}
			ok, err := c.next()
			if err != nil {
				return err
			}
			if ok {
				heap.Fix(&h, 0)
			} else {
				heap.Pop(&h)
			}
		}
		return nil
	})
}

func (s *sorter) close() error {
	if s.spill == nil {
		return nil
	}
	return errors.Join(s.spill.Close(), os.Remove(s.spill.Name()))
}

// chunk is a sorted part of the file, read event by event.
type chunk struct {
	lines *bufio.Reader
	in    interner
	event Event
}

// next reads an event; false at the end.
func (c *chunk) next() (bool, error) {
	line, err := c.lines.ReadBytes('\n')
	if errors.Is(err, io.EOF) && len(line) == 0 {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("put the history in order: %w", err)
	}
	c.event = Event{}
	if !fastEvent(line[:len(line)-1], &c.event, &c.in) {
		c.event = Event{}
		if err := decodeLine(line, &c.event); err != nil {
			return false, fmt.Errorf("put the history in order: %w", err)
		}
	}
	return true, nil
}

// chunks is a heap with the earliest event on top.
type chunks []*chunk

func (h chunks) Len() int           { return len(h) }
func (h chunks) Less(i, j int) bool { return byTime(h[i].event, h[j].event) < 0 }
func (h chunks) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *chunks) Push(x any)        { *h = append(*h, x.(*chunk)) }
func (h *chunks) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}
