// The channel of a holder that is cut off stays open while another client holds the lock.
// Needs a Consul (consul agent -dev -hcl='session_ttl_min = "2s"'): main [ADDRESS].
package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"time"

	"github.com/hashicorp/consul/api"
)

var cut atomic.Bool // A's packets are dropped, both ways

type conn struct{ net.Conn }

func (c conn) Write(b []byte) (int, error) {
	if cut.Load() {
		return len(b), nil
	}
	return c.Conn.Write(b)
}

func (c conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	for cut.Load() {
		time.Sleep(time.Millisecond)
	}
	return n, err
}

func main() {
	address, key, start := append(os.Args, "127.0.0.1:8500")[1], rand.Text(), time.Now()
	say := func(format string, args ...any) {
		fmt.Printf("%5d ms  %s\n", time.Since(start).Milliseconds(), fmt.Sprintf(format, args...))
	}
	lock := func(wrap func(net.Conn) net.Conn) (<-chan struct{}, error) {
		config := api.DefaultConfig()
		config.Address = address
		config.Transport.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := (&net.Dialer{}).DialContext(ctx, network, addr)
			return wrap(c), err
		}
		client, err := api.NewClient(config)
		if err != nil {
			return nil, err
		}
		l, err := client.LockOpts(&api.LockOptions{Key: key, SessionTTL: "2s", LockDelay: time.Millisecond})
		if err != nil {
			return nil, err
		}
		return l.Lock(nil)
	}
	lost, err := lock(func(c net.Conn) net.Conn { return conn{c} })
	say("A: Lock: err=%v; A is cut off", err)
	time.Sleep(100 * time.Millisecond)
	cut.Store(true)
	_, err = lock(func(c net.Conn) net.Conn { return c })
	say("B: Lock: err=%v", err)
	select {
	case <-lost:
		fmt.Println("ok: A's channel was closed before")
		return
	default:
	}
	select {
	case <-lost:
		say("A's channel closes")
	case <-time.After(10 * time.Second):
		say("A's channel is still open")
	}
	fmt.Println("BROKEN: two holders")
	os.Exit(1)
}
