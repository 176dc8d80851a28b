// Session.Done of a holder that is cut off closes after another client holds the lock.
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
	time.Sleep(20 * time.Millisecond) // a network's round trip
	for cut.Load() {
		time.Sleep(time.Millisecond)
	}
	return n, err
}

func dial(ctx context.Context, address string) (net.Conn, error) {
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	return conn{c}, err
}

func main() {
	address := append(os.Args, "127.0.0.1:2379")[1]
	lock := func(key string, options ...grpc.DialOption) (*concurrency.Session, error) {
		c, err := clientv3.New(clientv3.Config{Endpoints: []string{address}, DialOptions: options, Logger: zap.NewNop()})
		if err != nil {
			return nil, err
		}
		s, err := concurrency.NewSession(c, concurrency.WithTTL(2))
		if err != nil {
			return nil, err
		}
		return s, concurrency.NewMutex(s, key).Lock(context.Background())
	}
	start, key := time.Now(), rand.Text()
	say := func(format string, args ...any) {
		fmt.Printf("%4d ms  %s\n", time.Since(start).Milliseconds(), fmt.Sprintf(format, args...))
	}
	a, err := lock(key, grpc.WithContextDialer(dial))
	say("A: Lock: err=%v", err)
	time.Sleep(1300 * time.Millisecond)
	cut.Store(true)
	say("A is cut off")
	_, err = lock(key)
	say("B: Lock: err=%v", err)
	select {
	case <-a.Done():
		fmt.Println("ok: A's Done was closed before")
	default:
		<-a.Done()
		say("A's Done closes")
		fmt.Println("BROKEN: two holders in between")
		os.Exit(1)
	}
}
