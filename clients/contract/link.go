package contract

import (
	"bytes"
	"net"
	"sync"
	"testing"
)

// Link is a connection to one server that can be cut. While it is cut, bytes wait, as they do
// in a cut network; they go on when it heals.
type Link struct {
	Addr string
	done chan struct{} // closes at the test's end

	mu    sync.Mutex
	heal  chan struct{} // nil: not cut
	trap  []byte
	conns []net.Conn
}

func NewLink(t testing.TB, to string) *Link {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &Link{Addr: ln.Addr().String(), done: make(chan struct{})}
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

func (l *Link) copy(dst, src net.Conn, sprung chan struct{}, requests bool) {
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

// LoseReply lets the next request that contains mark through and nothing back on
// its connection any more; other connections are not affected.
func (l *Link) LoseReply(mark string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.trap = []byte(mark)
}

// Lost says whether the request has passed.
func (l *Link) Lost() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.trap == nil
}

func (l *Link) Set(cut bool) {
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

// Links gives a client a link of its own to each server, all cut and healed together.
type Links []*Link

func NewLinks(t testing.TB, servers []*Server) Links {
	var out Links
	for _, s := range servers {
		out = append(out, NewLink(t, s.Addr))
	}
	return out
}

func (ls Links) Addrs() []string {
	var out []string
	for _, l := range ls {
		out = append(out, l.Addr)
	}
	return out
}

func (ls Links) Cut() {
	for _, l := range ls {
		l.Set(true)
	}
}

func (ls Links) Heal() {
	for _, l := range ls {
		l.Set(false)
	}
}
