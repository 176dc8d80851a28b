// Every acquire succeeds if the server's clock is ahead of the client's.
// Needs a Redis >= 6.2: main [ADDRESS].
package main

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"regexp"
	"strconv"
	"time"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
)

const ahead = 10 * time.Second // the server's clock, of the client's

var instant = regexp.MustCompile(`\r\n(\d{13})\r\n`) // Unix milliseconds

// conn sends each instant as a client does whose clock is behind the server's.
type conn struct{ net.Conn }

func (c conn) Write(b []byte) (int, error) {
	return c.Conn.Write(instant.ReplaceAllFunc(b, func(m []byte) []byte {
		t, _ := strconv.ParseInt(string(m[2:15]), 10, 64)
		return fmt.Appendf(nil, "\r\n%d\r\n", t-ahead.Milliseconds())
	}))
}

func main() {
	option := rueidislock.LockerOption{KeyValidity: 2 * time.Second, ClientOption: rueidis.ClientOption{
		InitAddress: []string{append(os.Args, "127.0.0.1:6379")[1]}, ForceSingleClient: true,
		DialCtxFn: func(ctx context.Context, addr string, d *net.Dialer, _ *tls.Config) (net.Conn, error) {
			c, err := d.DialContext(ctx, "tcp", addr)
			return conn{c}, err
		}}}
	a, errA := rueidislock.NewLocker(option)
	b, errB := rueidislock.NewLocker(option)
	if errA != nil || errB != nil {
		panic(fmt.Sprint(errA, errB))
	}
	ctx, job, both := context.Background(), rand.Text(), 0
	for range 100 {
		held, releaseA, errA := a.TryWithContext(ctx, job)
		_, releaseB, errB := b.TryWithContext(ctx, job)
		if errA == nil && errB == nil && held.Err() == nil {
			both++
		}
		releaseB()
		releaseA()
	}
	fmt.Printf("B was given the lock while A held it (A's context had not ended): %d of 100 times\n", both)
	if both > 0 {
		fmt.Println("BROKEN: two holders")
		os.Exit(1)
	}
	fmt.Println("ok")
}
