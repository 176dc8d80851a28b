// A client that asks for a free lock while its packets are late never gets it.
// Needs a Redis >= 6.2: main [ADDRESS].
package main

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
)

const validity = 2 * time.Second

var late sync.RWMutex // held: what A sends stays where it is, as behind a slow link

type conn struct{ net.Conn }

func (c conn) Write(b []byte) (int, error) {
	late.RLock()
	defer late.RUnlock()
	return c.Conn.Write(b)
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
		c, err := d.DialContext(ctx, "tcp", addr)
		return conn{c}, err
	}})
	b := locker(rueidis.ClientOption{})
	start, job := time.Now(), rand.Text()
	log := func(format string, args ...any) {
		fmt.Printf("%5d ms  %s\n", time.Since(start).Milliseconds(), fmt.Sprintf(format, args...))
	}
	late.Lock()
	time.AfterFunc(validity+time.Second, func() {
		log("A's packets arrive")
		late.Unlock()
	})
	log("A asks for the lock")
	ctx, cancel := context.WithTimeout(context.Background(), 6*validity)
	defer cancel()
	_, _, err := a.WithContext(ctx, job)
	log("A: WithContext: err=%v", err)
	if err == nil {
		fmt.Println("ok")
		return
	}
	_, release, err := b.TryWithContext(context.Background(), job)
	log("B: TryWithContext: err=%v", err)
	if err == nil {
		release()
		fmt.Println("BROKEN: nobody held the lock, and A was not given it")
	}
	os.Exit(1)
}
