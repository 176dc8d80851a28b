package library

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/picklock/picklock/internal/built"
)

// tools makes a folder with programs of these names the whole PATH, but for sh's own. Each notes its
// arguments in the file that is returned, and then does what its text says.
func tools(t *testing.T, texts map[string]string) (called func() string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("its programs are scripts of a POSIX shell")
	}
	dir := t.TempDir()
	log := filepath.Join(dir, "called")
	for name, text := range texts {
		script := "#!/bin/sh\nPATH=/usr/bin:/bin\necho " + name + " \"$@\" >>" + log + "\n" + text + "\n"
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir)
	t.Setenv("XDG_CACHE_HOME", filepath.Join(dir, "a cache"))
	return func() string {
		text, err := os.ReadFile(log)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		return string(text)
	}
}

// named is the program of a line of the table.
func named(t *testing.T, lock, version string) program {
	t.Helper()
	for _, l := range lines() {
		if l.name == lock {
			if version == "" {
				version = l.version
			}
			return program{line: l, lock: lock, version: version}
		}
	}
	t.Fatalf("no lock %s", lock)
	return program{}
}

func silent(string) {}

// Each language's tools are run in the folder of the build, on the sources, for the version that is
// asked for.
func TestRecipes(t *testing.T) {
	particular := `case "$*" in *sys.executable*) printf %s "$0";; *etcd3gw==*) exit 1;; *) test -f picklock.py;; esac`
	python := `case "$*" in *sys.executable*) printf %s "$0";; *) test -f picklock.py;; esac`
	for name, tc := range map[string]struct {
		lock, version string
		tools         map[string]string
		called        []string // in this order
		command       []string // of the program
	}{
		"java":           {"redisson", "", map[string]string{"mvn": "test -f pom.xml && test -f ../pom.xml", "javac": "test -f adapter/Adapter.java", "jar": "", "java": ""}, []string{"mvn -q -B", "-Dlibrary.version=4.7.0", "javac ", "redisson/RedissonLocks.java"}, []string{"java '@", "java.args' ", " RedissonLocks lock"}},
		"java, other":    {"redisson-fair", "3.50.0", map[string]string{"mvn": "", "javac": "", "jar": "", "java": ""}, []string{"-Dlibrary.version=3.50.0"}, []string{"RedissonLocks fair"}},
		"python":         {"redis-py", "", map[string]string{"python3": python}, []string{"python3 -m pip install", "-r requirements/redis_py.txt"}, []string{"python3 -E -s", "redis_py.py'"}},
		"python, other":  {"redis-py", "7.0.0", map[string]string{"python3": python}, []string{"redis==7.0.0"}, nil},
		"python, more":   {"tooz-etcd", "3.0.0", map[string]string{"python3": python}, []string{"--target", " etcd3gw==", " kazoo==", " redis==", " tooz==3.0.0"}, nil},
		"python, alone":  {"tooz-etcd", "3.0.0", map[string]string{"python3": particular}, []string{" etcd3gw==", "python3 -m pip", " etcd3gw ", " kazoo ", " redis ", " tooz==3.0.0"}, nil},
		"java, apart":    {"shedlock-redis", "6.5.0", map[string]string{"mvn": "", "javac": "", "jar": "", "java": ""}, []string{"-Dprogram=ShedLockRedis", "-sourcepath shedlock ", "shedlock/ShedLockRedis.java"}, nil},
		"node":           {"node-redlock", "", map[string]string{"node": "", "npm": "test -f package-lock.json && test -f ../adapter.mjs"}, []string{"npm ci --ignore-scripts"}, []string{"node '", "redlock/redlock.mjs'"}},
		"node, other":    {"node-redlock", "4.2.0", map[string]string{"node": "", "npm": `test ! -e package-lock.json && grep -q '"redlock":"4.2.0"' package.json`}, []string{"npm install --legacy-peer-deps --ignore-scripts"}, nil},
		"rust":           {"rslock", "", map[string]string{"cc": "", "cargo": `test -f ../adapter/Cargo.toml && grep -q '"=0.10.0"' Cargo.toml && mkdir -p ../target/release && echo x >../target/release/client`}, []string{"cargo build --release", "--locked"}, []string{"/client'"}},
		"go":             {"go-redsync", "", map[string]string{"go": "test -f adapter/adapter.go && test -f go.sum && grep -q 'redsync/v4 v4' go.mod"}, []string{"go build -tags library", "./redsync"}, []string{"/client'"}},
		"go, other":      {"go-redsync", "4.1.0", map[string]string{"go": "test ! -f go.sum && ! grep -q redsync go.mod"}, []string{"go get github.com/go-redsync/redsync/v4@v4.1.0", "-mod mod ./redsync"}, nil},
		"rust, other":    {"rslock", "0.7.4", map[string]string{"cc": "", "cargo": `grep -q 'rslock = { version = "=0.7.4"' Cargo.toml && mkdir -p ../target/release && echo x >../target/release/client`}, []string{"cargo build --release"}, nil},
		"another's line": {"kazoo", "", map[string]string{"python3": python}, []string{"-r requirements/kazoo_lock.txt"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			called := tools(t, tc.tools)
			p := named(t, tc.lock, tc.version)
			if _, err := p.command(); err == nil || !strings.Contains(err.Error(), "picklock lock build "+tc.lock) {
				t.Errorf("before it is built: %v", err)
			}
			if err := p.build(t.Context(), silent); err != nil {
				t.Fatal(err)
			}
			first := called()
			rest := first
			for _, want := range tc.called {
				_, after, ok := strings.Cut(rest, want)
				if !ok {
					t.Errorf("called\n%swant %q", first, tc.called)
				}
				rest = after
			}
			if tc.version != "" && strings.Contains(first, "--locked") {
				t.Errorf("another version is built with the tested one's lock file: %s", first)
			}
			command, err := p.command()
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range tc.command {
				if !strings.Contains(command, want) {
					t.Errorf("it is started by %q, want %q in that", command, want)
				}
			}
			if err := p.build(t.Context(), silent); err != nil || called() != first {
				t.Errorf("what is built is built again: %v\n%s", err, called())
			}
		})
	}
}

// A build that fails, or is killed, leaves nothing that could be taken for one.
func TestFailedBuild(t *testing.T) {
	called := tools(t, map[string]string{"node": "", "npm": "touch left; echo cannot resolve >&2; exit 3"})
	p := named(t, "node-redlock", "")
	f, err := p.built()
	if err != nil {
		t.Fatal(err)
	}
	dir := f.Path
	if err := p.build(t.Context(), silent); err == nil || !strings.Contains(err.Error(), "cannot resolve") || !strings.Contains(err.Error(), "redlock 5.0.0-beta.2") {
		t.Errorf("%v, want the tool's own words", err)
	}
	if f.Exists() || (built.Folder{Path: dir + ".building"}).Exists() {
		t.Error("something is left of it")
	}
	// What a build that was killed has left.
	if err := os.MkdirAll(filepath.Join(dir+".building", "redlock", "node_modules"), 0o755); err != nil {
		t.Fatal(err)
	}
	tools(t, map[string]string{"node": "", "npm": "test ! -e node_modules"})
	t.Setenv("XDG_CACHE_HOME", filepath.Dir(filepath.Dir(filepath.Dir(filepath.Dir(dir)))))
	if err := p.build(t.Context(), silent); err != nil || !f.Exists() {
		t.Errorf("%v", err)
	}
	if n := strings.Count(called(), "npm"); n != 1 {
		t.Errorf("the first npm was called %d times", n)
	}
}

// Of processes that need the same program, one builds it.
func TestBuildOnce(t *testing.T) {
	called := tools(t, map[string]string{"node": "", "npm": "sleep 0.3"})
	p := named(t, "node-redlock", "")
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if err := p.build(t.Context(), silent); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := strings.Count(called(), "npm"); n != 1 {
		t.Errorf("npm was called %d times", n)
	}
}

// Who waits for another's build can be interrupted.
func TestWaitInterrupted(t *testing.T) {
	tools(t, map[string]string{"node": "", "npm": ""})
	p := named(t, "node-redlock", "")
	f, err := p.built()
	if err == nil {
		err = os.MkdirAll(filepath.Dir(f.Path), 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	unlock, err := f.Alone(t.Context(), silent)
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	ctx, cancel := context.WithCancel(t.Context())
	told := ""
	err = p.build(ctx, func(text string) { told += text; cancel() })
	if !errors.Is(err, context.Canceled) || !strings.Contains(told, "another process") {
		t.Errorf("%v, told %q", err, told)
	}
}

// Without its tools a build says which, and where they come from.
func TestMissingTools(t *testing.T) {
	for lock, want := range map[string]string{
		"redisson": "Java, whose client has to be built here: missing on PATH: mvn, javac. Install: apt install maven; apt install default-jdk-headless",
		"redis-py": "missing on PATH: python3", "node-redlock": "missing on PATH: node, npm", "go-redsync": "missing on PATH: go. Install: https://go.dev/doc/install", "rslock": "rustup.rs", "rust-etcd-client": "protoc. Install: https://rustup.rs",
	} {
		t.Run(lock, func(t *testing.T) {
			tools(t, map[string]string{"java": ""})
			if err := named(t, lock, "").build(t.Context(), silent); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
		})
	}
}
