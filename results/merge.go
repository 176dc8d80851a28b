package results

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/picklock/picklock/internal/shard"
)

// MergeMatrices puts the shards of a matrix together: what it gives is what one machine
// would have written, but for times. The shards must be those of one matrix, all of them.
func MergeMatrices(all []*Matrix) (*Matrix, error) {
	var shards []shard.Shard
	for _, m := range all {
		if m.Shard == nil {
			return nil, errors.New("one is no shard: it was made without --shard")
		}
		shards = append(shards, *m.Shard)
	}
	if err := shard.Complete(shards); err != nil {
		return nil, err
	}
	all = slices.SortedFunc(slices.Values(all), func(a, b *Matrix) int { return cmp.Compare(a.Shard.Index, b.Shard.Index) })
	out := &Matrix{Started: all[0].Started, Finished: all[0].Finished, Machine: all[0].Machine, Versions: map[string]string{}, Scenarios: all[0].Scenarios, Cells: []Cell{}}
	longest := 0
	for _, m := range all {
		if !slices.Equal(m.Scenarios, out.Scenarios) {
			return nil, fmt.Errorf("shard %s run other scenarios than shard %s: they are not of one matrix", m.Shard, all[0].Shard)
		}
		maps.Copy(out.Versions, m.Versions)
		if m.Started.Before(out.Started) {
			out.Started = m.Started
		}
		if m.Finished.After(out.Finished) {
			out.Finished = m.Finished
		}
		longest = max(longest, len(m.Cells))
	}
	for row := range longest {
		for i, m := range all {
			if row < len(m.Cells) {
				if i > 0 && row >= len(all[i-1].Cells) {
					return nil, fmt.Errorf("shard %s has more cells than shard %s: they are not of one matrix", m.Shard, all[i-1].Shard)
				}
				out.Cells = append(out.Cells, m.Cells[row])
			}
		}
	}
	return out, nil
}
