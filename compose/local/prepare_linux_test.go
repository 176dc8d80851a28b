package local

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/picklock/picklock/compose"
)

// What is prepared is made once, whatever the cluster and its disks, and is there again after a wipe, with its
// permissions; another command makes it anew.
func TestPrepare(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	seen := map[string]bool{}
	at := func(t *testing.T, c *Cluster, name string) string {
		t.Helper()
		path := filepath.Join(c.node(name).dir, "sub", "secret")
		fi, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if fi.Mode() != 0o600 {
			t.Errorf("%s has the mode %v", path, fi.Mode())
		}
		text, err := os.ReadFile(path)
		if err != nil || len(text) == 0 {
			t.Fatalf("%q, %v", text, err)
		}
		return string(text)
	}
	command := []string{"sh", "-ec", "umask 077; mkdir sub; od -N8 -tx8 /dev/urandom >sub/secret"}
	for i, disks := range []bool{false, true, true} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			c := startKept(t, "redlock", func(l *compose.Local) { l.Prepare = command }, disks)
			for _, n := range c.Nodes() {
				if n.Role == compose.Server {
					seen[at(t, c, n.Name)] = true
				}
			}
			path := filepath.Join(c.node("redis1").dir, "sub", "secret")
			if err := os.WriteFile(path, []byte("the server's own"), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, fresh := range []bool{false, true} {
				if err := c.Kill(t.Context(), "redis1"); err != nil {
					t.Fatal(err)
				}
				if err := c.Restart(t.Context(), "redis1", fresh); err != nil {
					t.Fatal(err)
				}
				if got := at(t, c, "redis1"); seen[got] != fresh {
					t.Errorf("disks %v, wiped %v: it has %q", disks, fresh, got)
				}
			}
		})
	}
	if len(seen) != 1 {
		t.Errorf("prepared %d times: %v", len(seen), seen)
	}
	c := startKept(t, "redis", func(l *compose.Local) { l.Prepare = append(slices.Clone(command[:2]), command[2]+" # anew") }, false)
	if got := at(t, c, "redis"); seen[got] {
		t.Error("another command's outcome is the same")
	}
}

// Of a command that fails nothing is kept, and the error has its words.
func TestPrepareFails(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	def, err := compose.Load(t.Context(), "redis")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for what, tc := range map[string]struct {
		command []string
		want    string
	}{
		"status":  {[]string{"sh", "-ec", "mkdir data; echo no room >&2; exit 3"}, "no room"},
		"program": {[]string{"no-such-program-here"}, "no-such-program-here"},
		"node":    {[]string{"sh", "-ec", "echo {addr} >x"}, "prepare has {addr}"},
		"link":    {[]string{"ln", "-s", "/etc/passwd", "x"}, "neither a file nor a folder"},
	} {
		t.Run(what, func(t *testing.T) {
			n := &node{name: "redis", svc: &def.Members()[0]}
			n.svc.Spec.Local.Prepare = tc.command
			if err := n.prepare(t.Context(), dir); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v, want %q", err, tc.want)
			}
			if inside, err := os.ReadDir(dir); err != nil || len(inside) > 0 {
				t.Errorf("%v, %v", inside, err)
			}
		})
	}
}
