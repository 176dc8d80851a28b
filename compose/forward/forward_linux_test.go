package forward

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/picklock/picklock/internal/proc"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func listen(t *testing.T) *net.TCPListener {
	t.Helper()
	ln, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	return ln
}

// through returns both ends of a connection that goes through a forwarder.
func through(t *testing.T, dial Dialer, most Limits) (client, service *net.TCPConn) {
	t.Helper()
	ln, outside := listen(t), listen(t)
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan error, 1)
	go func() { over <- Serve(ctx, ln, outside.Addr().String(), dial, most, slog.New(slog.DiscardHandler)) }()
	t.Cleanup(func() {
		cancel()
		if err := <-over; err != nil {
			t.Error(err)
		}
	})
	client, err := net.DialTCP("tcp", nil, ln.Addr().(*net.TCPAddr))
	if err != nil {
		t.Fatal(err)
	}
	if service, err = outside.AcceptTCP(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []*net.TCPConn{client, service} {
		t.Cleanup(func() { c.Close() })
		if err := c.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	return client, service
}

func TestForward(t *testing.T) {
	inside, outside, err := Pair()
	if err != nil {
		t.Fatal(err)
	}
	over := make(chan error, 1)
	go func() { over <- Outside(outside) }()
	via, err := packets(inside)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		via.Close()
		if err := <-over; err != nil {
			t.Errorf("when all others have closed it: %v", err)
		}
	}()
	for name, dial := range map[string]Dialer{
		"direct": Direct,
		"asked":  func(ctx context.Context, addr string) (*net.TCPConn, error) { return ask(ctx, via, addr) },
	} {
		t.Run(name+" both directions", func(t *testing.T) {
			client, service := through(t, dial, Usual)
			sent := make([]byte, 300<<10)
			_, _ = rand.Read(sent)
			for _, way := range [][2]*net.TCPConn{{client, service}, {service, client}} {
				go func() {
					_, _ = way[0].Write(sent)
					_ = way[0].CloseWrite()
				}()
				// The half that was closed, and only that.
				if got, err := io.ReadAll(way[1]); err != nil || !bytes.Equal(got, sent) {
					t.Errorf("%d of %d bytes, %v", len(got), len(sent), err)
				}
			}
		})
		t.Run(name+" reset", func(t *testing.T) {
			for _, client := range []bool{true, false} {
				dies, hears := through(t, dial, Usual)
				if !client {
					dies, hears = hears, dies
				}
				reset(dies)
				if _, err := hears.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
					t.Errorf("the client dies: %v; the other end hears %v", client, err)
				}
			}
		})
		t.Run(name+" no service", func(t *testing.T) {
			ln := listen(t)
			at := ln.Addr().String()
			ln.Close()
			if conn, err := dial(t.Context(), at); err == nil || !strings.Contains(err.Error(), "refused") {
				t.Errorf("%v, %v", conn, err)
			}
			if err := reachable(t.Context(), dial, at); err == nil || !strings.Contains(err.Error(), at+" cannot be reached") {
				t.Error(err)
			}
		})
	}
}

// A process that has no network gets connections of the one that dials for it.
func TestOutsideOfANetwork(t *testing.T) {
	ns, err := proc.NewNetNS()
	if err != nil {
		t.Skipf("no network namespaces here: %v", err)
	}
	defer ns.Close()
	inside, outside, err := Pair()
	if err != nil {
		t.Fatal(err)
	}
	over := make(chan error, 1)
	go func() { over <- Outside(outside) }()
	via, err := packets(inside)
	if err != nil {
		t.Fatal(err)
	}
	service := listen(t)
	var direct, asked error
	if err := proc.InNetNS(ns, func() {
		_, direct = net.Dial("tcp", service.Addr().String())
		var conn *net.TCPConn
		if conn, asked = ask(t.Context(), via, service.Addr().String()); asked == nil {
			_, asked = conn.Write([]byte("x"))
			conn.Close()
		}
	}); err != nil {
		t.Skipf("no network namespaces here: %v", err)
	}
	if direct == nil || asked != nil {
		t.Errorf("directly %v, through the outside %v", direct, asked)
	}
	via.Close()
	if err := <-over; err != nil {
		t.Error(err)
	}
	if _, err := ask(t.Context(), via, "127.0.0.1:1"); err == nil {
		t.Error("nothing dials, and there is a connection")
	}
}

func TestAskGivesUp(t *testing.T) {
	inside, outside, err := Pair()
	if err != nil {
		t.Fatal(err)
	}
	defer outside.Close()
	via, err := packets(inside)
	if err != nil {
		t.Fatal(err)
	}
	defer via.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := ask(ctx, via, "127.0.0.1:1"); err == nil { // there will be no answer
		t.Error("a connection from nothing")
	}
}

func TestPace(t *testing.T) {
	p := newPace(10)
	now := time.Now()
	burst := 0
	for p.take(now) <= 0 {
		burst++
	}
	if burst != 10 {
		t.Errorf("%d at once, want 10", burst)
	}
	if d := p.take(now); d != 200*time.Millisecond {
		t.Errorf("the second too many waits %v, want 200ms", d)
	}
	later := now.Add(time.Hour)
	burst = 0
	for p.take(later) <= 0 {
		burst++
	}
	if burst != 10 {
		t.Errorf("%d at once after an hour, want 10: rest is not saved up", burst)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if p.wait(ended) {
		t.Error("one more passed after the end")
	}
}

// What a client sends too fast waits, and its connections do.
func TestForwardIsBounded(t *testing.T) {
	client, service := through(t, Direct, Limits{Connections: 100, Open: 1, Messages: 5})
	other, err := net.DialTCP("tcp", nil, client.RemoteAddr().(*net.TCPAddr))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := other.Write([]byte("second")); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	buf := make([]byte, 1)
	for range 10 {
		if _, err := client.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(service, buf); err != nil || buf[0] != 'x' {
			t.Fatalf("%q, %v", buf, err)
		}
	}
	if took := time.Since(began); took < 900*time.Millisecond {
		t.Errorf("10 messages in %v, where 5 a second may pass after the first 5", took)
	}
}
