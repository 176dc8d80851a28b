package modules

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// A version finds the module that has it, and what is none is refused with one that is.
func TestFind(t *testing.T) {
	for name, tc := range map[string]struct{ server, version, module, wrong string }{
		"3.5":            {"etcd", "3.5.21", "go.etcd.io/etcd/server/v3", ""},
		"3.10":           {"etcd", "3.10.0", "go.etcd.io/etcd/server/v3", ""},
		"release":        {"etcd", "3.7.0-rc.0", "go.etcd.io/etcd/server/v3", ""},
		"pseudo":         {"etcd", "0.5.0-alpha.5.0.20200910180754-dd1b699fc489", "go.etcd.io/etcd", ""},
		"no module":      {"etcd", "3.4.1", "", "0.5.0-alpha"},
		"a query":        {"etcd", "latest", "", "3.5.21"},
		"a path":         {"etcd", "3.5.21/../x", "", "3.5.21"},
		"a flag":         {"etcd", "3.5.21 -x", "", "no version"},
		"nothing":        {"etcd", "", "", "no version"},
		"another server": {"dynamodb", "1.0.0", "", "it has those of etcd"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := Find(tc.server, tc.version)
			if tc.wrong != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wrong) {
					t.Errorf("%v, want %q", err, tc.wrong)
				}
				return
			}
			if err != nil || s.module != tc.module {
				t.Errorf("%s, %v; want %s", s.module, err, tc.module)
			}
		})
	}
	for _, l := range lines {
		if s, err := Find(l.server, l.like); err != nil || s.module != l.module {
			t.Errorf("%s@%s, which messages name, is %s, %v", l.server, l.like, s.module, err)
		}
	}
}

// goCommand makes a script the whole PATH, which notes its arguments in the file that is returned.
func goCommand(t *testing.T, text string) (log string) {
	t.Helper()
	dir := t.TempDir()
	log = filepath.Join(dir, "called")
	if text != "" {
		script := "#!/bin/sh\nPATH=/usr/bin:/bin\necho \"$@\" >>" + log + "\n" + text + "\n"
		if err := os.WriteFile(filepath.Join(dir, "go"), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir)
	t.Setenv("XDG_CACHE_HOME", filepath.Join(dir, "cache"))
	return log
}

func found(t *testing.T, version string) Server {
	t.Helper()
	s, err := Find("etcd", version)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Of those that need the same server, one builds it, in a folder that is whole if it is there.
func TestBuild(t *testing.T) {
	log := goCommand(t, `case "$1" in get) sleep 0.2; test -f go.mod;; build) grep -q etcdmain main.go && echo x >etcd;; esac`)
	s := found(t, "3.5.21")
	var all sync.WaitGroup
	var mu sync.Mutex
	var said strings.Builder
	for range 3 {
		all.Go(func() {
			if err := s.Build(t.Context(), func(text string) {
				mu.Lock()
				defer mu.Unlock()
				said.WriteString(text + "\n")
			}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	called, err := os.ReadFile(log)
	if want := "get go.etcd.io/etcd/server/v3@v3.5.21\nbuild -mod mod -trimpath -ldflags -s -w -o etcd .\n"; err != nil || string(called) != want {
		t.Errorf("%v, called\n%swant\n%s", err, called, want)
	}
	for _, want := range []string{"cluster etcd@3.5.21: building its server", "another process builds its server", "run go build"} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("said\n%swant %q", said.String(), want)
		}
	}
	path, err := s.Program()
	if err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "x\n" {
		t.Errorf("%q, %v", text, err)
	}
	if other, err := found(t, "3.5.16").Program(); err != nil || other == path {
		t.Errorf("two versions are one program, %s: %v", other, err)
	}
}

// A build that fails or is interrupted leaves nothing that could be taken for one.
func TestFailedBuild(t *testing.T) {
	goCommand(t, "echo This module version is not available. >&2; exit 1")
	s := found(t, "3.5.21")
	path, err := s.Program()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Build(t.Context(), func(string) {}); err == nil || !strings.Contains(err.Error(), "not available") || !strings.Contains(err.Error(), "cluster etcd@3.5.21") {
		t.Errorf("%v, want go's own words", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if err := s.Build(ctx, func(string) { cancel() }); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
	for _, at := range []string{filepath.Dir(path), filepath.Dir(path) + ".building"} {
		if _, err := os.Stat(at); err == nil {
			t.Errorf("%s is left", at)
		}
	}
	goCommand(t, "")
	if err := s.Build(t.Context(), func(string) {}); err == nil || !strings.Contains(err.Error(), "go.dev/doc/install") {
		t.Errorf("without go: %v", err)
	}
}
