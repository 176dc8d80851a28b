package history

import "fmt"

// openOp is an operation that has been invoked and not completed.
type openOp struct {
	dying   bool // its process was being killed when it was invoked
	kills   int  // how many kills of its process had begun or ended by then
	index   int64
	value   string
	key     string // and so on: of an acquire
	mode    string
	permits int64
}

// process is what has to be known of one process.
type process struct {
	Process[grantOf]
	Pairing[openOp]
	machine string // "" if none of its events has named one
	kills   int    // begins and ends of kills of it so far
}

// opened is the operation that an event of the process invokes.
func (p *process) opened(e *Event) openOp {
	return openOp{dying: p.Dying > 0, kills: p.kills, index: e.Index, value: e.Value, key: e.Key, mode: e.Mode, permits: e.Permits}
}

// excused says that an operation may stay open: its process was killed since. A kill may have
// missed, so that it may end as well.
func (p *process) excused(o openOp) bool { return o.dying || o.kills != p.kills }

// keyNumbers numbers the keys from 1 on.
type keyNumbers struct {
	names  []string
	byName map[string]int32
	last   int32
}

func (s *keyNumbers) of(name string) int32 {
	if s.last > 0 && s.names[s.last-1] == name {
		return s.last
	}
	n := s.byName[name]
	if n == 0 {
		if s.byName == nil {
			s.byName = map[string]int32{}
		}
		s.names = append(s.names, name)
		n = int32(len(s.names))
		s.byName[name] = n
	}
	s.last = n
	return n
}

// grantOf is one grant: its key's number, 0 for none, and how many values "GRANT.1",
// "GRANT.2", ... were written under it.
type grantOf struct{ key, written int32 }

// give files a new grant.
func (v *Validator) give(p *process, e *Event, key int32) error {
	if g, owner := v.table.Grant(e.Grant, p); g != nil {
		if owner == p {
			return fmt.Errorf("grant %s was given to %s before: give each grant a name of its own", quote(e.Grant), quote(p.Name))
		}
		return fmt.Errorf("grant %s was given to %s before, now to %s: give each grant a name of its own", quote(e.Grant), quote(owner.Name), quote(p.Name))
	}
	v.table.AddGrant(e.Grant, p, grantOf{key: key})
	return nil
}

// find is the grant that an event of p names, which must be p's.
func (v *Validator) find(p *process, e *Event) (*grantOf, error) {
	g, owner := v.table.Grant(e.Grant, p)
	switch {
	case g == nil:
		return nil, fmt.Errorf("%s of %s names grant %s, which nobody was given before: name a grant of an acquire's ok", aOr(e.F), quote(p.Name), quote(e.Grant))
	case owner != p:
		return nil, fmt.Errorf("%s of %s names grant %s, which was given to %s: only who was given it can use it", aOr(e.F), quote(p.Name), quote(e.Grant), quote(owner.Name))
	}
	return g, nil
}

// writtenValues knows what has been written. Values that count up under their grant,
// as those of picklock's clients do, need no table, either.
type writtenValues struct{ others map[keyValue]struct{} }

type keyValue struct {
	key   int32
	value string
}

// add takes the value of a write's invoke under a grant, if there is one. It must be
// new on its key: a value says which write it is of.
func (s *writtenValues) add(v *Validator, p *process, e *Event, key int32, g *grantOf) error {
	if e.Value == "" {
		return fmt.Errorf("%s of %s without a value: give each its own, by which it is found in what was read", aOr(e.F), quote(p.Name))
	}
	known, old := keyValue{key, e.Value}, false
	if s.others != nil {
		_, old = s.others[known]
	}
	prefix, n := cutNumber(e.Value)
	if !old && n > 0 && g != nil {
		of := g
		if prefix != e.Grant {
			of, _ = v.table.Grant(prefix, p)
		}
		switch {
		case of == nil || of.key != key:
		case n <= int(of.written):
			old = true
		case of == g && n == int(g.written)+1:
			g.written++
			return nil
		}
	}
	if old {
		return fmt.Errorf("value %s was written to key %s before: give each write a value of its own", quote(e.Value), quote(v.keys.names[key-1]))
	}
	if s.others == nil {
		s.others = map[keyValue]struct{}{}
	}
	s.others[known] = struct{}{}
	return nil
}

// indexSet knows which numbers events have had. Nothing is kept of those that are
// 0, 1, 2, ..., and a bit each of most others.
type indexSet struct {
	dense int64 // 0 to dense-1
	pages map[int64]*indexPage
	last  *indexPage
	at    int64 // of last
}

// indexPage is a bit for each of 512 numbers.
type indexPage [8]uint64

func (s *indexSet) add(index int64) error {
	if index == s.dense && s.pages == nil {
		s.dense++
		return nil
	}
	at, word, bit := index>>9, index>>6&7, uint64(1)<<(index&63)
	if s.last == nil || s.at != at {
		if s.pages == nil {
			s.pages = map[int64]*indexPage{}
		}
		if s.pages[at] == nil {
			s.pages[at] = &indexPage{}
		}
		s.last, s.at = s.pages[at], at
	}
	if index < s.dense || s.last[word]&bit != 0 {
		return fmt.Errorf("index %d stands on another event as well: number the events from 0 on", index)
	}
	s.last[word] |= bit
	return nil
}
