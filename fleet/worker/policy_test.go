package worker

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/picklock/picklock/clients/all"
	"github.com/picklock/picklock/fleet"
)

// TestWorkerRunsOnlyWhatItHas: without --allow-exec the queue brings nothing that a worker starts,
// and no place that it connects to.
func TestWorkerRunsOnlyWhatItHas(t *testing.T) {
	t.Chdir(t.TempDir())
	own := "services: {x: {image: x, x-picklock: {role: server, ports: [1], local: {command: [touch, ran]}}}}"
	if err := os.WriteFile("docker-compose.yml", []byte(own), 0o600); err != nil {
		t.Fatal(err)
	}
	here, err := filepath.Abs("docker-compose.yml")
	if err != nil {
		t.Fatal(err)
	}
	field := func(line string) func(h, m *fleet.Job) {
		return func(h, m *fleet.Job) {
			h.Cluster = "./other.yml" // the hunt has no scenario: it is refused for this
			m.Cells[0].Text = strings.Replace(m.Cells[0].Text, "\nclients:", "\n"+line+"\nclients:", 1)
		}
	}
	cluster := func(name string) func(h, m *fleet.Job) {
		return func(h, m *fleet.Job) { h.Cluster, m.Cluster = name, name }
	}
	docker := func(images map[string]string) func(h, m *fleet.Job) {
		return func(h, m *fleet.Job) {
			h.Runtime, m.Runtime, h.Images, m.Images = "docker", "docker", images, images
		}
	}
	for name, c := range map[string]struct {
		change func(h, m *fleet.Job)
		worker Options
		want   string
	}{
		"a Compose file of the worker's folder": {change: cluster("docker-compose.yml"), want: "--allow-exec"},
		"a Compose file anywhere":               {change: cluster(here), want: "--allow-exec"},
		"a Compose file above":                  {change: cluster("../docker-compose.yml"), want: "--allow-exec"},
		"an endpoint":                           {change: cluster("endpoint:10.0.0.1:6379"), want: "did not start"},
		"servers of a version":                  {change: cluster("etcd@3.5.21"), want: "--allow-exec"},
		"a scenario's Compose file":             {change: field("cluster: docker-compose.yml"), want: "--allow-exec"},
		"a scenario's Compose file anywhere":    {change: field("cluster: " + here), want: "--allow-exec"},
		"a scenario's endpoint":                 {change: field("cluster: endpoint:10.0.0.1:6379"), want: "--allow-exec"},
		"a scenario's folder":                   {change: field("folder: /usr/bin"), want: "--allow-exec"},
		"a program":                             {change: func(h, m *fleet.Job) { h.Lock, m.Cells[0].Lock = "exec:touch ran", "exec:touch ran" }, want: "--allow-exec"},
		"an option that is no option of the lock": {change: func(h, m *fleet.Job) {
			h.Options, m.Options = map[string]string{"address": "10.0.0.1:1"}, map[string]string{"address": "10.0.0.1:1"}
		}, want: "no options"},
		"containers":                   {change: docker(nil), want: "--allow-docker"},
		"an image":                     {change: docker(map[string]string{"redis": "evil/redis:1"}), worker: Options{AllowDocker: true}, want: "not among --images"},
		"an image beside a listed one": {change: docker(map[string]string{"redis": "redis:8", "etcd": "evil"}), worker: Options{AllowDocker: true, Images: []string{"redis:8"}}, want: "not among --images"},
	} {
		t.Run(name, func(t *testing.T) {
			h, m := jobs(t)
			c.change(&h, &m)
			c.worker.Table = all.Locks()
			for _, j := range []fleet.Job{h, m} {
				err := (&worker{o: c.worker}).checkJob(t.Context(), j)
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("%s: %v, want %q", j.Name, err, c.want)
				}
			}
			if _, err := os.Stat("ran"); err == nil {
				t.Error("the program ran")
			}
		})
	}
}

// TestScenarioThatNamesAProgram: a cell of a lock of picklock's may come with a scenario that names
// a program beside it.
func TestScenarioThatNamesAProgram(t *testing.T) {
	_, m := jobs(t)
	m.Cells[0].Text = strings.Replace(m.Cells[0].Text, "locks: [", "locks: ['exec:touch ran', ", 1)
	if err := (&worker{o: Options{Table: all.Locks()}}).checkJob(t.Context(), m); err == nil || !strings.Contains(err.Error(), "names the program exec:touch ran") {
		t.Errorf("%v", err)
	}
	if err := (&worker{o: Options{Table: all.Locks(), AllowExec: true}}).checkJob(t.Context(), m); err != nil {
		t.Errorf("with --allow-exec: %v", err)
	}
}

// TestWorkerAllowsWhatItsFlagsSay: the flags open exactly what they name.
func TestWorkerAllowsWhatItsFlagsSay(t *testing.T) {
	for name, o := range map[string]Options{
		"a listed image": {AllowDocker: true, Images: []string{"redis:8"}},
		"any image":      {AllowExec: true},
	} {
		h, m := jobs(t)
		for _, j := range []fleet.Job{h, m} {
			j.Runtime, j.Images = "docker", map[string]string{"redis": "redis:8"}
			o.Table = all.Locks()
			if err := (&worker{o: o}).runtime(j); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	w := &worker{o: Options{Table: all.Locks(), AllowExec: true}}
	for _, cluster := range []string{"./x.yml", "endpoint:127.0.0.1:6379", "redis"} {
		if err := w.cluster(cluster); err != nil {
			t.Errorf("%s: %v", cluster, err)
		}
	}
}

// TestNoOptionIsAnAddressOrAPath: options come from the queue, with a job or in a scenario. So no lock of picklock's may have one
// that makes it connect to a place or open a file.
func TestNoOptionIsAnAddressOrAPath(t *testing.T) {
	options := 0
	for _, info := range all.Locks().All() {
		if info.IsExec() {
			continue // a program: it needs --allow-exec
		}
		for _, o := range info.Options {
			options++
			for _, value := range []string{"/etc/passwd", "../x", "10.0.0.1:6379", "http://10.0.0.1/"} {
				if info.CheckOptions(map[string]string{o.Name: value}) == nil {
					t.Errorf("lock %s takes %s=%s", info.Name, o.Name, value)
				}
			}
		}
		if info.AnyOption {
			t.Errorf("lock %s takes any option", info.Name)
		}
	}
	if options < 10 {
		t.Errorf("only %d options were tried", options)
	}
}
