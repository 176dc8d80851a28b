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
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/picklock/picklock/history"
)

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

// serveLogged serves a register that takes every operation, and returns its address and the file
// of its log.
func serveLogged(t *testing.T) (addr, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "register.jsonl")
	log, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { log.Close() })
	return serve(t, NewStore(FencingMode{}, history.Now()), log), path
}

func TestServeOrder(t *testing.T) {
	addr, path := serveLogged(t)
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
	addr := serve(t, NewStore(mode(t, "write"), history.Now()), io.Discard)
	c := New(addr)
	defer c.Close()
	ctx := t.Context()
	if _, err := c.Do(ctx, Request{F: "write", Key: "k", Process: "c1", Token: 34, Value: "a"}); err != nil {
		t.Fatal(err)
	}
	_, err := c.Do(ctx, Request{F: "write", Key: "k", Process: "c1", Token: 33, Value: "b"})
	if !errors.Is(err, ErrRefused) || errors.Is(err, ErrUnknown) || err.Error() != "stale token 33 < 34" {
		t.Errorf("stale write: %v; want a refusal with the reason alone", err)
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
		t.Errorf("no server: %v; want a definite error", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Do(ctx, Request{F: "read", Key: "k", Process: "c1"}); !errors.Is(err, context.Canceled) || errors.Is(err, ErrUnknown) {
		t.Errorf("context over: %v; want a definite error", err)
	}
}

// TestUnknownIsNotRetried lets a listener emulate a register that receives a request and then hangs
// or disconnects.
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

func (c tornConn) Close() error { return nil }

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

// TestTornLine: the client claims that an incomplete request has no effect, because the server acts
// on whole lines only.
func TestTornLine(t *testing.T) {
	addr := serve(t, NewStore(FencingMode{}, history.Now()), io.Discard)
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
	go func() { done <- Serve(context.Background(), ln, NewStore(FencingMode{}, 0), brokenLog{}) }()
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
