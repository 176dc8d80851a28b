package stream

import (
	"context"
	"errors"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"
)

// nowhere is an address at which nothing listens.
func nowhere(t *testing.T) string {
	t.Helper()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// TestWait: Connect waits for a queue that does not exist yet, and says so once.
func TestWait(t *testing.T) {
	at := nowhere(t)
	lines := make(chan string, 100)
	over := make(chan error, 1)
	go func() {
		q, err := Connect(t.Context(), Options{URL: "nats://secret@" + at, Wait: 5 * time.Minute, Say: func(text string) { lines <- text }})
		if err == nil {
			q.Close()
		}
		over <- err
	}()
	if text := <-lines; !strings.Contains(text, at+" yet") || strings.Contains(text, "secret") {
		t.Errorf("it says %q", text)
	}
	time.Sleep(3 * firstWait) // it tries again meanwhile
	s, err := Serve(ServerOptions{Dir: t.TempDir(), Listen: at, Token: "secret"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := <-over; err != nil {
		t.Error(err)
	}
	if len(lines) > 0 {
		t.Errorf("it says again %q", <-lines)
	}
}

// TestWaitIsOver: Connect ends after Wait. It ends at once if the queue refuses it, or if the context
// ends, even while a server does not answer.
func TestWaitIsOver(t *testing.T) {
	s, err := Serve(ServerOptions{Dir: t.TempDir(), Listen: "127.0.0.1:0", Token: "right"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var lc net.ListenConfig
	silent, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	for name, c := range map[string]struct {
		url, token string
		wait       time.Duration
		cancel     time.Duration // after which the context ends; 0: it does not
		least      time.Duration
	}{
		"nothing there":       {"nats://" + nowhere(t), "", 500 * time.Millisecond, 0, 500 * time.Millisecond},
		"not let in":          {s.URL(), "wrong", 5 * time.Minute, 0, 0},
		"no address":          {"nats://%%", "", 5 * time.Minute, 0, 0},
		"ended while waiting": {"nats://" + nowhere(t), "", 5 * time.Minute, 400 * time.Millisecond, 0},
		"ended while it asks": {"nats://" + silent.Addr().String(), "", 5 * time.Minute, 400 * time.Millisecond, 0},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if c.cancel > 0 {
				time.AfterFunc(c.cancel, cancel)
			}
			began := time.Now()
			q, err := Connect(ctx, Options{URL: c.url, Token: c.token, Wait: c.wait})
			if took := time.Since(began); !errors.Is(err, ErrUnreachable) || took < c.least || took > connectWithin/2 {
				t.Errorf("after %v: %v, %v", took, q, err)
			}
		})
	}
}

// TestSilent: what listens and is no queue is not waited for as a queue that may come, but for one
// attempt to connect.
func TestSilent(t *testing.T) {
	t.Parallel()
	var lc net.ListenConfig
	silent, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	at := silent.Addr().String()
	began := time.Now()
	q, err := Connect(t.Context(), Options{URL: "nats://" + at, Wait: 5 * time.Minute})
	if took := time.Since(began); !errors.Is(err, ErrUnreachable) || took > 2*connectWithin {
		t.Fatalf("after %v: %v, %v", took, q, err)
	}
	if want := at + ": no queue: something listens there and does not answer as a queue within 10s: look at host and port"; !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
}

// TestAgain: later connections do not depend on the context of the first one. The loss of the queue
// and its return are reported once each.
func TestAgain(t *testing.T) {
	dir := t.TempDir()
	s, err := Serve(ServerOptions{Dir: dir, Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	lines := make(chan string, 100)
	q, err := Connect(ctx, Options{URL: s.URL(), Say: func(text string) { lines <- text }})
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	cancel()
	s.Close()
	if text := <-lines; !strings.Contains(text, "is gone") {
		t.Errorf("it says %q", text)
	}
	if s, err = Serve(ServerOptions{Dir: dir, Listen: strings.TrimPrefix(s.URL(), "nats://")}); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := q.Prepare(t.Context()); err != nil {
		t.Error(err)
	}
	if text := <-lines; !strings.Contains(text, "is back") || len(lines) > 0 {
		t.Errorf("it says %q, and %d more", text, len(lines))
	}
}

// TestURLs: the printed addresses are those that workers can use.
func TestURLs(t *testing.T) {
	for listen, own := range map[string]bool{"127.0.0.1:0": false, "0.0.0.0:0": true, "[::]:0": true} {
		if strings.HasPrefix(listen, "[") {
			var lc net.ListenConfig
			l, err := lc.Listen(t.Context(), "tcp", listen)
			if err != nil {
				continue // no IPv6 here
			}
			l.Close()
		}
		s, err := Serve(ServerOptions{Dir: t.TempDir(), Listen: listen, Token: "x"})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		all := s.URLs()
		if len(all) == 0 || !own && (len(all) != 1 || all[0] != s.URL()) {
			t.Errorf("%s: %q", listen, all)
		}
		for _, text := range all {
			u, err := url.Parse(text)
			if err != nil || net.ParseIP(u.Hostname()).IsUnspecified() {
				t.Fatalf("%s: %s, %v", listen, text, err)
			}
			q, err := Connect(t.Context(), Options{URL: text, Token: "x"})
			if err != nil {
				t.Errorf("%s: %v", text, err)
				continue
			}
			q.Close()
		}
	}
}

func TestWhoMayListen(t *testing.T) {
	for _, c := range []struct {
		listen, token, want string
	}{
		{"0.0.0.0:0", "", "needs a token"},
		{"example.org:1", "", "needs a token"},
		{"nowhere", "x", "HOST:PORT"},
		{"127.0.0.1:x", "", "port"},
		{"127.0.0.1:70000", "", "port"},
	} {
		s, err := Serve(ServerOptions{Dir: t.TempDir(), Listen: c.listen, Token: c.token})
		if err == nil {
			s.Close()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s with token %q: %v, want %q", c.listen, c.token, err, c.want)
		}
	}
	s, err := Serve(ServerOptions{Dir: t.TempDir(), Listen: "127.0.0.1:0", Token: "right"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, token := range []string{"", "wrong"} {
		if q, err := Connect(t.Context(), Options{URL: s.URL(), Token: token}); !errors.Is(err, ErrUnreachable) {
			t.Errorf("token %q: %v, %v", token, q, err)
		}
	}
}
