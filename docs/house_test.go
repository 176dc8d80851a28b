package docs_test

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/picklock/picklock"

// house says what a package may bring along into a program: these modules and no others
// beside our own, and, where most is not 0, that many packages outside the standard
// library at most.
var house = []struct {
	pkg     string
	most    int
	modules []string
}{
	{pkg: "history"},
	{pkg: "clients", most: 4},
	{pkg: "clients/contract", most: 5},
	{pkg: "clients/register", most: 4},
	{pkg: "workloads", most: 6},
	{pkg: "hunt", most: 12, modules: []string{"go.yaml.in/yaml/v3"}},
	{pkg: "hunt/record", most: 13, modules: []string{"go.yaml.in/yaml/v3"}},
	{pkg: "scenarios", most: 11, modules: []string{"go.yaml.in/yaml/v3"}},
}

// dependencies lists what a package brings along that is not of the standard library:
// packages, and by module.
func dependencies(t *testing.T, pkg string) map[string]string {
	t.Helper()
	cmd := exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}} {{with .Module}}{{.Path}}{{end}}{{end}}", module+"/"+pkg)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v", cmd, err)
	}
	all := map[string]string{}
	for line := range strings.Lines(string(out)) {
		if path, mod, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			all[path] = mod
		}
	}
	return all
}

func TestHouse(t *testing.T) {
	for _, h := range house {
		t.Run(h.pkg, func(t *testing.T) {
			t.Parallel()
			deps := dependencies(t, h.pkg)
			for path, mod := range deps {
				if mod != module && !slices.Contains(h.modules, mod) {
					t.Errorf("it brings %s of %s along", path, mod)
				}
			}
			if h.most > 0 && len(deps) > h.most {
				t.Errorf("it brings %d packages along, want %d at most", len(deps), h.most)
			}
		})
	}
}

// TestServicesApart: no lock service's folder knows another's.
func TestServicesApart(t *testing.T) {
	services := []string{"consul", "dynamodb", "etcd", "exec", "file", "kubernetes", "lockfree", "postgres", "redis", "zookeeper"}
	for _, s := range services {
		t.Run(s, func(t *testing.T) {
			t.Parallel()
			for path := range dependencies(t, "clients/"+s) {
				other, ok := strings.CutPrefix(path, module+"/clients/")
				if ok && other != s && slices.Contains(services, other) {
					t.Errorf("it imports %s", path)
				}
			}
		})
	}
}

// TestQueueApart: only the queue's own folder brings the queue along.
func TestQueueApart(t *testing.T) {
	for _, pkg := range []string{"fleet", "hunt/testbeds", "harness", "locktest"} {
		for path, mod := range dependencies(t, pkg) {
			if strings.HasPrefix(mod, "github.com/nats-io/") {
				t.Errorf("%s brings %s along", pkg, path)
			}
		}
	}
}

// TestGoInstallWorks: go install refuses a module that replaces or excludes others.
// Whether all of it comes through a proxy shows make release.
func TestGoInstallWorks(t *testing.T) {
	mod, err := os.ReadFile("../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(mod)) {
		if word, _, _ := strings.Cut(strings.TrimSpace(line), " "); word == "replace" || word == "exclude" {
			t.Errorf("go.mod says %q: go install ...@latest refuses that", strings.TrimSpace(line))
		}
	}
}
