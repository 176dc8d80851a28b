package harness

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	"github.com/picklock/picklock/nemesis"
	"github.com/picklock/picklock/scenarios"
)

// groups says of each cell with which others it can share servers.
func (o MatrixOptions) groups(cells []scenarios.Cell) []queuedCell {
	out := make([]queuedCell, len(cells))
	for i, c := range cells {
		cluster := cmp.Or(o.Cluster, c.Scenario.Cluster)
		if info, err := o.lockFor(c.Lock); err == nil {
			cluster = cmp.Or(cluster, info.Cluster)
		}
		faults := c.Scenario.Faults()
		disks := slices.ContainsFunc(nemesis.Kinds(), func(k nemesis.Kind) bool { return k.Disks && slices.Contains(faults, k.Name) })
		out[i] = queuedCell{cell: i, weight: 1, group: fmt.Sprint(cluster, " ", disks), order: c.Lock + " " + c.Fencing}
		if run := c.Scenario.Run; run != nil {
			out[i].weight += int(run.Limit.Seconds()) / 3
		}
	}
	return out
}

// Together orders cells so that those that can share servers follow one another.
func (o MatrixOptions) Together(cells []scenarios.Cell) []scenarios.Cell {
	queued := o.groups(cells)
	slices.SortStableFunc(queued, func(a, b queuedCell) int {
		return cmp.Or(cmp.Compare(a.group, b.group), cmp.Compare(a.order, b.order))
	})
	out := make([]scenarios.Cell, len(cells))
	for i, q := range queued {
		out[i] = cells[q.cell]
	}
	return out
}

type queuedCell struct {
	cell   int
	group  string
	order  string // in its group
	weight int    // roughly how long it takes
}

// cellQueue gives out cells so that one who has servers up gets cells that can use them.
type cellQueue struct {
	mu    sync.Mutex
	cells []queuedCell   // that wait
	on    map[string]int // how many work on a group
}

func newCellQueue(cells []queuedCell) *cellQueue {
	slices.SortStableFunc(cells, func(a, b queuedCell) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(a.order, b.order)) // long ones first
	})
	return &cellQueue{cells: cells, on: map[string]int{}}
}

// next takes a cell: of the caller's group while there is one, then of the group with the most to
// do for each who works on it. It sets group to the cell's.
func (q *cellQueue) next(group *string) (cell int, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	left := map[string]int{}
	for _, c := range q.cells {
		left[c.group] += c.weight
	}
	if left[*group] == 0 {
		q.on[*group]--
		best := ""
		for _, c := range q.cells { // in their order, so that the choice is no chance
			if best == "" || left[c.group]*(q.on[best]+1) > left[best]*(q.on[c.group]+1) {
				best = c.group
			}
		}
		*group = best
		q.on[best]++
	}
	i := slices.IndexFunc(q.cells, func(c queuedCell) bool { return c.group == *group })
	if i < 0 {
		return 0, false
	}
	cell = q.cells[i].cell
	q.cells = slices.Delete(q.cells, i, i+1)
	return cell, true
}
