package history

import (
	"fmt"
	"strings"
)

// openOp is an operation that has been invoked and not completed.
type openOp struct {
	open  bool
	dying bool // its process was being killed when it was invoked
	kills int  // how many kills of its process had begun or ended by then
	index int64
	value string
}

// openAcquire is an acquire under way.
type openAcquire struct {
	openOp
	key, mode string
	permits   int64
}

// opID says which operation of a process a completion is to: one of each kind can be
// under way under each grant, or on each key where there is no lock.
type opID struct {
	f     verb
	key   int32
	grant string
}

// verb is an operation that is under way between two events, in one byte.
type verb uint8

const (
	vRelease verb = iota
	vRead
	vWrite
	vAdd
)

func verbOf(f string) verb {
	switch f {
	case Read:
		return vRead
	case Write:
		return vWrite
	case Add:
		return vAdd
	}
	return vRelease
}

// openOps are a process's operations under way. There is rarely more than one.
type openOps struct {
	id   opID
	one  openOp
	more map[opID]*openOp
}

func (s *openOps) get(id opID) *openOp {
	if s.one.open && s.id == id {
		return &s.one
	}
	if s.more == nil {
		return nil
	}
	return s.more[id]
}

func (s *openOps) put(id opID, o openOp) {
	if !s.one.open || s.id == id {
		s.id, s.one = id, o
		return
	}
	if s.more == nil {
		s.more = map[opID]*openOp{}
	}
	other := o
	s.more[id] = &other
}

func (s *openOps) drop(id opID) {
	if s.one.open && s.id == id {
		s.one.open = false
		return
	}
	delete(s.more, id)
}

// process is what has to be known of one process.
type process struct {
	name    string
	machine string // "" if none of its events has named one
	acquire openAcquire
	ops     openOps
	dying   int       // kills of it that are under way
	kills   int       // their begins and ends so far
	own     []grantOf // given to it under the names "NAME.1", "NAME.2", ...
	filed   int       // how many of them there are
	recent  string    // the name of the grant that it spoke of last
	latest  *grantOf
}

// opened is an operation that the process invokes.
func (p *process) opened(e *Event, value string) openOp {
	return openOp{open: true, dying: p.dying > 0, kills: p.kills, index: e.Index, value: value}
}

// excused says that an operation may stay open: its process was killed since. A kill may have
// missed, so that it may end as well.
func (p *process) excused(o *openOp) bool { return o.dying || o.kills != p.kills }

// processes finds processes and keys, most often one of those of a moment ago.
type processes struct {
	byName map[string]*process
	near   [256]*process
	keys   keyNumbers
}

func (s *processes) get(name string) *process {
	h := uint8(len(name))
	if n := len(name); n > 0 {
		h = 31*h + name[n-1]
		if n > 1 {
			h += 10 * name[n-2]
		}
	}
	slot := &s.near[h]
	if p := *slot; p != nil && p.name == name {
		return p
	}
	p := s.byName[name]
	if p == nil {
		if s.byName == nil {
			s.byName = map[string]*process{}
		}
		p = &process{name: name}
		s.byName[name] = p
	}
	*slot = p
	return p
}

func (s *processes) key(name string) int32 { return s.keys.of(name) }

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

// otherGrant is a grant whose name does not tell whose it is.
type otherGrant struct {
	grantOf
	owner *process
}

// A process may leave out so many numbers of grants, and so many more for each that it was
// given, for acquires that were not granted: its list is bounded by what the file holds.
const padding, sparse = 64, 16

// grantNames finds grants by their names. Those that picklock's clients give, "c1.7",
// need no table: they are numbered.
type grantNames struct{ others map[string]*otherGrant }

// give files a new grant.
func (s *grantNames) give(all *processes, p *process, e *Event, key int32) error {
	if g, owner := s.look(all, p, e.Grant); g != nil {
		if owner == p {
			return fmt.Errorf("grant %s was given to %s before: give each grant a name of its own", quote(e.Grant), quote(p.name))
		}
		return fmt.Errorf("grant %s was given to %s before, now to %s: give each grant a name of its own", quote(e.Grant), quote(owner.name), quote(p.name))
	}
	p.recent = e.Grant
	if owner, n := numbered(all, p, e.Grant); owner == p && n <= sparse*p.filed+padding {
		p.filed++
		for len(p.own) < n {
			p.own = append(p.own, grantOf{})
		}
		p.own[n-1].key = key
		p.latest = &p.own[n-1]
		return nil
	}
	if s.others == nil {
		s.others = map[string]*otherGrant{}
	}
	g := &otherGrant{grantOf{key: key}, p}
	s.others[e.Grant] = g
	p.latest = &g.grantOf
	return nil
}

// find is the grant that an event of p names, which must be p's.
func (s *grantNames) find(all *processes, p *process, e *Event) (*grantOf, error) {
	if p.latest != nil && p.recent == e.Grant {
		return p.latest, nil
	}
	g, owner := s.look(all, p, e.Grant)
	switch {
	case g == nil:
		return nil, fmt.Errorf("%s of %s names grant %s, which nobody was given before: name a grant of an acquire's ok", aOr(e.F), quote(p.name), quote(e.Grant))
	case owner != p:
		return nil, fmt.Errorf("%s of %s names grant %s, which was given to %s: only who was given it can use it", aOr(e.F), quote(p.name), quote(e.Grant), quote(owner.name))
	}
	p.recent, p.latest = e.Grant, g
	return g, nil
}

func (s *grantNames) look(all *processes, p *process, name string) (*grantOf, *process) {
	if owner, n := numbered(all, p, name); owner != nil && n <= len(owner.own) && owner.own[n-1].key != 0 {
		return &owner.own[n-1], owner
	}
	if g := s.others[name]; g != nil {
		return &g.grantOf, g.owner
	}
	return nil, nil
}

// numbered takes a grant's name apart; nil where it is not "PROCESS.NUMBER" of a
// process that is known. p is the one that it most likely names.
func numbered(all *processes, p *process, name string) (*process, int) {
	prefix, n := cutNumber(name)
	switch {
	case n == 0:
		return nil, 0
	case prefix == p.name:
		return p, n
	}
	if q := all.byName[prefix]; q != nil {
		return q, n
	}
	return nil, 0
}

// cutNumber cuts "c1.7" into "c1" and 7. One number has one spelling; 0 is none.
func cutNumber(s string) (string, int) {
	dot := strings.LastIndexByte(s, '.')
	digits := s[dot+1:]
	if dot < 0 || digits == "" || digits[0] == '0' || len(digits) > 9 {
		return "", 0
	}
	n := 0
	for i := range len(digits) {
		d := digits[i] - '0'
		if d > 9 {
			return "", 0
		}
		n = 10*n + int(d)
	}
	return s[:dot], n
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
		return fmt.Errorf("%s of %s without a value: give each its own, by which it is found in what was read", aOr(e.F), quote(p.name))
	}
	known, old := keyValue{key, e.Value}, false
	if s.others != nil {
		_, old = s.others[known]
	}
	prefix, n := cutNumber(e.Value)
	if !old && n > 0 && g != nil {
		of := g
		if prefix != e.Grant {
			of, _ = v.grants.look(&v.procs, p, prefix)
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
		return fmt.Errorf("value %s was written to key %s before: give each write a value of its own", quote(e.Value), quote(v.procs.keys.names[key-1]))
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
