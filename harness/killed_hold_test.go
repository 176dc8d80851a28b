//go:build linux

package harness_test

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/internal/proc"
	"github.com/picklock/picklock/internal/testkit"
)

// spaces are a run's namespaces, kept alive beyond its processes.
type spaces struct {
	net    map[uint64]*os.File // by number
	mounts map[string]bool     // as /proc names them
}

// ours are the namespaces of the tests, as they were before one of their threads, of which
// the first may be one, went elsewhere.
var ours = func() (o struct {
	net uint64
	mnt string
}) {
	o.net, _ = proc.NetNSNumber("/proc/self/ns/net")
	o.mnt, _ = os.Readlink("/proc/self/ns/mnt")
	return o
}()

func (u *underway) spaces(t *testing.T) spaces {
	t.Helper()
	s := spaces{map[uint64]*os.File{}, map[string]bool{}}
	for pid := range u.processes() {
		path := fmt.Sprintf("/proc/%d/ns/net", pid)
		number, err := proc.NetNSNumber(path)
		if err != nil || number == ours.net || s.net[number] != nil {
			continue
		}
		if s.net[number], err = os.Open(path); err != nil {
			t.Fatal(err)
		}
		if mnt, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/mnt", pid)); err == nil {
			s.mounts[mnt] = true
		}
	}
	delete(s.mounts, ours.mnt)
	return s
}

// of is the namespace of a process.
func (s spaces) of(t *testing.T, pid int) *os.File {
	t.Helper()
	number, err := proc.NetNSNumber(fmt.Sprintf("/proc/%d/ns/net", pid))
	if err != nil || s.net[number] == nil {
		t.Fatalf("the network of %d: %v", pid, err)
	}
	return s.net[number]
}

// left lists what processes live in the namespaces for good, and what stays mounted of the run's folder. A process that ends has no command line
// any more, by which a run's are known, while it is still in them.
func (s spaces) left(dir string) []string {
	deadline := time.Now().Add(20 * time.Second)
	for {
		out := s.inhabitants(dir)
		if len(out) == 0 || time.Now().After(deadline) {
			return out
		}
		time.Sleep(5 * time.Millisecond) // no event tells of the end of another process's children
	}
}

// inhabitants lists what is in them now.
func (s spaces) inhabitants(dir string) (out []string) {
	processes, _ := filepath.Glob("/proc/[0-9]*")
	for _, p := range processes {
		if p == fmt.Sprintf("/proc/%d", os.Getpid()) {
			continue // its threads have been in them
		}
		if number, err := proc.NetNSNumber(p + "/ns/net"); err == nil && s.net[number] != nil {
			out = append(out, p+" is in one of the networks")
		}
		if mnt, err := os.Readlink(p + "/ns/mnt"); err == nil && s.mounts[mnt] {
			out = append(out, p+" sees one of the mounts")
		}
		mounts, err := os.ReadFile(p + "/mountinfo")
		if err == nil && strings.Contains(string(mounts), dir) {
			out = append(out, p+" has something of the run mounted")
		}
	}
	return out
}

// numbersBetween lets numbers flow from one namespace to the other; what arrives is told.
func numbersBetween(t *testing.T, from, to *os.File) <-chan uint64 {
	t.Helper()
	var l net.Listener
	var conn net.Conn
	inNet := func(ns *os.File, f func() error) {
		t.Helper()
		var err error
		if nerr := proc.InNetNS(ns, func() { err = f() }); nerr != nil {
			testkit.Need(t, "namespaces", fmt.Errorf("enter a run's network, for which it takes root: %w", nerr))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	inNet(to, func() (err error) {
		addrs, err := net.InterfaceAddrs()
		for _, a := range addrs {
			if ip := a.(*net.IPNet).IP; err == nil && ip.To4() != nil && !ip.IsLoopback() { //nolint:forcetypeassert // Linux has no others
				l, err = net.Listen("tcp4", ip.String()+":0")
				return err
			}
		}
		return fmt.Errorf("no address among %v: %w", addrs, err)
	})
	t.Cleanup(func() { l.Close() })
	inNet(from, func() (err error) {
		conn, err = net.Dial("tcp4", l.Addr().String())
		return err
	})
	other, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(); other.Close() })
	go func() {
		for n := uint64(0); ; n++ {
			var b [8]byte
			binary.BigEndian.PutUint64(b[:], n)
			if _, err := conn.Write(b[:]); err != nil {
				return // the test is over
			}
			time.Sleep(time.Millisecond)
		}
	}()
	came := make(chan uint64, 1<<20)
	go func() {
		defer close(came)
		for {
			var b [8]byte
			if _, err := io.ReadFull(other, b[:]); err != nil {
				return
			}
			came <- binary.BigEndian.Uint64(b[:])
		}
	}()
	return came
}

// A run that is killed in the middle of a hold keeps no packet, whichever process still lives in its
// networks, and leaves neither a namespace nor a disk.
func TestKilledRunHoldsNothing(t *testing.T) {
	need(t, "redis")
	needDisks(t)
	u := begin(t, nil, "--cluster", "redis-aof", "--clients", "2", "--ttl", "5s", "--faults", "hold:redis:clients:out,disk:redis:stall:20ms")
	s := u.spaces(t)
	defer func() {
		for _, f := range s.net {
			f.Close()
		}
	}()
	if len(s.net) < 2 {
		t.Fatalf("the run has %d networks of its own", len(s.net))
	}
	came := numbersBetween(t, s.of(t, u.find(t, "redis-server")), s.of(t, u.find(t, " worker")))
	// Held is what has taken effect, has not ended, and comes no more.
	const silence = 150 * time.Millisecond
	last, deadline := uint64(0), time.Now().Add(60*time.Second)
	for held := false; !held; {
		select {
		case n, ok := <-came:
			if !ok {
				t.Fatal("the connection has ended")
			}
			last = n
		case <-time.After(silence):
			held = u.holding(t)
		}
		if time.Now().After(deadline) {
			t.Fatal("nothing was held within a minute")
		}
	}
	if err := u.cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	for want := last + 1; want < last+300; want++ {
		select {
		case n, ok := <-came:
			if !ok || n != want {
				t.Fatalf("%d came where %d was due (%v)", n, want, ok)
			}
			if want == last+1 {
				t.Logf("what was held came %v after the kill", time.Since(began).Round(time.Millisecond))
			}
		case <-time.After(30 * time.Second):
			t.Fatalf("%d is still held 30s after the harness was killed", want)
		}
	}
	u.end()
	u.gone(t)
	if left := s.left(u.dir); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// holding says whether the run's history has a hold that has taken effect and not ended.
func (u *underway) holding(t *testing.T) (on bool) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(u.dir, "history.jsonl"))
	if err != nil {
		return false // nothing is written yet
	}
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, `"f":"hold"`) {
			on = strings.Contains(line, `"phase":"`+string(history.Begin)+`"`) && strings.Contains(line, `"confirmed":true`)
		}
	}
	return on
}
