package history

import "strings"

// Table finds processes and grants by their names. P is what its user keeps of a process, in a
// struct that embeds Process[G]; G is what it keeps of a grant, whose zero value stands for none.
// The names that picklock's own clients give grants, "c1.7", are the process and the number of
// its acquire: a list for each process does what a table of all names would do for ten times
// the memory. Its zero value is ready for use.
type Table[P any, R record[P, G], G comparable] struct {
	byName map[string]R
	recent [256]R // processes of a moment ago
	others map[string]*ownedGrant[R, G]
}

type record[P any, G comparable] interface {
	*P
	Base() *Process[G]
}

// Process is a process's entry in a Table.
type Process[G comparable] struct {
	Name string
	// Dying is how many kills of it are under way.
	Dying int

	own    []G    // its grants by the number in their names, from 1 on
	filed  int    // how many of them there are
	latest string // the name of the grant that it was looked up for last
	slot   *G     // where that is
}

// Base is the entry itself.
func (p *Process[G]) Base() *Process[G] { return p }

// ownedGrant is a grant whose name does not say whose it is.
type ownedGrant[R any, G comparable] struct {
	grant G
	owner R
}

// A process may leave out so many numbers of grants, and so many more for each that it was
// given, for acquires that were not granted: its list is bounded by what the file holds, and not
// by a number that the file names.
const padding, sparse = 64, 16

// Process finds the process of a name, and makes it if it is new.
func (t *Table[P, R, G]) Process(name string) R {
	if p := t.Known(name); p != nil {
		return p
	}
	if t.byName == nil {
		t.byName = map[string]R{}
	}
	p := R(new(P))
	p.Base().Name = name
	t.byName[name] = p
	t.recent[hashSlot(name)] = p
	return p
}

// Known is the process of a name, nil if there is none.
func (t *Table[P, R, G]) Known(name string) R {
	slot := &t.recent[hashSlot(name)]
	if p := *slot; p != nil && p.Base().Name == name {
		return p
	}
	p := t.byName[name]
	if p != nil {
		*slot = p
	}
	return p
}

// All is every process by its name.
func (t *Table[P, R, G]) All() map[string]R { return t.byName }

// hashSlot spreads names such as c1, c2, ... c50.
func hashSlot(name string) uint8 {
	switch n := len(name); n {
	case 0:
		return 0
	case 1:
		return name[0]
	default:
		return name[n-1] + 10*name[n-2] + 31*uint8(n)
	}
}

// Grant finds where the grant of a name is kept, and whose it is; nil if there is none. by is the
// process that speaks of it, nil if it is not known.
func (t *Table[P, R, G]) Grant(name string, by R) (*G, R) {
	if by != nil && by.Base().slot != nil && by.Base().latest == name {
		return by.Base().slot, by
	}
	var none G
	if owner, n := t.numbered(name, by); owner != nil {
		if own := owner.Base().own; n <= len(own) && own[n-1] != none {
			if owner == by {
				by.Base().latest, by.Base().slot = name, &own[n-1]
			}
			return &own[n-1], owner
		}
	}
	if g := t.others[name]; g != nil {
		if g.owner == by && by != nil {
			by.Base().latest, by.Base().slot = name, &g.grant
		}
		return &g.grant, g.owner
	}
	return nil, nil
}

// AddGrant files a grant that a process was given. A grant of that name is replaced.
func (t *Table[P, R, G]) AddGrant(name string, by R, g G) {
	if slot, _ := t.Grant(name, by); slot != nil {
		*slot = g
		return
	}
	if owner, n := t.numbered(name, by); owner != nil && owner == by {
		p := by.Base()
		if n <= sparse*p.filed+padding {
			p.filed++
			for len(p.own) < n {
				var none G
				p.own = append(p.own, none)
			}
			p.own[n-1] = g
			p.latest, p.slot = name, &p.own[n-1]
			return
		}
	}
	if t.others == nil {
		t.others = map[string]*ownedGrant[R, G]{}
	}
	other := &ownedGrant[R, G]{g, by}
	t.others[name] = other
	if by != nil {
		by.Base().latest, by.Base().slot = name, &other.grant
	}
}

// numbered takes a grant's name apart; nil if it is not "PROCESS.NUMBER" of a process that is
// known. by is the one that it most likely names.
func (t *Table[P, R, G]) numbered(name string, by R) (R, int) {
	prefix, n := cutNumber(name)
	switch {
	case n == 0:
		return nil, 0
	case by != nil && by.Base().Name == prefix:
		return by, n
	}
	return t.Known(prefix), n
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
