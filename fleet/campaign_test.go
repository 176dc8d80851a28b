package fleet

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/picklock/picklock/clients/all"
)

func TestParseRefuses(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "not a campaign"},
		{"name: a b\ntasks: [{hunt: {locks: [redis]}}]", `name "a b"`},
		{"name: x", "there are no tasks"},
		{"name: x\ntasks: [{}]", "want one of hunt, matrix and run"},
		{"name: x\ntasks: [{hunt: {locks: [redis]}, run: {locks: [redis], faults: [all]}}]", "want one of"},
		{"name: x\ntasks: [{hunt: {}}]", "locks: want at least one"},
		{"name: x\ntasks: [{hunt: {locks: [redis], max-faults: 3}}]", "max-faults 3"},
		{"name: x\ntasks: [{hunt: {locks: [redis], duration: -1s}}]", "none below 0"},
		{"name: x\ntasks: [{run: {locks: [redis]}}]", "faults: want at least one"},
		{"name: x\ntasks: [{matrix: {count: -1}}]", "runs -1"},
		{"name: x\ntasks: [{hunt: {locks: [redis], images: {redis: [a]}}}]", "runtime: docker"},
		{"name: x\nruntime: cloud\ntasks: [{hunt: {locks: [redis]}}]", "runtime"},
		{"name: x\ntasks: [{hunt: {lock: [redis]}}]", "lock"},
	} {
		if _, err := Parse([]byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.text, err, c.want)
		}
	}
}

func jobs(t *testing.T, text string) []Job {
	t.Helper()
	c, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.Jobs(context.Background(), all.Locks())
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestJobs(t *testing.T) {
	list := jobs(t, `
name: x
runtime: docker
tasks:
  - hunt: {locks: [redis, etcd], fencing: [none, read-write], max-faults: 1, slice: 500, images: {redis: ["redis:6", "redis:7"]}}
  - matrix: {locks: [redis], scenarios: [pause-holder, delayed-write]}
  - matrix: {locks: [redis], scenarios: [pause-holder]}
  - run: {locks: [redis], faults: [pause], count: 3}
`)
	var names []string
	for i, j := range list {
		names = append(names, j.Name)
		if j.Number != i || j.Runtime != "docker" {
			t.Errorf("job %d is number %d on %s", i, j.Number, j.Runtime)
		}
	}
	want := []string{
		"hunt redis none redis:6", "hunt redis read-write redis:6", "hunt etcd none redis:6", "hunt etcd read-write redis:6",
		"hunt redis none redis:7", "hunt redis read-write redis:7", "hunt etcd none redis:7", "hunt etcd read-write redis:7",
		"matrix", "matrix (2)", "run",
	}
	if !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
	covered := 0
	for n, i := range list[0].Items() {
		if i.First != covered || i.Number != n || i.End-i.First > 500 {
			t.Errorf("slice %d is %+v, behind place %d", n, i, covered)
		}
		covered = i.End
	}
	if covered != list[0].Hunt.Size() || covered < 1000 {
		t.Errorf("the slices cover %d of %d schedules", covered, list[0].Hunt.Size())
	}
	runs := list[10].Items()
	if len(runs) != 3 || runs[2].First != 0 || runs[2].ID() != "10.run.2" {
		t.Errorf("three runs are %+v", runs)
	}
	if !strings.Contains(list[10].Cells[0].Text, "pause") {
		t.Errorf("the run's scenario has no pause: %s", list[10].Cells[0].Text)
	}
}

func TestJobsRefuse(t *testing.T) {
	for text, want := range map[string]string{
		"name: x\ntasks: [{hunt: {locks: [redsi]}}]":                                        "redsi",
		"name: x\ntasks: [{hunt: {locks: [redis], fencing: [wrote]}}]":                      "wrote",
		"name: x\ntasks: [{hunt: {locks: [redis], faults: [pauze]}}]":                       "pauze",
		"name: x\ntasks: [{hunt: {locks: [redis], options: {no-such: x}}}]":                 "no-such",
		"name: x\ntasks: [{run: {locks: [redis], faults: [pause], fencing: [read-write]}}]": "does it issue tokens",
		"name: x\ntasks: [{hunt: {locks: [redis], find: [granted-erly]}}]":                  "did you mean granted-early",
		"name: x\ntasks: [{hunt: {locks: [redis], ttl: 2m}}]":                               "ttl 2m0s",

		"name: x\nruntime: docker\ntasks: [{hunt: {locks: [etcd], images: {redis: [r]}}}]":                                   "no cluster of the task has an image redis to choose",
		"name: x\nruntime: docker\ntasks: [{matrix: {locks: [redis], scenarios: [pause-holder], images: {zookeeper: [z]}}}]": "PICKLOCK_ZOOKEEPER_IMAGE",
		"name: x\ntasks: [{hunt: {locks: [redis], finish: 7h}}]":                                                             "finish 7h0m0s",
		"name: x\ntasks: [{matrix: {scenarios: [nope]}}]":                                                                    "nope",
		"name: x\ntasks: [{run: {locks: [redis], faults: [pause], fencing: [nothing]}}]":                                     "nothing",
	} {
		c, err := Parse([]byte(text))
		if err == nil {
			_, err = c.Jobs(context.Background(), all.Locks())
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// TestItemCheck: what came over a network is looked at.
func TestItemCheck(t *testing.T) {
	list := jobs(t, "name: x\ntasks: [{hunt: {locks: [redis], max-faults: 0}}, {matrix: {locks: [redis], scenarios: [pause-holder]}}]")
	hunt, matrix := list[0], list[1]
	size := hunt.Hunt.Size()
	for _, c := range []struct {
		item Item
		job  Job
		ok   bool
	}{
		{Item{Kind: Slice, First: 0, End: size}, hunt, true},
		{Item{Kind: Slice, First: 0, End: size + 1}, hunt, false},
		{Item{Kind: Slice, First: 3, End: 3}, hunt, false},
		{Item{Kind: Slice, First: -1, End: 3}, hunt, false},
		{Item{Kind: Guided, Time: 1}, hunt, true},
		{Item{Kind: Guided}, hunt, false},
		{Item{Kind: Guided, Time: 1 << 62}, hunt, false},
		{Item{Kind: Finish, Objects: []string{"x"}}, hunt, true},
		{Item{Kind: Finish}, hunt, false},
		{Item{Kind: Run}, hunt, false},
		{Item{Kind: "shell"}, hunt, false},
		{Item{Job: 1, Kind: Slice, End: 1}, hunt, false},
		{Item{Job: 1, Kind: Run}, matrix, true},
		{Item{Job: 1, Kind: Run, First: len(matrix.Cells)}, matrix, false},
		{Item{Job: 1, Kind: Run, First: -1}, matrix, false},
		{Item{Job: 1, Kind: Run, Number: -1}, matrix, false},
		{Item{Job: 1, Kind: Slice, End: 1}, matrix, false},
	} {
		if err := c.item.Check(c.job); (err == nil) != c.ok {
			t.Errorf("%+v: %v, want it to pass: %v", c.item, err, c.ok)
		}
	}
}
