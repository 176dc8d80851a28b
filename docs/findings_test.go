package docs_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	findingRow = regexp.MustCompile(`(?m)^\| \[.*\]\(([a-z-]+)\.md\) \| [^|]+ \| (high|medium|low) \| (bug|design|documentation) \|`)
	fact       = regexp.MustCompile(`(?m)^\| ([A-Z][a-z ]+) \| (.+) \|$`)
)

// findings lists the pages of the index, each with its severity and kind there.
func findings(t *testing.T) map[string][2]string {
	t.Helper()
	out := map[string][2]string{}
	for _, m := range findingRow.FindAllStringSubmatch(read(t, "docs/findings/index.md"), -1) {
		out[m[1]] = [2]string{m[2], m[3]}
	}
	if len(out) < 13 {
		t.Fatalf("docs/findings/index.md has %d findings", len(out))
	}
	return out
}

// TestFindingsAreComplete: a maintainer finds on each page what he needs to judge it.
func TestFindingsAreComplete(t *testing.T) {
	headings := []string{"Expected and actual behaviour", "Timeline", "Reproduction", "Cause", "Suggested patch", "Workaround", "How picklock found it"}
	for name, index := range findings(t) {
		page := "docs/findings/" + name + ".md"
		text := read(t, page)
		at := 0
		for _, h := range headings {
			i := strings.Index(text[at:], "\n## "+h+"\n")
			if i < 0 {
				t.Errorf("%s has no heading %q, or it is in the wrong place", page, h)
				continue
			}
			at += i
		}
		facts := map[string]string{}
		for _, m := range fact.FindAllStringSubmatch(text, -1) {
			facts[m[1]] = m[2]
		}
		for _, want := range []string{"Severity", "Kind", "Library", "Service", "Consequence", "Reported before"} {
			if facts[want] == "" {
				t.Errorf("%s: the table at its top has no row %q", page, want)
			}
		}
		severity, hurts, _ := strings.Cut(facts["Severity"], ": ")
		if severity != index[0] || facts["Kind"] != index[1] {
			t.Errorf("%s says %s, %s; docs/findings/index.md %s, %s", page, severity, facts["Kind"], index[0], index[1])
		}
		if hurts == "" {
			t.Errorf("%s: the severity does not say whom it hurts", page)
		}
		if !strings.Contains(text, "$ go run . ") && !strings.Contains(text, "$ go build -o main . && ./main ") {
			t.Errorf("%s does not show how to run the reproduction", page)
		}
		patches, err := filepath.Glob("findings/repro/" + name + "/suggested*.patch")
		if err != nil || len(patches) == 0 {
			t.Errorf("docs/findings/repro/%s has no suggested.patch (%v)", name, err)
		}
		for _, patch := range patches {
			if !strings.Contains(text, "```diff\n"+strings.TrimSuffix(read(t, "docs/"+patch), "\n")+"\n```") {
				t.Errorf("%s does not show docs/%s as it is", page, patch)
			}
		}
	}
}

// moduleVersions are the requirements of the go.mod in dir, by module.
func moduleVersions(t *testing.T, dir string) map[string]string {
	t.Helper()
	cmd := exec.Command("go", "mod", "edit", "-json")
	cmd.Dir = dir
	text, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s/go.mod: %v", dir, err)
	}
	var mod struct {
		Require []struct{ Path, Version string }
		Replace []any
	}
	if err := json.Unmarshal(text, &mod); err != nil {
		t.Fatal(err)
	}
	if len(mod.Replace) > 0 {
		t.Errorf("%s/go.mod replaces a module", dir)
	}
	out := map[string]string{}
	for _, r := range mod.Require {
		out[r.Path] = r.Version
	}
	return out
}

// TestReproductionsCompile needs no network: each is a module of its own that asks for modules
// of picklock's own go.mod, in the same versions, so they are in the module cache.
func TestReproductionsCompile(t *testing.T) {
	have := moduleVersions(t, root)
	found, err := filepath.Glob("findings/repro/*")
	if err != nil {
		t.Fatal(err)
	}
	names := findings(t)
	for name := range names {
		if !slices.Contains(found, "findings/repro/"+name) {
			t.Errorf("there is no docs/findings/repro/%s", name)
		}
	}
	for _, dir := range found {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			if _, ok := names[filepath.Base(dir)]; !ok {
				t.Errorf("docs/findings/index.md has no finding %s", filepath.Base(dir))
			}
			for path, version := range moduleVersions(t, dir) {
				if have[path] != version {
					t.Errorf("docs/%s/go.mod asks for %s %s, picklock's for %q", dir, path, version, have[path])
				}
			}
			main, err := os.ReadFile(filepath.Join(dir, "main.go"))
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(main), module) {
				t.Errorf("docs/%s/main.go needs picklock", dir)
			}
			vet := exec.Command("go", "vet", ".")
			vet.Dir = dir
			vet.Env = append(os.Environ(), "GOPROXY=off", "GOWORK=off", "GOFLAGS=-mod=readonly")
			if out, err := vet.CombinedOutput(); err != nil {
				t.Errorf("go vet: %v\n%s", err, out)
			}
			scripts, err := filepath.Glob(filepath.Join(dir, "*.py"))
			if err != nil {
				t.Fatal(err)
			}
			for _, script := range scripts {
				if _, err := exec.LookPath("python3"); err != nil {
					t.Skip("python3 is missing: scripts/install python3")
				}
				compile := exec.Command("python3", "-m", "py_compile", script)
				compile.Env = append(os.Environ(), "PYTHONPYCACHEPREFIX="+t.TempDir())
				if out, err := compile.CombinedOutput(); err != nil {
					t.Errorf("py_compile: %v\n%s", err, out)
				}
			}
		})
	}
}
