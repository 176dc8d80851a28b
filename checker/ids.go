package checker

import "strings"

// grantIDs finds grants by their ids. The ids that picklock's own clients give,
// "c1.7", are the process and the number of its acquire, so that a list for each
// process does what a table of all strings would do for ten times the memory.
type grantIDs struct {
	others map[string]*grant // all other ids
	twice  map[string]bool   // ids that were given twice: nothing can be named by them
}

// padding is how many numbers a process may leave out, for acquires that were not
// granted, whatever it has been granted so far.
const padding = 64

// find returns the grant that was given this id last; p is the process that the id
// most likely begins with.
func (ix *index) find(id string, p *proc) *grant {
	if p, n := ix.numbered(id, p); p != nil && n <= len(p.own) && p.own[n-1] != nil {
		return p.own[n-1]
	}
	if len(ix.ids.others) == 0 {
		return nil
	}
	return ix.ids.others[id]
}

// name files a grant under its id.
func (ix *index) name(g *grant, p *proc) {
	if ix.find(g.id, p) != nil {
		if ix.ids.twice == nil {
			ix.ids.twice = map[string]bool{}
		}
		ix.ids.twice[g.id] = true
	}
	if p, n := ix.numbered(g.id, p); p != nil && n <= 2*len(p.own)+padding {
		for len(p.own) < n {
			p.own = push(p.own, nil)
		}
		p.own[n-1] = g
		return
	}
	if ix.ids.others == nil {
		ix.ids.others = map[string]*grant{}
	}
	ix.ids.others[g.id] = g
}

// twice says that an id names more than one grant.
func (ix *index) twice(id string) bool { return len(ix.ids.twice) > 0 && ix.ids.twice[id] }

// numbered takes an id apart; nil where it is not of the form that lists serve.
func (ix *index) numbered(id string, p *proc) (*proc, int) {
	dot := strings.LastIndexByte(id, '.')
	if dot < 0 {
		return nil, 0
	}
	if p == nil || p.name != id[:dot] {
		if p = ix.processes.get(id[:dot]); p == nil {
			return nil, 0
		}
	}
	n := 0
	digits := id[dot+1:]
	// One number has one spelling, or two ids would be taken for one.
	if digits == "" || digits[0] == '0' || len(digits) > 9 {
		return nil, 0
	}
	for i := range len(digits) {
		d := digits[i] - '0'
		if d > 9 {
			return nil, 0
		}
		n = n*10 + int(d)
	}
	return p, n
}
