package register

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/picklock/picklock/history"
)

func discipline(t *testing.T, name string) Discipline {
	t.Helper()
	d, err := ParseDiscipline(name)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDisciplines(t *testing.T) {
	// Each step is an operation, its token and the refusal that each discipline
	// must give: columns none, write, write-strict, read-write, and the two that ask
	// the lock service, which do not compare tokens.
	type step struct {
		f     string
		token int64
		want  [6]string
	}
	stale := func(token, highest int64) string { return fmt.Sprintf("stale token %d < %d", token, highest) }
	const w, r = history.Write, history.Read
	tests := map[string][]step{
		"older write after newer write": {
			{w, 34, [6]string{}},
			{w, 33, [6]string{"", stale(33, 34), stale(33, 34), stale(33, 34)}},
		},
		"same token twice": {
			{w, 34, [6]string{}},
			{w, 34, [6]string{2: "used token 34 = 34"}},
		},
		"older write after newer read": {
			{r, 34, [6]string{}},
			{w, 33, [6]string{3: stale(33, 34)}},
		},
		"older read after newer write": {
			{w, 34, [6]string{}},
			{r, 33, [6]string{3: stale(33, 34)}},
		},
		"reads never use a token up": {
			{w, 34, [6]string{}},
			{r, 34, [6]string{}},
			{r, 34, [6]string{}},
		},
		"a refused write raises nothing": {
			{w, 34, [6]string{}},
			{w, 33, [6]string{"", stale(33, 34), stale(33, 34), stale(33, 34)}},
			{w, 35, [6]string{}},
		},
		"add is a write": {
			{history.Add, 34, [6]string{}},
			{history.Add, 33, [6]string{"", stale(33, 34), stale(33, 34), stale(33, 34)}},
		},
	}
	for name, steps := range tests {
		for i, d := range Disciplines() {
			t.Run(name+"/"+d.Name, func(t *testing.T) {
				s := NewStore(d, 0)
				for n, st := range steps {
					req := Request{F: st.f, Key: "k", Process: "c1", Token: st.token}
					if st.f != r {
						req.Value = fmt.Sprint("v", n)
					}
					e, err := s.Apply(req, int64(n))
					if err != nil {
						t.Fatal(err)
					}
					if e.Error != st.want[i] {
						t.Errorf("step %d %s(%d): refusal %q, want %q", n, st.f, st.token, e.Error, st.want[i])
					}
				}
			})
		}
	}
}

func TestNoToken(t *testing.T) {
	for _, d := range Disciplines() {
		for _, f := range []string{history.Read, history.Write} {
			req := Request{F: f, Key: "k", Process: "c1"}
			if f == history.Write {
				req.Value = "v"
			}
			e, err := NewStore(d, 0).Apply(req, 0)
			if err != nil {
				t.Fatal(err)
			}
			if refused := strings.HasPrefix(e.Error, "no token"); refused != d.Fenced() {
				t.Errorf("%s without a token under %s: refused %v (%q), want %v", f, d, refused, e.Error, d.Fenced())
			}
		}
	}
	if _, err := ParseDiscipline("writes"); err == nil || !strings.Contains(err.Error(), "read-write") {
		t.Errorf("unknown discipline: %v, want an error that lists them", err)
	}
}

func TestEffects(t *testing.T) {
	s := NewStore(discipline(t, "write"), 0)
	apply := func(f, key string, token int64, value, parent string) history.Effect {
		t.Helper()
		e, err := s.Apply(Request{F: f, Key: key, Process: "c1", Grant: "g", Token: token, Value: value, Parent: parent}, 7)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	got := []history.Effect{
		apply(history.Read, "a", 1, "", ""),
		apply(history.Add, "a", 5, "v1", ""),
		apply(history.Add, "a", 6, "v2", "v1"),
		apply(history.Add, "a", 4, "v3", "v2"), // refused
		apply(history.Add, "a", 6, "v4", "v1"), // blind: v2 is lost
		apply(history.Read, "a", 9, "", ""),
		apply(history.Write, "b", 2, "v5", ""),
	}
	mk := func(seq int64, f, key string, token int64, value, parent string, version, highest int64, why string) history.Effect {
		return history.Effect{Seq: seq, Time: 7, Process: "c1", F: f, Key: key, Grant: "g", Token: token, Value: value, Parent: parent, Version: version, Highest: highest, Error: why}
	}
	want := []history.Effect{
		mk(1, "read", "a", 1, "", "", 0, 0, ""),
		mk(2, "add", "a", 5, "v1", "", 1, 5, ""),
		mk(3, "add", "a", 6, "v2", "v1", 2, 6, ""),
		mk(4, "add", "a", 4, "v3", "v2", 2, 6, "stale token 4 < 6"),
		mk(5, "add", "a", 6, "v4", "v1", 3, 6, ""),
		mk(6, "read", "a", 9, "v4", "", 3, 6, ""),
		mk(7, "write", "b", 2, "v5", "", 1, 2, ""),
	}
	if !slices.Equal(got, want) {
		t.Errorf("effects\n%+v\nwant\n%+v", got, want)
	}
	if m := s.members("a", "v4"); !slices.Equal(m, []string{"v4", "v1"}) {
		t.Errorf("members of v4: %v, want [v4 v1]", m)
	}
}

func TestBadRequests(t *testing.T) {
	s := NewStore(Discipline{}, 0)
	if _, err := s.Apply(Request{F: "write", Key: "k", Process: "c1", Value: "v"}, 0); err != nil {
		t.Fatal(err)
	}
	for _, r := range []Request{
		{F: "read", Process: "c1"},
		{F: "read", Key: "k"},
		{F: "read", Key: "k", Process: "c1", Value: "x"},
		{F: "cas", Key: "k", Process: "c1", Value: "x"},
		{F: "write", Key: "k", Process: "c1"},
		{F: "write", Key: "k", Process: "c1", Value: "v"},
		{F: "write", Key: "k", Process: "c1", Value: "x", Parent: "v"},
		{F: "add", Key: "k", Process: "c1", Value: "x", Parent: "nowhere"},
		{F: "read", Key: "k", Process: "c1", Token: -1},
	} {
		if e, err := s.Apply(r, 0); !errors.Is(err, errBadRequest) {
			t.Errorf("%+v: effect %+v, error %v; want a bad request", r, e, err)
		}
	}
	if e, err := s.Apply(Request{F: "read", Key: "k", Process: "c1"}, 0); err != nil || e.Seq != 2 || e.Value != "v" {
		t.Errorf("after bad requests: %+v, %v; want sequence 2 and value v", e, err)
	}
}

// serve starts a register and returns its address; the test's end stops it.
func serve(t *testing.T, store *Store, log io.Writer) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- Serve(ctx, ln, store, log) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return ln.Addr().String()
}

func TestServeOrder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "register.jsonl")
	log, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	addr := serve(t, NewStore(Discipline{}, history.Now()), log)
	const clients, each = 8, 50
	var group sync.WaitGroup
	for n := range clients {
		group.Go(func() {
			c := New(addr)
			defer c.Close()
			ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
			defer cancel()
			var last int64
			for i := range each {
				v := fmt.Sprintf("c%d.%d", n, i)
				rep, err := c.Do(ctx, Request{F: "write", Key: "k", Process: "c", Value: v})
				if err != nil || rep.Value != v || rep.Version <= last {
					t.Errorf("write %s: %+v, %v; want it back, with a version above %d", v, rep, err, last)
					return
				}
				last = rep.Version
			}
		})
	}
	group.Wait()
	// Everything that was answered is in the log already.
	effects, err := history.ReadEffects(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(effects) != clients*each {
		t.Fatalf("%d effects in the log, want %d", len(effects), clients*each)
	}
	for i, e := range effects {
		if e.Seq != int64(i+1) || e.Version != e.Seq || i > 0 && e.Time < effects[i-1].Time {
			t.Fatalf("effect %d out of order: %+v", i, e)
		}
	}
}

func TestRefusedOverTheWire(t *testing.T) {
	addr := serve(t, NewStore(discipline(t, "write"), history.Now()), io.Discard)
	c := New(addr)
	defer c.Close()
	ctx := t.Context()
	if _, err := c.Do(ctx, Request{F: "write", Key: "k", Process: "c1", Token: 34, Value: "a"}); err != nil {
		t.Fatal(err)
	}
	_, err := c.Do(ctx, Request{F: "write", Key: "k", Process: "c1", Token: 33, Value: "b"})
	if !errors.Is(err, ErrRefused) || errors.Is(err, ErrUnknown) || err.Error() != "stale token 33 < 34" {
		t.Errorf("stale write: %v; want a refusal that says only why", err)
	}
	_, err = c.Do(ctx, Request{F: "write", Key: "k", Process: "c1", Token: 35, Value: "a"})
	if err == nil || errors.Is(err, ErrRefused) || errors.Is(err, ErrUnknown) {
		t.Errorf("same value again: %v; want a definite error that is no refusal", err)
	}
	if rep, err := c.Do(ctx, Request{F: "read", Key: "k", Process: "c1", Token: 1}); err != nil || rep != (Reply{"a", 1}) {
		t.Errorf("read: %+v, %v; want a, version 1", rep, err)
	}
}

func TestRefusedConnectionIsDefinite(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ln.Close()
	c := New(ln.Addr().String())
	if _, err := c.Do(t.Context(), Request{F: "read", Key: "k", Process: "c1"}); err == nil || errors.Is(err, ErrUnknown) {
		t.Errorf("nobody listens: %v; want a definite error", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Do(ctx, Request{F: "read", Key: "k", Process: "c1"}); !errors.Is(err, context.Canceled) || errors.Is(err, ErrUnknown) {
		t.Errorf("context over: %v; want a definite error", err)
	}
}

// TestUnknownIsNotRetried lets a listener play a register that takes a request
// and then hangs or hangs up.
func TestUnknownIsNotRetried(t *testing.T) {
	for name, hangUp := range map[string]bool{"hang up": true, "hang": false} {
		t.Run(name, func(t *testing.T) {
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer ln.Close()
			took := make(chan string, 10)
			ctx, cancel := context.WithCancel(t.Context())
			var group sync.WaitGroup
			defer group.Wait()
			defer ln.Close()
			group.Go(func() {
				for n := 0; ; n++ {
					conn, err := ln.Accept()
					if err != nil {
						return
					}
					br := bufio.NewReader(conn)
					line, _ := br.ReadString('\n')
					took <- line
					if n > 0 {
						fmt.Fprintln(conn, `{"id":2,"ok":true,"value":"x","version":4}`)
					} else if !hangUp {
						cancel()
						br.ReadString('\n') // until the client drops the connection
					}
					conn.Close()
				}
			})
			c := New(ln.Addr().String())
			defer c.Close()
			_, err = c.Do(ctx, Request{F: "write", Key: "k", Process: "c1", Value: "v"})
			if !errors.Is(err, ErrUnknown) {
				t.Errorf("no reply: %v; want ErrUnknown", err)
			}
			rep, err := c.Do(context.Background(), Request{F: "read", Key: "k", Process: "c1"})
			if err != nil || rep != (Reply{"x", 4}) {
				t.Errorf("after an unknown outcome: %+v, %v; want a new connection to work", rep, err)
			}
			if len(took) != 2 {
				t.Errorf("%d requests arrived, want 2: one must never be sent twice", len(took))
			}
			cancel()
		})
	}
}

// tornConn takes n bytes of the first write.
type tornConn struct {
	net.Conn
	n int
}

func (c tornConn) Write(b []byte) (int, error) {
	if c.n < len(b) {
		return c.n, errors.New("connection reset")
	}
	return len(b), nil
}
func (c tornConn) Read([]byte) (int, error) { return 0, errors.New("connection reset") }
func (c tornConn) Close() error             { return nil }

func TestSentInPart(t *testing.T) {
	r := Request{F: "write", Key: "k", Process: "c1", Value: "v"}
	for n, unknown := range map[int]bool{0: false, 10: false, 1 << 20: true} {
		c := New("nowhere")
		c.conn = tornConn{n: n}
		c.br = bufio.NewReader(c.conn)
		if _, err := c.Do(t.Context(), r); err == nil || errors.Is(err, ErrUnknown) != unknown {
			t.Errorf("broken after %d bytes: %v; want unknown: %v", n, err, unknown)
		}
		if c.conn != nil {
			t.Error("the broken connection is kept")
		}
	}
}

// TestTornLine: the client's word that an incomplete request has no effect
// stands on the server's acting on whole lines only.
func TestTornLine(t *testing.T) {
	addr := serve(t, NewStore(Discipline{}, history.Now()), io.Discard)
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(conn, `{"id":1,"f":"write","key":"k","process":"c1","value":"torn"}`)
	conn.(*net.TCPConn).CloseWrite()
	if b, err := io.ReadAll(conn); err != nil || len(b) != 0 {
		t.Errorf("reply to a torn line: %q, %v; want the connection closed", b, err)
	}
	conn.Close()
	c := New(addr)
	defer c.Close()
	if rep, err := c.Do(t.Context(), Request{F: "read", Key: "k", Process: "c1"}); err != nil || rep.Version != 0 {
		t.Errorf("read after a torn line: %+v, %v; want nothing written", rep, err)
	}
}

type brokenLog struct{}

func (brokenLog) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestBrokenLogStops(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- Serve(context.Background(), ln, NewStore(Discipline{}, 0), brokenLog{}) }()
	c := New(ln.Addr().String())
	defer c.Close()
	if _, err := c.Do(t.Context(), Request{F: "read", Key: "k", Process: "c1"}); !errors.Is(err, ErrUnknown) {
		t.Errorf("an effect that could not be logged: %v; want no answer", err)
	}
	if err := <-done; err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Errorf("Serve: %v; want the log's error", err)
	}
}

// members returns the set that value stands for, the newest member first: value,
// its parent, and so on.
func (s *Store) members(key, value string) []string {
	c := s.keys[key]
	var out []string
	for c != nil && value != "" {
		parent, ok := c.parents[value]
		if !ok {
			break
		}
		out = append(out, value)
		value = parent
	}
	return out
}
