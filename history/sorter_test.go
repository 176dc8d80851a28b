package history

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestSortFile: the file holds what Sort makes of the events, and nothing is left beside it.
func TestSortFile(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, 9, 10, 11, 100, 1000} {
		var events []Event
		for i := range n {
			e := Event{Index: int64(i), Time: int64(i/2) * 1000, Process: fmt.Sprintf("c%d", i), Type: Invoke, F: Acquire, Key: "k0"}
			if rng.IntN(10) == 0 { // of a client that was stopped for a while
				e.Time = max(0, e.Time-rng.Int64N(int64(n)*500))
			}
			events = append(events, e)
		}
		path := filepath.Join(t.TempDir(), "history.jsonl")
		if err := WriteFile(path, slices.Clone(events)); err != nil {
			t.Fatal(err)
		}
		if err := SortFile(path); err != nil {
			t.Fatalf("%d events: %v", n, err)
		}
		want := slices.Clone(events)
		Sort(want)
		for i := range want {
			want[i].Index = int64(i)
		}
		got, err := ReadFile(path)
		if err != nil {
			t.Fatalf("%d events: %v", n, err)
		}
		if len(got) != len(want) || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%d events: not as Sort would have them", n)
		}
		if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
			t.Errorf("%d events: %v was left, %v", n, left, err)
		}
	}
}
