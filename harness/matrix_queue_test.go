package harness

import (
	"slices"
	"testing"

	"github.com/picklock/picklock/clients/all"
	"github.com/picklock/picklock/scenarios"
)

// TestTogether: cells of one cluster follow one another, and those of a lock within it.
func TestTogether(t *testing.T) {
	cell := func(scenario, lock string) scenarios.Cell {
		s, err := scenarios.Lookup(scenario)
		if err != nil {
			t.Fatal(err)
		}
		return scenarios.Cell{Scenario: s, Lock: lock, Fencing: "none"}
	}
	var got []string
	for _, c := range (MatrixOptions{Table: all.Locks()}).Together([]scenarios.Cell{
		cell("pause-holder", "redis"), cell("pause-holder", "etcd"), cell("pause-holder", "redis-lua"), cell("delayed-write", "redis"), cell("delayed-write", "etcd"), cell("aof-always-powerloss", "redis"),
	}) {
		got = append(got, c.Scenario.Name+" "+c.Lock)
	}
	want := []string{"pause-holder etcd", "delayed-write etcd", "pause-holder redis", "delayed-write redis", "pause-holder redis-lua", "aof-always-powerloss redis"}
	if !slices.Equal(got, want) {
		t.Errorf("the order is %q, want %q: the last has another cluster", got, want)
	}
}

// TestCellQueue: a worker with servers up gets the cells that can use them, one who has none the group
// with the most to do, and every cell is given out once.
func TestCellQueue(t *testing.T) {
	q := newCellQueue([]queuedCell{
		{cell: 0, group: "redis", order: "redis none", weight: 1},
		{cell: 1, group: "etcd", order: "etcd none", weight: 1},
		{cell: 2, group: "redis", order: "redis write", weight: 1},
		{cell: 3, group: "etcd", order: "etcd none", weight: 4},
		{cell: 4, group: "redis", order: "redis none", weight: 1},
		{cell: 5, group: "file", order: "file none", weight: 1},
	})
	var first, second string
	var got []int
	take := func(group *string, want string) {
		t.Helper()
		cell, ok := q.next(group)
		if !ok || *group != want {
			t.Fatalf("got cell %d of %q (%v), want one of %s", cell, *group, ok, want)
		}
		got = append(got, cell)
	}
	take(&first, "etcd")
	take(&second, "redis")
	take(&first, "etcd")
	take(&second, "redis")
	take(&first, "file") // rather than to start a second redis for the last of its cells
	take(&first, "redis")
	if want := []int{3, 0, 1, 4, 5, 2}; !slices.Equal(got, want) {
		t.Errorf("the order is %v, want %v: long cells first, then by lock and fencing mode", got, want)
	}
	if _, ok := q.next(&second); ok {
		t.Error("a cell was given out twice")
	}
}
