// Package servers starts real servers for the tests of the locks on them. A server is a
// process of its own, so that it can be killed, and ends with its test. What is not
// installed skips the test that needs it.
package servers

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/picklock/picklock/clients/contract"
	"github.com/picklock/picklock/internal/proc"
	"github.com/picklock/picklock/internal/testkit"
)

// FreePort is testkit's.
func FreePort(t testing.TB) string {
	t.Helper()
	return testkit.FreePort(t)
}

// Need finds a binary or skips the test, naming the package that has it.
func Need(t testing.TB, binary, aptPackage string) string {
	t.Helper()
	path, err := exec.LookPath(binary)
	if err != nil {
		testkit.Need(t, binary, fmt.Errorf("no %s on PATH: apt install %s", binary, aptPackage))
	}
	return path
}

// Start runs a server until the test ends and waits until its port answers.
func Start(t testing.TB, port string, cmd *exec.Cmd) *contract.Server {
	t.Helper()
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	s := launch(t, port, cmd)
	t.Cleanup(s.Kill)
	deadline := time.Now().Add(60 * time.Second)
	for {
		conn, err := net.Dial("tcp", s.Addr)
		if err == nil {
			conn.Close()
			return s
		}
		if time.Now().After(deadline) {
			out, _ := os.ReadFile(log.Name())
			t.Fatalf("%s never answered on %s:\n%s", cmd.Path, s.Addr, out)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// launch starts a server.
func launch(t testing.TB, port string, cmd *exec.Cmd) *contract.Server {
	t.Helper()
	dead := make(chan struct{})
	s := &contract.Server{Addr: "127.0.0.1:" + port, Kill: func() {
		cmd.Process.Kill()
		<-dead
	}}
	started := make(chan error)
	go func() {
		defer close(dead)
		runtime.LockOSThread() // the kernel kills the server with the thread that started it: nothing is left behind by tests that panic
		defer runtime.UnlockOSThread()
		proc.DieWithParent(cmd)
		err := cmd.Start()
		started <- err
		if err == nil {
			cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	return s
}

// StartSaying runs a server until the test ends and waits until it writes these words: its
// port may be open before it serves.
func StartSaying(t testing.TB, port string, cmd *exec.Cmd, words string) *contract.Server {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	said, over := make(chan struct{}), make(chan string)
	tell := sync.OnceFunc(func() { close(said) })
	go func() {
		defer r.Close()
		var log strings.Builder
		for in := bufio.NewScanner(r); in.Scan(); { // to its end, so that the server can go on
			if log.Len() < 64<<10 {
				fmt.Fprintln(&log, in.Text())
			}
			if strings.Contains(in.Text(), words) {
				tell()
			}
		}
		over <- log.String()
	}()
	cmd.Stdout, cmd.Stderr = w, w
	s := launch(t, port, cmd)
	w.Close() // the server has its own
	kill := s.Kill
	s.Kill = sync.OnceFunc(func() {
		kill()
		<-over
	})
	t.Cleanup(s.Kill)
	select {
	case <-said:
		return s
	case log := <-over:
		close(over)
		t.Fatalf("%s ended before it wrote %q:\n%s", cmd.Path, words, log)
	case <-time.After(60 * time.Second):
		t.Fatalf("%s never wrote %q", cmd.Path, words)
	}
	return nil
}

// Redis starts n servers without persistence.
func Redis(t testing.TB, n int) []*contract.Server {
	bin := Need(t, "redis-server", "redis-server")
	var out []*contract.Server
	for range n {
		port := FreePort(t)
		out = append(out, Start(t, port, exec.Command(bin, "--port", port, "--bind", "127.0.0.1", "--save", "", "--dir", t.TempDir())))
	}
	return out
}
