package scenarios

import "testing"

// A line of a table is complete, and is found by its name alone.
func TestTables(t *testing.T) {
	words := map[string]bool{}
	for _, w := range append(stepWords, actWord) {
		if w.name == "" || words[w.name] {
			t.Errorf("step %q: no name, or one that another step has", w.name)
		}
		words[w.name] = true
		if w.read == nil || w.take == nil {
			t.Errorf("step %q cannot be read or taken", w.name)
		}
	}
	for _, e := range events {
		if e.text == nil || (e.form == nil) != (e.read == nil) {
			t.Errorf("event %q cannot be named or read", e.what)
		}
		tellers := 0
		for _, tells := range []bool{e.at != nil, e.seen != nil, e.wait != nil} {
			if tells {
				tellers++
			}
		}
		if tellers != 1 {
			t.Errorf("event %q: want either clients, or servers, or who holds messages to tell of it", e.what)
		}
	}
}
