package history

import (
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

// TestPacked: a packed event is unpacked as it was.
func TestPacked(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := rapid.Make[Event]().Draw(t, "event")
		line := rapid.IntRange(0, 1<<40).Draw(t, "line")
		if len(e.Nodes) == 0 {
			e.Nodes = nil
		}
		var got Event
		words := &interner{}
		for range 2 { // the second time from the table
			if at := unpackEvent(packEvent(nil, &e, line), &got, words); at != line || !reflect.DeepEqual(got, e) {
				t.Fatalf("%+v on line %d, want\n%+v on %d", got, at, e, line)
			}
		}
		if time, index := packedOrder(packEvent(nil, &e, line)); time != e.Time || index != e.Index {
			t.Fatalf("time %d and index %d of %+v", time, index, e)
		}
	})
}
