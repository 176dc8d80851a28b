package register

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/picklock/picklock/history"
)

func version(n int64) *int64 { return &n }

func TestUnlockedRequests(t *testing.T) {
	type step struct {
		r       Request
		refused string
		bad     string
		value   string // that the key has afterwards
		version int64
		none    bool // no effect of its own
	}
	add := func(value, parent string, u Unlocked) Request {
		return Request{F: history.Add, Key: "k", Process: "c1", Value: value, Parent: parent, Unlocked: u}
	}
	for name, steps := range map[string][]step{
		"compare-and-set": {
			{r: add("a", "", Unlocked{If: version(0)}), value: "a", version: 1},
			{r: add("b", "a", Unlocked{If: version(1)}), value: "b", version: 2},
			{r: add("c", "a", Unlocked{If: version(1)}), refused: "version 2, not 1: another wrote since the read", value: "b", version: 2},
			{r: add("c", "", Unlocked{If: version(3)}), refused: "version 2, not 3: another wrote since the read", value: "b", version: 2},
			// A refused value may be tried again.
			{r: add("c", "b", Unlocked{If: version(2)}), value: "c", version: 3},
			{r: Request{F: history.Write, Key: "k", Process: "c1", Value: "d", Unlocked: Unlocked{If: version(2)}}, refused: "version 3, not 2: another wrote since the read", value: "c", version: 3},
			{r: add("e", "", Unlocked{If: version(-1)}), bad: "negative version"},
		},
		"merge": {
			{r: add("a", "", Unlocked{Merge: true}), value: "a", version: 1},
			{r: add("b", "", Unlocked{Merge: true}), value: "b", version: 2},
			{r: add("c", "a", Unlocked{Merge: true}), bad: "it names no parent"},
			{r: Request{F: history.Write, Key: "k", Process: "c1", Value: "d", Unlocked: Unlocked{Merge: true}}, bad: "only an add can be merged"},
		},
		"once": {
			{r: add("a", "", Unlocked{Merge: true, Once: "x"}), value: "a", version: 1},
			{r: add("b", "", Unlocked{Merge: true, Once: "y"}), value: "b", version: 2},
			{r: add("a", "", Unlocked{Merge: true, Once: "x"}), value: "a", version: 1, none: true},
			{r: add("c", "", Unlocked{Merge: true, Once: "x"}), bad: `"x" was used for "a"`},
			{r: add("a", "", Unlocked{Merge: true, Once: "z"}), bad: "was written before"},
			{r: add("d", "", Unlocked{Once: "w", If: version(9)}), refused: "version 2, not 9: another wrote since the read", value: "b", version: 2},
			// A refused request is not carried out.
			{r: add("d", "b", Unlocked{Once: "w", If: version(2)}), value: "d", version: 3},
		},
		"reads have none of it": {
			{r: Request{F: history.Read, Key: "k", Process: "c1", Unlocked: Unlocked{Once: "x"}}, bad: "a read has no condition"},
			{r: Request{F: history.Read, Key: "k", Process: "c1", Unlocked: Unlocked{If: version(0)}}, bad: "a read has no condition"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := NewStore(FencingMode{}, 0)
			for n, st := range steps {
				e, err := s.Apply(st.r, int64(n))
				if st.bad != "" {
					if !errors.Is(err, errBadRequest) || !strings.Contains(err.Error(), st.bad) {
						t.Fatalf("step %d: %v; want a bad request that says %q", n, err, st.bad)
					}
					continue
				}
				if err != nil || e.Error != st.refused || e.Version != st.version || (e.Seq == 0) != st.none {
					t.Fatalf("step %d: %+v, %v; want %+v", n, e, err, st)
				}
				if !st.none {
					if now := s.keys["k"]; now.value != st.value || now.version != st.version {
						t.Fatalf("step %d: the key is %q, version %d; want %+v", n, now.value, now.version, st)
					}
				}
			}
		})
	}
}

// TestUnlockedOverTheWire: many clients at once, and the set holds every update once.
func TestUnlockedOverTheWire(t *testing.T) {
	addr, path := serveLogged(t)
	const clients, each = 6, 20
	var group sync.WaitGroup
	for n := range clients {
		group.Go(func() {
			c := New(addr)
			defer c.Close()
			for i := range each {
				value := fmt.Sprintf("c%d.%d", n, i)
				if n%2 == 0 { // every update is sent twice
					for range 2 {
						if _, err := c.Do(t.Context(), Request{F: history.Add, Key: "k", Process: "c", Value: value, Unlocked: Unlocked{Merge: true, Once: value}}); err != nil {
							t.Errorf("add %s: %v", value, err)
						}
					}
					continue
				}
				for {
					seen, err := c.Do(t.Context(), Request{F: history.Read, Key: "k", Process: "c"})
					if err != nil {
						t.Errorf("read: %v", err)
						return
					}
					_, err = c.Do(t.Context(), Request{F: history.Add, Key: "k", Process: "c", Value: value, Parent: seen.Value, Unlocked: Unlocked{If: &seen.Version}})
					if err == nil {
						break
					}
					if !errors.Is(err, ErrRefused) {
						t.Errorf("add %s: %v", value, err)
						return
					}
				}
			}
		})
	}
	group.Wait()
	effects, err := history.ReadEffects(path)
	if err != nil {
		t.Fatal(err)
	}
	var values []string
	parent := ""
	for _, e := range effects {
		if e.F != history.Add || e.Error != "" {
			continue
		}
		if e.Parent != parent {
			t.Fatalf("%s extends %q and not %q, which the set was", e.Value, e.Parent, parent)
		}
		parent = e.Value
		values = append(values, e.Value)
	}
	slices.Sort(values)
	if got := len(slices.Compact(values)); got != clients*each || got != len(values) {
		t.Errorf("%d updates, %d of them different, want %d", len(values), got, clients*each)
	}
}
