package local

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/picklock/picklock/compose"
	"github.com/picklock/picklock/internal/proc"
	"github.com/picklock/picklock/internal/testkit"
)

// A node's connections are in a table of its own.
func TestSocketTable(t *testing.T) {
	if !sandbox.Isolated {
		testkit.Need(t, "namespaces", errors.New(sandbox.Why))
	}
	if _, err := os.Stat("/proc/sys/net/ipv4/tcp_child_ehash_entries"); err != nil {
		t.Skipf("a kernel before 6.1: %v", err)
	}
	dir := t.TempDir()
	c, err := sandbox.Start(t.Context(), &compose.Definition{Name: "none"}, compose.Options{Self: "/bin/sleep", LogDir: dir, DataDir: filepath.Join(dir, "data")})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Spawn(t.Context(), compose.Program{Name: "a", Role: compose.Client, Args: []string{"1000"}}); err != nil {
		t.Fatal(err)
	}
	ns, err := os.Open(c.Nodes()[0].NetNS)
	if err != nil {
		t.Fatal(err)
	}
	defer ns.Close()
	var text []byte
	if nerr := proc.InNetNS(ns, func() { text, err = os.ReadFile("/proc/sys/net/ipv4/tcp_ehash_entries") }); nerr != nil || err != nil {
		t.Fatal(errors.Join(nerr, err))
	}
	if got := strings.TrimSpace(string(text)); got != strconv.Itoa(socketTable) {
		t.Errorf("%s buckets, want %d", got, socketTable)
	}
}
