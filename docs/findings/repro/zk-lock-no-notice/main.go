// A holder that is cut off is not told that it has lost the lock.
// Needs a ZooKeeper: main [ADDRESS].
package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"
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
	for {
		n, err := c.Conn.Read(b)
		if !cut.Load() || errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, net.ErrClosed) {
			return n, err
		}
		time.Sleep(time.Millisecond)
	}
}

func main() {
	servers := []string{append(os.Args, "127.0.0.1:2181")[1]}
	connect := func(dial zk.Dialer) *zk.Conn {
		c, _, err := zk.Connect(servers, 2*time.Second, zk.WithDialer(dial), zk.WithLogger(log.New(io.Discard, "", 0)))
		if err != nil {
			panic(err)
		}
		return c
	}
	a := connect(func(network, address string, timeout time.Duration) (net.Conn, error) {
		if cut.Load() {
			time.Sleep(timeout)
			return nil, os.ErrDeadlineExceeded
		}
		c, err := net.DialTimeout(network, address, timeout)
		return conn{c}, err
	})
	b := connect(net.DialTimeout)
	start, path := time.Now(), "/"+rand.Text()
	say := func(format string, args ...any) {
		fmt.Printf("%4d ms  %s\n", time.Since(start).Milliseconds(), fmt.Sprintf(format, args...))
	}
	lockA, lockB := zk.NewLock(a, path, zk.WorldACL(zk.PermAll)), zk.NewLock(b, path, zk.WorldACL(zk.PermAll))
	lost := func() bool { // what a method Lost of the lock says, if it has one
		l, ok := any(lockA).(interface{ Lost() <-chan struct{} })
		if ok {
			select {
			case <-l.Lost():
				return true
			default:
			}
		}
		return false
	}
	say("A: Lock: err=%v", lockA.Lock())
	time.Sleep(500 * time.Millisecond)
	say("A is cut off; its lock has reported a loss: %v", lost())
	cut.Store(true)
	say("B: Lock: err=%v; A's connection: %v; A's lock has reported a loss: %v", lockB.Lock(), a.State(), lost())
	if !lost() {
		fmt.Println("BROKEN: B holds the lock, and A's Lock has not reported its loss")
		os.Exit(1)
	}
	fmt.Println("ok")
}
