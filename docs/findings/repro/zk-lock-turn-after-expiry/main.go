// A waiter whose session ends takes the lock without a node in the queue.
// Needs a ZooKeeper: main [ADDRESS].
package main

import (
	"crypto/rand"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"
)

var stopped atomic.Bool // B sends and reads nothing, as a stopped process

type conn struct{ net.Conn }

func (c conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	for stopped.Load() {
		time.Sleep(time.Millisecond)
	}
	return n, err
}

func (c conn) Write(b []byte) (int, error) {
	if stopped.Load() {
		return len(b), nil
	}
	return c.Conn.Write(b)
}

// The data is there when B goes on, and the deadline has passed: here the data is first.
func (c conn) SetReadDeadline(time.Time) error { return nil }

func main() {
	server := append(os.Args, "127.0.0.1:2181")[1]
	servers := []string{server, server, server} // with one, the library gives requests up before it connects again
	connect := func(dial zk.Dialer) *zk.Conn {
		c, _, err := zk.Connect(servers, time.Second, zk.WithDialer(dial), zk.WithLogger(log.New(io.Discard, "", 0)))
		if err != nil {
			panic(err)
		}
		return c
	}
	a := connect(net.DialTimeout)
	b := connect(func(network, address string, timeout time.Duration) (net.Conn, error) {
		c, err := net.DialTimeout(network, address, timeout)
		return conn{c}, err
	})
	start, path := time.Now(), "/"+rand.Text()
	say := func(format string, args ...any) {
		fmt.Printf("%4d ms  %s\n", time.Since(start).Milliseconds(), fmt.Sprintf(format, args...))
	}
	lockA, lockB, lockC := zk.NewLock(a, path, zk.WorldACL(zk.PermAll)), zk.NewLock(b, path, zk.WorldACL(zk.PermAll)), zk.NewLock(a, path, zk.WorldACL(zk.PermAll))
	say("A: Lock: err=%v", lockA.Lock())
	done := make(chan error)
	go func() { done <- lockB.Lock() }()
	time.Sleep(300 * time.Millisecond) // B waits for A's node
	stopped.Store(true)
	say("B is stopped; A: Unlock: err=%v", lockA.Unlock())
	for nodes := 1; nodes > 0; time.Sleep(10 * time.Millisecond) { // until B's session has ended
		children, _, _ := a.Children(path)
		nodes = len(children)
	}
	say("B's session has ended; C: Lock: err=%v", lockC.Lock())
	stopped.Store(false)
	err := <-done
	children, _, _ := a.Children(path)
	say("B goes on: Lock: err=%v; in the queue: %d node", err, len(children))
	if err == nil && len(children) == 1 {
		fmt.Println("BROKEN: B and C hold the lock; B's Unlock: err=", lockB.Unlock())
		os.Exit(1)
	}
	fmt.Println("ok")
}
