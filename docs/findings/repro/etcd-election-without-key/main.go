// A candidate whose session ended while it waited is told that it leads.
// Needs an etcd: main [ADDRESS].
package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.uber.org/zap"
	"google.golang.org/grpc"
)

var cut atomic.Bool // B's packets wait

type conn struct{ net.Conn }

func (c conn) Write(b []byte) (int, error) {
	for cut.Load() {
		time.Sleep(time.Millisecond)
	}
	return c.Conn.Write(b)
}

func dial(ctx context.Context, address string) (net.Conn, error) {
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	return conn{c}, err
}

func main() {
	ctx, address, job := context.Background(), append(os.Args, "127.0.0.1:2379")[1], rand.Text()
	candidate := func(ttl int, options ...grpc.DialOption) (*concurrency.Session, *concurrency.Election) {
		c, err := clientv3.New(clientv3.Config{Endpoints: []string{address}, DialOptions: options, Logger: zap.NewNop()})
		if err != nil {
			panic(err)
		}
		s, err := concurrency.NewSession(c, concurrency.WithTTL(ttl))
		if err != nil {
			panic(err)
		}
		return s, concurrency.NewElection(s, job)
	}
	start := time.Now()
	say := func(format string, args ...any) {
		fmt.Printf("%4d ms  %s\n", time.Since(start).Milliseconds(), fmt.Sprintf(format, args...))
	}
	_, a := candidate(60)
	say("A: Campaign: err=%v", a.Campaign(ctx, "A"))
	session, b := candidate(2, grpc.WithContextDialer(dial))
	elected := make(chan error)
	go func() { elected <- b.Campaign(ctx, "B") }()
	time.Sleep(time.Second)
	cut.Store(true)
	say("B waits, and is cut off")
	time.Sleep(5 * time.Second)
	cut.Store(false)
	<-session.Done()
	say("B is back, and its session is over")
	_, c := candidate(60)
	say("A: Resign: err=%v", a.Resign(ctx))
	say("C: Campaign: err=%v", c.Campaign(ctx, "C"))
	err := <-elected
	say("B: Campaign: err=%v", err)
	if err == nil {
		fmt.Println("BROKEN: B and C lead")
		os.Exit(1)
	}
	fmt.Println("ok: B does not lead")
}
