// Obtain returns a lock whose key has expired. Needs a Redis: main [ADDRESS].
package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"
)

const ttl = time.Second

var late atomic.Bool // answers to A arrive 1.5 s late

type conn struct{ net.Conn }

func (c conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if late.Load() {
		time.Sleep(ttl * 3 / 2)
	}
	return n, err
}

func main() {
	address := append(os.Args, "127.0.0.1:6379")[1]
	a := redis.NewClient(&redis.Options{Addr: address, Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, network, addr)
		return conn{c}, err
	}})
	b := redis.NewClient(&redis.Options{Addr: address})
	ctx, job := context.Background(), rand.Text()
	if lock, err := redislock.Obtain(ctx, a, "warm", ttl, nil); err == nil { // opens A's connection, loads the script
		lock.Release(ctx)
	}

	start := time.Now()
	go func() { // B asks after A's key has expired
		time.Sleep(ttl * 11 / 10)
		_, err := redislock.Obtain(ctx, b, job, 10*ttl, nil)
		fmt.Printf("%4d ms  B: Obtain: err=%v\n", time.Since(start).Milliseconds(), err)
	}()
	late.Store(true)
	_, err := redislock.Obtain(ctx, a, job, ttl, nil)
	fmt.Printf("%4d ms  A: Obtain: err=%v; its TTL was %d ms\n", time.Since(start).Milliseconds(), err, ttl.Milliseconds())
	if err == nil {
		fmt.Println("BROKEN: A and B were both given the lock, and A's was over when Obtain returned")
		os.Exit(1)
	}
	fmt.Println("ok")
}
