package history

import (
	"fmt"
	"testing"
)

type entry struct{ Process[int] }

// TestNumberedGrantsCostLittle: the names of picklock's own clients need no table of strings, and
// a number that somebody made up needs no list of its length.
func TestNumberedGrantsCostLittle(t *testing.T) {
	var s Table[entry, *entry, int]
	p := s.Process("c1")
	find := func(name string) int {
		g, owner := s.Grant(name, p)
		if g == nil || owner != p {
			t.Fatalf("%s is not found", name)
		}
		return *g
	}
	for n := range 1000 {
		s.AddGrant(fmt.Sprint("c1.", 1+2*n), p, n+1)
	}
	if len(s.others) > 0 || find("c1.1") != 1 || find("c1.1999") != 1000 {
		t.Errorf("%d names in the table", len(s.others))
	}
	before := len(p.own)
	s.AddGrant("c1.2000000", p, 7)
	if len(p.own) > 3*before+padding || find("c1.2000000") != 7 {
		t.Errorf("a list of %d for one number", len(p.own))
	}
	for i, name := range []string{"c1.99999999999999999999", "c1.9223372036854775808", "c1.18446744073709551617", "c2.1"} {
		if g, _ := s.Grant(name, p); g != nil {
			t.Errorf("%s is there", name)
		}
		if s.AddGrant(name, p, 8+i); find(name) != 8+i {
			t.Errorf("%s: found %d", name, find(name))
		}
	}
	// The name says another process: it may be given by either.
	q := s.Process("c2")
	if g, owner := s.Grant("c2.1", q); g == nil || *g != 11 || owner != p {
		t.Errorf("c2.1: %v, %v", g, owner)
	}
}

// TestGrantStaysFound: where a grant is kept is remembered, also when its process is given more.
func TestGrantStaysFound(t *testing.T) {
	var s Table[entry, *entry, int]
	p := s.Process("c1")
	for n := 1; n < 2000; n++ {
		s.AddGrant(fmt.Sprint("c1.", n), p, n)
		for _, old := range []int{1, n} {
			if g, _ := s.Grant(fmt.Sprint("c1.", old), p); g == nil || *g != old {
				t.Fatalf("c1.%d is not found after %d", old, n)
			} else if old == 1 { // by another
				if g, owner := s.Grant("c1.1", s.Process("c2")); g == nil || *g != 1 || owner != p {
					t.Fatalf("c2 does not find c1.1 after %d", n)
				}
			}
		}
	}
}

// TestProcessSeenAMomentAgo: it is found in the small table, as long as no other one takes its
// slot there.
func TestProcessSeenAMomentAgo(t *testing.T) {
	var s Table[entry, *entry, int]
	a := s.Process("c1")
	if s.Known("c1") != a || s.recent[hashSlot("c1")] != a {
		t.Error("c1 is not in the table")
	}
	if s.Known("nobody") != nil || s.recent[hashSlot("nobody")] != nil {
		t.Error("nobody is in the table")
	}
	delete(s.byName, "c1")
	if s.Known("c1") != a {
		t.Error("c1 is looked up elsewhere")
	}
}
