package results

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/picklock/picklock/internal/shard"
)

// sharded are the shards of a matrix of so many cells.
func sharded(cells, of int) []*Matrix {
	var out []*Matrix
	for i := 1; i <= of; i++ {
		s := shard.Shard{Index: i, Of: of}
		m := &Matrix{Shard: &s, Started: time.Unix(int64(100-i), 0), Finished: time.Unix(int64(200+i), 0), Versions: map[string]string{s.String(): "1"}, Scenarios: []Ran{{Name: "one"}}}
		for place := range cells {
			if s.Has(place) {
				m.Cells = append(m.Cells, Cell{Confirmed: place})
			}
		}
		out = append(out, m)
	}
	return out
}

func TestMergeMatrices(t *testing.T) {
	for _, c := range []struct{ cells, of int }{{7, 3}, {6, 3}, {2, 5}, {4, 1}, {0, 2}} {
		all := sharded(c.cells, c.of)
		all[0], all[len(all)-1] = all[len(all)-1], all[0]
		m, err := MergeMatrices(all)
		if err != nil {
			t.Errorf("%d cells in %d shards: %v", c.cells, c.of, err)
			continue
		}
		want := []Cell{}
		for place := range c.cells {
			want = append(want, Cell{Confirmed: place})
		}
		if !reflect.DeepEqual(m.Cells, want) {
			t.Errorf("%d cells in %d shards: %v", c.cells, c.of, m.Cells)
		}
		if m.Shard != nil || m.Started.Unix() != int64(100-c.of) || m.Finished.Unix() != int64(200+c.of) || len(m.Versions) != c.of {
			t.Errorf("%d cells in %d shards: %+v", c.cells, c.of, m)
		}
	}
}

func TestMergeMatricesRefuses(t *testing.T) {
	other := sharded(4, 2)
	other[1].Scenarios = []Ran{{Name: "two"}}
	longer := sharded(4, 2)
	longer[1].Cells = append(longer[1].Cells, Cell{}, Cell{})
	whole := sharded(4, 2)
	whole[1].Shard = nil
	for want, all := range map[string][]*Matrix{
		"missing shards: 2/3": {sharded(4, 3)[0], sharded(4, 3)[2]},
		"other scenarios":     other,
		"more cells":          longer,
		"without --shard":     whole,
	} {
		if _, err := MergeMatrices(all); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}
