package checker

import "strings"

// names finds processes by their names, and grants by their ids. The ids that picklock's
// own clients give, "c1.7", are the process and the number of its acquire, so that a list
// for each process does what a table of all strings would do for ten times the memory.
type names struct {
	procs
	others map[string]*grant // of all other ids
	again  map[string]bool   // ids that were given twice: nothing can be named by them
}

// padding is how many numbers a process may leave out, for acquires that were not
// granted, whatever it has been granted so far, and sparse how many for each of its grants:
// the list of a process is bounded by what the file holds of it, and not by a number that
// the file names.
const padding, sparse = 64, 16

// find returns the grant that was given this id last; p is the process that the id
// most likely begins with.
func (s *names) find(id string, p *proc) *grant {
	if p, n := s.numbered(id, p); p != nil {
		if g := p.number(n); g != nil {
			return g
		}
	}
	if len(s.others) == 0 {
		return nil
	}
	return s.others[id]
}

// add files a grant under its id.
func (s *names) add(g *grant, p *proc) {
	if s.find(g.id, p) != nil {
		if s.again == nil {
			s.again = map[string]bool{}
		}
		s.again[g.id] = true
	}
	if p, n := s.numbered(g.id, p); p != nil && n <= sparse*p.filed+padding {
		p.filed++
		p.setNumber(n, g)
		return
	}
	if s.others == nil {
		s.others = map[string]*grant{}
	}
	s.others[g.id] = g
}

// number is the process's grant of this number, nil where there is none.
func (p *proc) number(n int) *grant {
	if at := n - 1; at < len(p.own) {
		return p.own[at]
	}
	return nil
}

func (p *proc) setNumber(n int, g *grant) {
	for len(p.own) < n {
		p.own = push(p.own, nil)
	}
	p.own[n-1] = g
}

// twice says that an id names more than one grant.
func (s *names) twice(id string) bool { return len(s.again) > 0 && s.again[id] }

// numbered takes an id apart; nil where it is not of the form that lists serve.
func (s *names) numbered(id string, p *proc) (*proc, int) {
	dot := strings.LastIndexByte(id, '.')
	if dot < 0 {
		return nil, 0
	}
	if p == nil || p.name != id[:dot] {
		if p = s.get(id[:dot]); p == nil {
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
