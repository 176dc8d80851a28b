package library

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/picklock/picklock/clients/contract"
	"github.com/picklock/picklock/clients/internal/servers"
)

// javaTools are Java's, of which java makes an archive of the class list that it is given.
func javaTools(java string) map[string]string {
	return map[string]string{"mvn": "", "javac": "", "jar": "", "java": `for a; do case "$a" in -XX:SharedArchiveFile=*) to="${a#*=}";; -XX:SharedClassListFile=*) from="${a#*=}";; esac; done
` + java}
}

// Clients list what they load until there is an archive, and use it from then on.
func TestArchive(t *testing.T) {
	tools(t, javaTools(`test -n "$to" && cp "$from" "$to"`))
	p := named(t, "redisson", "")
	if !p.slow() {
		t.Error("nothing is built: an archive is there")
	}
	if err := p.build(t.Context(), silent); err != nil {
		t.Fatal(err)
	}
	said := ""
	say := func(text string) { said += text }
	if err := p.quicken(t.Context(), say); err != nil || said != "" || !p.slow() {
		t.Errorf("before a client has run: %v, said %q", err, said)
	}
	dir, err := p.dir()
	if err != nil {
		t.Fatal(err)
	}
	texts := []string{"# a comment\na/A\na/B\n", "a/A\n@lambda-proxy a/A run\na/Own id: 1 super: 0 source: /a.jar\na/Tor"}
	for n := range listedMost + 1 {
		command, err := p.command()
		if err != nil {
			t.Fatal(err)
		}
		_, list, listed := strings.Cut(command, "-XX:DumpLoadedClassList=")
		if listed != (n < listedMost) || strings.Contains(command, "SharedArchiveFile") {
			t.Errorf("client %d is started by %s", n, command)
		}
		if n < len(texts) {
			list, _, _ := strings.Cut(list, "'")
			if err := os.WriteFile(list, []byte(texts[n]), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := p.quicken(t.Context(), say); err != nil || !strings.Contains(said, "archive") || p.slow() {
		t.Errorf("%v, said %q", err, said)
	}
	if got, err := os.ReadFile(filepath.Join(dir, classArchive)); err != nil || len(strings.Fields(string(got))) != 5 || strings.Contains(string(got), "Own") || strings.Contains(string(got), "Tor") {
		t.Errorf("the archive is of\n%s%v", got, err)
	}
	if command, err := p.command(); err != nil || !strings.Contains(command, "-XX:SharedArchiveFile="+dir) || strings.Contains(command, "DumpLoadedClassList") {
		t.Errorf("with an archive: %s, %v", command, err)
	}
	said = ""
	if err := p.quicken(t.Context(), say); err != nil || said != "" {
		t.Errorf("the archive is made again: %v, said %q", err, said)
	}
}

// Without an archive clients start as before.
func TestNoArchive(t *testing.T) {
	tools(t, javaTools(`test -z "$to" || { echo no memory; exit 1; }`))
	p := named(t, "redisson", "")
	if err := p.build(t.Context(), silent); err != nil {
		t.Fatal(err)
	}
	dir, err := p.dir()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, classLists, "1.txt"), []byte("a/A\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := p.quicken(t.Context(), silent); err == nil || !strings.Contains(err.Error(), "no memory") || !p.slow() {
		t.Errorf("the JVM failed: %v", err)
	}
	if err := os.RemoveAll(filepath.Join(dir, classLists)); err != nil {
		t.Fatal(err)
	}
	if command, err := p.command(); err != nil || strings.Contains(command, "-XX:") {
		t.Errorf("where no list can be written: %s, %v", command, err)
	}
	if err := p.quicken(t.Context(), silent); err != nil {
		t.Error(err)
	}
	python := named(t, "redis-py", "")
	if err := python.quicken(t.Context(), silent); err != nil || python.slow() {
		t.Errorf("a language without archives: %v", err)
	}
}

// The JVM takes the archive, for the class path and the options of the clients.
func TestArchiveIsUsed(t *testing.T) {
	needTools(t, "redisson")
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	info := buildFirst(t, "redisson")
	server := servers.Redis(t, 1)[0]
	lock := contract.Open(t, info, "c1", []string{server.Addr}, 5*time.Second)
	if _, err := lock.Acquire(t.Context(), "k"); err != nil {
		t.Fatal(err)
	}
	if err := info.Library.Quicken(t.Context(), func(text string) { t.Log(text) }); err != nil || info.Library.Slow() {
		t.Fatalf("%v", err)
	}
	command, err := info.Library.Command()
	if err != nil {
		t.Fatal(err)
	}
	// With -Xshare:on a JVM that cannot use the archive ends with an error.
	out, err := exec.CommandContext(t.Context(), "sh", "-c", strings.Replace(command, "RedissonLocks", "-Xshare:on -Xlog:class+load RedissonLocks", 1)+" </dev/null").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "Adapter source: shared objects file") {
		t.Errorf("%s\n%v\n%.2000s", command, err, out)
	}
}
