package clock

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/picklock/picklock/internal/testkit"
)

// redis is a redis-server on a unix socket and one connection to it.
type redis struct {
	t   *testing.T
	pid int
	c   net.Conn
	r   *bufio.Reader
}

func startRedis(t *testing.T) *redis {
	t.Helper()
	bin, err := exec.LookPath("redis-server")
	if err != nil {
		testkit.Need(t, "redis", err)
	}
	dir, err := os.MkdirTemp("", "pclk") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	sock := filepath.Join(dir, "s")
	cmd := exec.Command(bin, "--port", "0", "--unixsocket", sock, "--save", "", "--dir", dir, "--logfile", filepath.Join(dir, "log"))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	s := &redis{t: t, pid: cmd.Process.Pid}
	eventually(t, "redis answers", func() bool { s.c, err = net.Dial("unix", sock); return err == nil })
	t.Cleanup(func() { _ = s.c.Close() })
	s.r = bufio.NewReader(s.c)
	return s
}

// do sends one command and returns its reply, an array's items joined by spaces.
func (s *redis) do(cmd string) string {
	s.t.Helper()
	_ = s.c.SetDeadline(time.Now().Add(20 * time.Second))
	if _, err := fmt.Fprintf(s.c, "%s\r\n", cmd); err != nil {
		s.t.Fatal(err)
	}
	return s.reply()
}

func (s *redis) reply() string {
	s.t.Helper()
	l, err := s.r.ReadString('\n')
	if err != nil {
		s.t.Fatal("redis: ", err)
	}
	l = strings.TrimSpace(l)
	switch l[0] {
	case '$':
		if l == "$-1" {
			return "(nil)"
		}
		return s.reply()
	case '*':
		n, _ := strconv.Atoi(l[1:])
		var items []string
		for range n {
			items = append(items, s.reply())
		}
		return strings.Join(items, " ")
	case '+', ':':
		return l[1:]
	}
	return l
}

// ahead returns how far redis's clock is ahead of the true one.
func (s *redis) ahead() time.Duration {
	s.t.Helper()
	f := strings.Fields(s.do("TIME"))
	sec, err1 := strconv.ParseInt(f[0], 10, 64)
	us, err2 := strconv.ParseInt(f[1], 10, 64)
	if err1 != nil || err2 != nil {
		s.t.Fatal(f)
	}
	return time.Until(time.Unix(sec, us*1000)).Round(time.Second)
}

func TestRedis(t *testing.T) {
	s := startRedis(t)
	if d := s.ahead(); d != 0 {
		t.Fatal(d)
	}
	s.do("SET k v PX 10000")
	s.do("SET long v PX 100000")
	if got := s.do("GET k"); got != "v" {
		t.Fatal(got)
	}
	r := mustShift(t, s.pid, time.Minute)
	t.Logf("%+v", r)
	if d := s.ahead(); d != time.Minute {
		t.Errorf("TIME is %v ahead", d)
	}
	if got := s.do("GET k"); got != "(nil)" {
		t.Errorf("the key did not expire: %s", got)
	}
	if ttl, _ := strconv.Atoi(s.do("PTTL long")); ttl < 20_000 || ttl > 40_000 {
		t.Errorf("the long key has %d ms left instead of 40,000", ttl)
	}
	mustShift(t, s.pid, -time.Hour)
	if d := s.ahead(); d != -time.Hour {
		t.Errorf("TIME is %v ahead", d)
	}
	mustShift(t, s.pid, 0)
	if d := s.ahead(); d != 0 {
		t.Errorf("healed, and TIME is %v ahead", d)
	}
}

// runs measures how many seconds a clock counts in a true one.
func runs(t *testing.T, read func() time.Time, want float64) {
	t.Helper()
	reading := func() (wrong, before, after time.Time) {
		before = time.Now()
		wrong = read()
		return wrong, before, time.Now()
	}
	wrong, before, after := reading()
	time.Sleep(300 * time.Millisecond) // the longer, the finer; nothing is awaited
	later, before2, after2 := reading()
	got := float64(later.Sub(wrong))
	least, most := float64(before2.Sub(after)), float64(after2.Sub(before))
	t.Logf("asked x%v, measured x%.4f", want, got/((least+most)/2))
	if slack := float64(2 * time.Millisecond); got < want*least-slack || got > want*most+slack {
		t.Errorf("the clock counted %v in %v to %v, asked for x%v", time.Duration(got), time.Duration(least), time.Duration(most), want)
	}
}

func TestRedisRuns(t *testing.T) {
	s := startRedis(t)
	read := func() time.Time {
		f := strings.Fields(s.do("TIME"))
		sec, _ := strconv.ParseInt(f[0], 10, 64)
		us, _ := strconv.ParseInt(f[1], 10, 64)
		return time.Unix(sec, us*1000)
	}
	for _, rate := range []float64{1.1, 0.5, 10, 1} {
		if _, err := Set(t.Context(), s.pid, Setting{Rate: rate}, 0); err != nil {
			t.Fatal(err)
		}
		runs(t, read, rate)
	}
	// A lease of 10 s is over after one.
	if _, err := Set(t.Context(), s.pid, Setting{Rate: 10}, 0); err != nil {
		t.Fatal(err)
	}
	before := time.Now()
	s.do("SET k v PX 10000")
	eventually(t, "the key expires", func() bool { return s.do("GET k") == "(nil)" })
	if took := time.Since(before); took < 990*time.Millisecond || took > 5*time.Second {
		t.Errorf("a lease of 10 s at ten times the speed ended after %v", took)
	}
}

// Redis forks to save: the child has the clock that its parent had at that moment.
func TestForkInheritsTheClock(t *testing.T) {
	s := startRedis(t)
	for i := range 20 {
		s.do(fmt.Sprintf("SET k%d v", i))
	}
	s.do("CONFIG SET rdb-key-save-delay 1000000") // us a key: the child lives for 20 s
	mustShift(t, s.pid, time.Minute)
	s.do("BGSAVE")
	child := 0
	eventually(t, "a child", func() bool {
		b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", s.pid, s.pid))
		child, _ = strconv.Atoi(strings.TrimSpace(string(b)))
		return child != 0
	})
	mustRead(t, child, time.Minute)
	mustShift(t, s.pid, time.Hour)
	mustRead(t, child, time.Minute)
	if r := mustShift(t, child, 0); r.Installed {
		t.Errorf("the child had no hook: %+v", r)
	}
	mustRead(t, child, 0)
	mustRead(t, s.pid, time.Hour)
	if d := s.ahead(); d != time.Hour {
		t.Errorf("TIME is %v ahead", d)
	}
}

func TestManyInstallsIntoRedisUnderLoad(t *testing.T) {
	s := startRedis(t)
	load, err := net.Dial("unix", s.c.RemoteAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer load.Close()
	over := make(chan struct{})
	n := 0
	go func() {
		defer close(over)
		r := bufio.NewReader(load)
		batch := strings.Repeat("SET x y PX 100000\r\n", 50)
		for {
			if _, err := load.Write([]byte(batch)); err != nil {
				return
			}
			for range 50 {
				if l, err := r.ReadString('\n'); err != nil || l != "+OK\r\n" {
					return
				}
				n++
			}
		}
	}()
	var held []time.Duration
	for i := range 50 {
		d := time.Duration(i+1) * time.Minute
		held = append(held, mustShift(t, s.pid, d).Stopped)
		if got := s.ahead(); got != d {
			t.Fatalf("TIME is %v ahead instead of %v", got, d)
		}
		mustShift(t, s.pid, 0)
		unhook(t, s.pid)
		if got := s.ahead(); got != 0 {
			t.Fatalf("unhooked, and TIME is %v ahead", got)
		}
	}
	select {
	case <-over:
		t.Error("the load broke off")
	default:
	}
	_ = load.Close()
	<-over
	slices.Sort(held)
	t.Logf("50 installs: stopped p50 %v, max %v; %d commands meanwhile", held[25], held[49], n)
}

func TestJVM(t *testing.T) {
	testkit.NeedProgram(t, "java", "apt-get install openjdk-17-jdk-headless")
	p := startTarget(t, "java", "-Xmx64m", "-XX:TieredStopAtLevel=1", "testdata/Clock.java")
	check := func(want time.Duration) {
		t.Helper()
		var ms, mono int64
		before := now(1)
		if _, err := fmt.Sscan(p.ask("?"), &ms, &mono); err != nil {
			t.Fatal(err)
		}
		if d := time.Until(time.UnixMilli(ms)).Round(time.Second); d != want {
			t.Errorf("currentTimeMillis is %v ahead instead of %v", d, want)
		}
		if m := time.Duration(mono); m < before || m > now(1) {
			t.Errorf("nanoTime is off by %v", m-before)
		}
	}
	check(0)
	var held []time.Duration
	threads := 0
	for i := range 25 {
		d := time.Duration(i-12) * time.Minute
		if d == 0 {
			continue
		}
		r := mustShift(t, p.pid, d)
		held, threads = append(held, r.Stopped), r.Threads
		check(d)
		mustShift(t, p.pid, 0)
		check(0)
		unhook(t, p.pid)
	}
	mustShift(t, p.pid, time.Hour)
	check(time.Hour)
	for _, rate := range []float64{1.1, 0.5, 10, 1} {
		if _, err := Set(t.Context(), p.pid, Setting{Rate: rate}, 0); err != nil {
			t.Fatal(err)
		}
		runs(t, func() time.Time {
			var ms, mono int64
			if _, err := fmt.Sscan(p.ask("?"), &ms, &mono); err != nil {
				t.Fatal(err)
			}
			return time.UnixMilli(ms)
		}, rate)
	}
	check(0)
	slices.Sort(held)
	t.Logf("%d installs, %d threads: stopped p50 %v, max %v", len(held), threads, held[len(held)/2], held[len(held)-1])
}
