package checker

import "testing"

// TestPerhapsBetween: a third client's release explains a grant if it may have been carried out after the one before.
func TestPerhapsBetween(t *testing.T) {
	k := &lock{}
	third, victim, next := &grant{lock: k}, &grant{lock: k, lo: 100, okT: 110}, &grant{lock: k, okT: 200}
	s := &releaseSearch{faults: newFaultLog(nil, 1000, func(string) bool { return true })}
	for _, c := range []struct {
		name string
		o    op
		want bool
	}{
		{"in between", op{typ: tOK, grant: third, invT: 120, endT: 130}, true},
		{"under way when the first was granted", op{typ: tOK, grant: third, invT: 90, endT: 101}, true},
		{"answered before", op{typ: tOK, grant: third, invT: 90, endT: 100}, false},
		{"under way when the second was granted", op{typ: tOK, grant: third, invT: 199, endT: 300}, true},
		{"sent after", op{typ: tOK, grant: third, invT: 201, endT: 300}, false},
		{"refused", op{typ: tFail, grant: third, invT: 120, endT: 130}, false},
		{"of the first one itself", op{typ: tOK, grant: victim, invT: 120, endT: 130}, false},
		{"of the second one", op{typ: tOK, grant: next, invT: 120, endT: 130}, false},
		{"of nobody", op{typ: tOK, invT: 120, endT: 130}, false},
	} {
		k.released = []*op{&c.o}
		if got := s.perhapsBetween(victim, next, nil); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
