// A client whose clock is ahead crashes, and its key outlives KeyValidity.
// Needs a Redis >= 6.2: main [ADDRESS].
package main

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"time"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
)

const ahead, validity = 10 * time.Minute, 2 * time.Second // A's clock, of all others

var instant = regexp.MustCompile(`\r\n(\d{13})\r\n`) // Unix milliseconds

// conn sends each instant as a client does whose clock is ahead.
type conn struct{ net.Conn }

func (c conn) Write(b []byte) (int, error) {
	return c.Conn.Write(instant.ReplaceAllFunc(b, func(m []byte) []byte {
		t, _ := strconv.ParseInt(string(m[2:15]), 10, 64)
		return fmt.Appendf(nil, "\r\n%d\r\n", t+ahead.Milliseconds())
	}))
}

func main() {
	address := append(os.Args, "127.0.0.1:6379")[1]
	option := rueidislock.LockerOption{KeyValidity: validity, ClientOption: rueidis.ClientOption{InitAddress: []string{address}, ForceSingleClient: true}}
	if len(os.Args) == 3 { // A, in a process of its own
		option.ClientOption.DialCtxFn = func(ctx context.Context, addr string, d *net.Dialer, _ *tls.Config) (net.Conn, error) {
			c, err := d.DialContext(ctx, "tcp", addr)
			return conn{c}, err
		}
		locker, err := rueidislock.NewLocker(option)
		if err == nil {
			_, _, err = locker.WithContext(context.Background(), os.Args[2])
		}
		fmt.Printf("A: WithContext: err=%v; A crashes\n", err)
		os.Exit(3)
	}
	job := rand.Text()
	a := exec.Command(os.Args[0], address, job)
	a.Stdout = os.Stdout
	a.Run()
	b, err := rueidislock.NewLocker(option)
	if err != nil {
		panic(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*validity)
	defer cancel()
	pttl, _ := b.Client().Do(ctx, b.Client().B().Pttl().Key("rueidislock:0:"+job).Build()).AsInt64()
	fmt.Printf("A's key lives for another %d ms; KeyValidity is %v\n", pttl, validity)
	start := time.Now()
	_, _, err = b.WithContext(ctx, job)
	fmt.Printf("B: WithContext: err=%v after %.1f s\n", err, time.Since(start).Seconds())
	if err != nil {
		fmt.Println("BROKEN: nobody holds the lock, and nobody is given it")
		os.Exit(1)
	}
	fmt.Println("ok")
}
