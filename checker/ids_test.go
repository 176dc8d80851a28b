package checker

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/picklock/picklock/history"
)

// Grants are found by their ids as a table of all strings would find them,
// whatever the ids look like and whoever is thought to have given them.
func TestFindGrantByID(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := newReader()
		want := map[string]*grant{}
		duplicates := map[string]bool{}
		process := rapid.SampledFrom([]string{"c1", "c1.2", "c11", "a"})
		id := rapid.OneOf(
			rapid.Custom(func(t *rapid.T) string {
				return fmt.Sprintf("%s.%d", process.Draw(t, "of"), rapid.SampledFrom([]int{0, 1, 2, 3, 63, 64, 65, 66, 67, 200, 1 << 40}).Draw(t, "n"))
			}),
			rapid.SampledFrom([]string{"", ".", "c1", "c1.", ".1", "c1.01", "c1.2.1", "c1.2.01", "c1.-1", "c1.1x", "other.1", "c1.1234567890"}),
		)
		for range rapid.IntRange(0, 40).Draw(t, "steps") {
			name := id.Draw(t, "id")
			var hint *proc
			if rapid.Bool().Draw(t, "hinted") {
				hint = r.names.Process(process.Draw(t, "by"))
			}
			if got := r.names.find(name, hint); got != want[name] {
				t.Fatalf("%q is %v, want %v", name, got, want[name])
			}
			if rapid.Bool().Draw(t, "store") && name != "" {
				g := &grant{id: name}
				if want[name] != nil {
					duplicates[name] = true
				}
				r.names.add(g, hint)
				want[name] = g
			}
			if r.names.ambiguous(name) != duplicates[name] {
				t.Fatalf("%q given twice: %v, want %v", name, r.names.ambiguous(name), duplicates[name])
			}
		}
	})
}

// What is under way, and what was granted last, is found as in a table, although
// most processes do one thing at a time with one lock.
func TestProcessTables(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var open history.Pairing[*op]
		var latest latestGrants
		wantOpen, wantLatest := map[history.OpID]*op{}, map[string]*grant{}
		locks := []*lock{{name: "k0"}, {name: "k1"}, {name: "k2"}}
		for range rapid.IntRange(0, 40).Draw(t, "steps") {
			k := rapid.SampledFrom(locks).Draw(t, "lock")
			id := history.OpID{F: rapid.SampledFrom([]string{history.Read, history.Write}).Draw(t, "f"), Key: k.name}
			switch rapid.IntRange(0, 2).Draw(t, "do") {
			case 0:
				o := &op{lock: k}
				open.Invoke(id, o)
				wantOpen[id] = o
			case 1:
				open.Complete(id)
				delete(wantOpen, id)
			case 2:
				g := &grant{lock: k}
				latest.set(g)
				wantLatest[k.name] = g
			}
			for _, k := range locks {
				for _, f := range []string{history.Read, history.Write} {
					id := history.OpID{F: f, Key: k.name}
					if o, ok := open.Open(id); o != wantOpen[id] || ok != (o != nil) {
						t.Fatalf("open %v: %v, want %v", id, o, wantOpen[id])
					}
				}
				if open.Len() != len(wantOpen) {
					t.Fatalf("%d open, want %d", open.Len(), len(wantOpen))
				}
				if latest.get(k.name) != wantLatest[k.name] {
					t.Fatalf("latest of %s: %v, want %v", k.name, latest.get(k.name), wantLatest[k.name])
				}
			}
		}
	})
}

// Processes whose names fall on one position of the small table stay apart.
func TestProcessNamesApart(t *testing.T) {
	r := newReader()
	names := map[string]*proc{}
	for i := range 1000 {
		name := fmt.Sprintf("c%d", i)
		names[name] = r.names.Process(name)
	}
	for _, name := range []string{"", "x"} {
		names[name] = r.names.Process(name)
	}
	for name, p := range names {
		if got := r.names.Process(name); got != p || got.Name != name {
			t.Fatalf("%q found %q", name, got.Name)
		}
	}
}
