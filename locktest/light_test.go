package locktest_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// A test of one lock on one cluster must not compile the rest of the house: the clients
// of other services, the Docker engine's, the servers that are built in.
const (
	maxPackages = 300
	maxModules  = 30
)

// TestLight counts what the test that docs/quickstarts/go.md prints is made of, beside the
// standard library.
func TestLight(t *testing.T) {
	dir := sample(t, func(code string) string { return code })
	cmd := exec.CommandContext(t.Context(), "go", "list", "-mod=mod", "-deps", "-test", "-f", "{{if not .Standard}}{{with .Module}}{{.Path}}{{end}} {{.ImportPath}}{{end}}", ".")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOPROXY=off", "GOWORK=off")
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, said.String())
	}
	modules, packages := map[string]int{}, 0
	for line := range strings.Lines(string(out)) {
		module, pkg, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok || module == "" {
			continue
		}
		modules[module]++
		packages++
		for _, heavy := range []string{"compose/docker", "compose/builtin", "clients/all"} {
			if pkg == "github.com/picklock/picklock/"+heavy {
				t.Errorf("it compiles %s", pkg)
			}
		}
	}
	t.Logf("%d packages of %d modules", packages, len(modules))
	if packages > maxPackages || len(modules) > maxModules {
		t.Errorf("%d packages of %d modules, want at most %d of %d:\n%v", packages, len(modules), maxPackages, maxModules, modules)
	}
}
