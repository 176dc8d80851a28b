package compose

import (
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// TestAwaitShowsWhatCame: a server that answers, but not as is expected.
func TestAwaitShowsWhatCame(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			// Read first: to close on an unread question is a reset, which may overtake the
			// answer. The one that asks may be gone.
			_, _ = conn.Read(make([]byte, 64))
			_, _ = io.WriteString(conn, "+PONG\r\n")
			conn.Close()
		}
	}()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	p := &Probe{Send: "PING\r\n", Expect: "PUNG"}
	err = p.Await(ctx, ln.Addr().String(), make(chan struct{}))
	if err == nil || !strings.Contains(err.Error(), `got "+PONG\r\n", want "PUNG"`) {
		t.Errorf("%v, want one that shows the answer", err)
	}
}
