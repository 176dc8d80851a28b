// The context of a holder that is cut off ends after another client holds the lock.
// Needs a Redis >= 6.2: main [ADDRESS].
package main

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
)

const validity = 2 * time.Second

var cut atomic.Bool // A's packets are dropped, both ways

type conn struct{ net.Conn }

func (c conn) Write(b []byte) (int, error) {
	if cut.Load() {
		return len(b), nil
	}
	return c.Conn.Write(b)
}

func (c conn) Read(b []byte) (int, error) {
	for {
		n, err := c.Conn.Read(b)
		if !cut.Load() || errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, net.ErrClosed) {
			return n, err
		}
	}
}

func main() {
	address := append(os.Args, "127.0.0.1:6379")[1]
	locker := func(o rueidis.ClientOption) rueidislock.Locker {
		o.InitAddress, o.ForceSingleClient = []string{address}, true
		l, err := rueidislock.NewLocker(rueidislock.LockerOption{KeyValidity: validity, ClientOption: o})
		if err != nil {
			panic(err)
		}
		return l
	}
	a := locker(rueidis.ClientOption{DialCtxFn: func(ctx context.Context, addr string, d *net.Dialer, _ *tls.Config) (net.Conn, error) {
		if cut.Load() {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		c, err := d.DialContext(ctx, "tcp", addr)
		return conn{c}, err
	}})
	b := locker(rueidis.ClientOption{})
	start, job := time.Now(), rand.Text()
	log := func(text string) { fmt.Printf("%4d ms  %s\n", time.Since(start).Milliseconds(), text) }
	held, _, err := a.WithContext(context.Background(), job)
	log(fmt.Sprintf("A: WithContext: err=%v; A is cut off", err))
	cut.Store(true)
	_, _, err = b.WithContext(context.Background(), job)
	granted := time.Now()
	log(fmt.Sprintf("B: WithContext: err=%v", err))
	late := held.Err() == nil
	<-held.Done()
	log("A: its context ends")
	if late {
		fmt.Printf("BROKEN: two holders for %d ms\n", time.Since(granted).Milliseconds())
		os.Exit(1)
	}
	fmt.Println("ok")
}
