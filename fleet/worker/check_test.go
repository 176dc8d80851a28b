package worker

import (
	"os"
	"strings"
	"testing"

	"github.com/picklock/picklock/clients/all"
	"github.com/picklock/picklock/fleet"
)

// jobs are a hunt and a matrix as a campaign plans them.
func jobs(t *testing.T) (hunt, matrix fleet.Job) {
	t.Helper()
	c, err := fleet.Parse([]byte("name: x\ntasks: [{hunt: {locks: [redis], ttl: 250ms, max-faults: 0}}, {matrix: {locks: [redis], scenarios: [pause-holder]}}]"))
	if err != nil {
		t.Fatal(err)
	}
	list, err := c.Jobs(t.Context(), all.Locks())
	if err != nil {
		t.Fatal(err)
	}
	return list[0], list[1]
}

// TestCheck: a worker accepts what a campaign plans, and refuses anything else from the queue.
func TestCheck(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(hunt, matrix *fleet.Job)
		worker Options
		want   string // "": nothing is refused
	}{
		{name: "as planned", change: func(_, _ *fleet.Job) {}},
		{name: "allowed", change: func(_, _ *fleet.Job) {}, worker: Options{Locks: []string{"etcd", "redis"}}},
		{name: "not allowed", change: func(_, _ *fleet.Job) {}, worker: Options{Locks: []string{"etcd"}}, want: "not among --locks"},
		{name: "a program", change: func(h, m *fleet.Job) { h.Lock, m.Cells[0].Lock = "exec:/bin/sh", "exec:/bin/sh" }, want: "--allow-exec"},
		{name: "a Compose file", change: func(h, m *fleet.Job) { h.Cluster, m.Cluster = "/tmp/x.yml", "../x.yml" }, want: "--allow-exec"},
		{name: "a lock that is none", change: func(h, m *fleet.Job) { h.Lock, m.Cells[0].Lock = "nope", "nope" }, want: "nope"},
		{name: "a runtime", change: func(h, m *fleet.Job) { h.Runtime, m.Runtime = "ssh", "" }, want: "runtime"},
		{name: "an image", change: func(h, m *fleet.Job) {
			h.Images, m.Images = map[string]string{"redis": "x; rm -rf /"}, map[string]string{"A=B": "redis"}
		}, want: "not an image's name"},
		{name: "an option", change: func(h, m *fleet.Job) {
			h.Options, m.Options = map[string]string{"x": "y"}, map[string]string{"x": "y"}
		}, want: "x"},
		{name: "a fencing mode", change: func(h, m *fleet.Job) { h.Fencing, m.Cells[0].Fencing = "wrote", "wrote" }, want: "wrote"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h, m := jobs(t)
			m.Cells = append([]fleet.Cell{}, m.Cells...)
			c.change(&h, &m)
			c.worker.Table = all.Locks()
			w := &worker{o: c.worker}
			for _, j := range []fleet.Job{h, m} {
				err := w.checkJob(t.Context(), j)
				if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
					t.Errorf("%s: %v, want %q", j.Name, err, c.want)
				}
			}
		})
	}
}

func TestCheckHunt(t *testing.T) {
	for want, change := range map[string]func(h *fleet.Hunt){
		"max-faults 3":         func(h *fleet.Hunt) { h.Depth = 3 },
		"slices of 0":          func(h *fleet.Hunt) { h.Slice = 0 },
		"ttl 2m0s":             func(h *fleet.Hunt) { h.TTL = 2 * 60e9 },
		"finish 24h0m0s":       func(h *fleet.Hunt) { h.Finish = 24 * 3600e9 },
		"0 replays":            func(h *fleet.Hunt) { h.Replays = 0 },
		"one picklock version": func(h *fleet.Hunt) { h.Sizes[0]++ },
		`anomaly "broken"`:     func(h *fleet.Hunt) { h.Find = []string{"broken"} },
		"pauze":                func(h *fleet.Hunt) { h.Faults = []string{"pauze"} },
	} {
		j, _ := jobs(t)
		change(j.Hunt)
		w := &worker{o: Options{Table: all.Locks()}}
		if err := w.checkJob(t.Context(), j); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestCheckCells(t *testing.T) {
	for want, change := range map[string]func(m *fleet.Job){
		"0 cells":               func(m *fleet.Job) { m.Cells = nil },
		"not a scenario's name": func(m *fleet.Job) { m.Cells[0].Scenario = "../../etc/passwd" },
		"pause-holder.yaml:":    func(m *fleet.Job) { m.Cells[0].Text = "nothing" },
	} {
		_, j := jobs(t)
		change(&j)
		w := &worker{o: Options{Table: all.Locks()}}
		if err := w.checkJob(t.Context(), j); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestImages: Compose files find a job's images while it is done, and no longer.
func TestImages(t *testing.T) {
	const name = "PICKLOCK_REDIS_SENTINEL_IMAGE"
	t.Setenv(name, "before")
	restore := images(map[string]string{"redis-sentinel": "redis:7", "other-one": "x"})
	if os.Getenv(name) != "redis:7" || os.Getenv("PICKLOCK_OTHER_ONE_IMAGE") != "x" {
		t.Errorf("%s is %q", name, os.Getenv(name))
	}
	restore()
	if _, there := os.LookupEnv("PICKLOCK_OTHER_ONE_IMAGE"); there || os.Getenv(name) != "before" {
		t.Errorf("%s is %q afterwards", name, os.Getenv(name))
	}
}
