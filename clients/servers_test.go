package clients

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/picklock/picklock/internal/proc"
)

// server is one real server that a test started, as a process of its own.
type server struct {
	addr string
	cmd  *exec.Cmd
	dead chan struct{} // closes when it has ended
}

// kill ends the server as a crash would.
func (s *server) kill() {
	s.cmd.Process.Kill()
	<-s.dead
}

func freePort(t testing.TB) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	return port
}

// need finds a binary or skips the test, naming the package that has it.
func need(t testing.TB, binary, aptPackage string) string {
	t.Helper()
	path, err := exec.LookPath(binary)
	if err != nil {
		t.Skipf("no %s on PATH: apt install %s", binary, aptPackage)
	}
	return path
}

// start runs a server until the test ends and waits until its port answers.
func start(t testing.TB, port string, cmd *exec.Cmd) *server {
	t.Helper()
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	s := &server{addr: "127.0.0.1:" + port, cmd: cmd, dead: make(chan struct{})}
	started := make(chan error)
	go func() {
		defer close(s.dead)
		runtime.LockOSThread() // see startChild: nothing is left behind by tests that panic
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
	t.Cleanup(s.kill)
	deadline := time.Now().Add(60 * time.Second)
	for {
		conn, err := net.Dial("tcp", s.addr)
		if err == nil {
			conn.Close()
			return s
		}
		if time.Now().After(deadline) {
			out, _ := os.ReadFile(log.Name())
			t.Fatalf("%s never answered on %s:\n%s", cmd.Path, s.addr, out)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func startRedis(t testing.TB, n int) []*server {
	bin := need(t, "redis-server", "redis-server")
	var out []*server
	for range n {
		port := freePort(t)
		out = append(out, start(t, port, exec.Command(bin, "--port", port, "--bind", "127.0.0.1", "--save", "", "--dir", t.TempDir())))
	}
	return out
}

func startEtcd(t testing.TB) []*server {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	port := freePort(t)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %s %s", etcdServer, t.TempDir(), port, freePort(t)))
	return []*server{start(t, port, cmd)}
}

// zkClassPath is what ZooKeeper 3.8 needs to serve, as Debian's libzookeeper-java
// and its dependencies install it.
var zkClassPath = "zookeeper zookeeper-jute slf4j-api metrics-core"

func startZooKeeper(t testing.TB) []*server {
	java := need(t, "java", "default-jre-headless")
	var jars []string
	for _, name := range strings.Fields(zkClassPath) {
		jar := "/usr/share/java/" + name + ".jar"
		if _, err := os.Stat(jar); err != nil {
			t.Skipf("no %s: apt install libzookeeper-java", jar)
		}
		jars = append(jars, jar)
	}
	port := freePort(t)
	s := start(t, port, exec.Command(java, "-Xmx128m", "-XX:TieredStopAtLevel=1",
		"-Dzookeeper.admin.enableServer=false", "-cp", strings.Join(jars, ":"),
		"org.apache.zookeeper.server.ZooKeeperServerMain", port, t.TempDir(), "200"))
	for range 100 { // its port is open before it serves
		if zkServes(s.addr) {
			return []*server{s}
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatal("ZooKeeper took connections and never served")
	return nil
}

// zkServes asks a server for its state by one of its four-letter words.
func zkServes(addr string) bool {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return false
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(time.Second))
	fmt.Fprint(conn, "srvr")
	reply, err := io.ReadAll(conn)
	return err == nil && bytes.Contains(reply, []byte("Mode:"))
}

func addrs(servers []*server) []string {
	var out []string
	for _, s := range servers {
		out = append(out, s.addr)
	}
	return out
}

// link is a way to one server that can be cut: while it is, bytes wait on it, as
// they do in a cut network, and go on when it heals.
type link struct {
	addr string
	done chan struct{} // closes at the test's end

	mu    sync.Mutex
	heal  chan struct{} // nil: not cut
	trap  []byte
	conns []net.Conn
}

func newLink(t testing.TB, to string) *link {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &link{addr: ln.Addr().String(), done: make(chan struct{})}
	var group sync.WaitGroup
	t.Cleanup(func() {
		ln.Close()
		close(l.done)
		l.mu.Lock()
		for _, c := range l.conns {
			c.Close()
		}
		l.conns = nil
		l.mu.Unlock()
		group.Wait()
	})
	group.Go(func() {
		for {
			in, err := ln.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", to)
			if err != nil {
				in.Close()
				continue
			}
			l.mu.Lock()
			l.conns = append(l.conns, in, out)
			l.mu.Unlock()
			sprung := make(chan struct{})
			group.Go(func() { l.copy(out, in, sprung, true) })
			group.Go(func() { l.copy(in, out, sprung, false) })
		}
	})
	return l
}

func (l *link) copy(dst, src net.Conn, sprung chan struct{}, requests bool) {
	defer dst.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := src.Read(buf)
		l.mu.Lock()
		heal := l.heal
		if requests && len(l.trap) > 0 && bytes.Contains(buf[:n], l.trap) {
			l.trap = nil
			close(sprung)
		}
		l.mu.Unlock()
		if heal != nil {
			select {
			case <-heal:
			case <-l.done:
				return
			}
		}
		if !requests {
			select {
			case <-sprung:
				<-l.done
				return
			default:
			}
		}
		if n > 0 {
			if _, werr := dst.Write(buf[:n]); werr != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// loseReply lets the next request that contains mark through and nothing back on
// its connection any more; other connections are not affected.
func (l *link) loseReply(mark string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.trap = []byte(mark)
}

// lost says whether the request has come by.
func (l *link) lost() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.trap == nil
}

func (l *link) set(cut bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case cut && l.heal == nil:
		l.heal = make(chan struct{})
	case !cut && l.heal != nil:
		close(l.heal)
		l.heal = nil
	}
}

// links gives a client a way of its own to each server, all cut and healed
// together.
type links []*link

func newLinks(t testing.TB, servers []*server) links {
	var out links
	for _, s := range servers {
		out = append(out, newLink(t, s.addr))
	}
	return out
}

func (ls links) addrs() []string {
	var out []string
	for _, l := range ls {
		out = append(out, l.addr)
	}
	return out
}

func (ls links) cut() {
	for _, l := range ls {
		l.set(true)
	}
}

func (ls links) healed() {
	for _, l := range ls {
		l.set(false)
	}
}

// open opens a lock's client, closed when the test ends. A semaphore has one permit, which
// makes it a mutex.
func open(t testing.TB, name, client string, servers []string, ttl time.Duration) Lock {
	t.Helper()
	if info, err := Builtin().Lookup(name); err == nil && info.Kind == Semaphore {
		return openWith(t, name, client, servers, ttl, map[string]string{permitsOption.Name: "1"})
	}
	return openWith(t, name, client, servers, ttl, nil)
}

// openWith is open with options of the lock's own.
func openWith(t testing.TB, name, client string, servers []string, ttl time.Duration, extra map[string]string) Lock {
	t.Helper()
	info, err := Builtin().Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	l, err := info.Open(ctx, Options{
		Servers: servers, Client: client, TTL: ttl, Extra: extra,
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		t.Fatal(fmt.Errorf("open %s: %w", name, err))
	}
	t.Cleanup(func() { l.Close() })
	return l
}
