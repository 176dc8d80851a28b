package clients

import (
	"context"
	"errors"
	"net"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-redsync/redsync/v4"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	"github.com/picklock/picklock/history"
)

func within(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

func TestLookup(t *testing.T) {
	var names []string
	for _, i := range Builtin().All() {
		names = append(names, i.Name)
		if i.About == "" || i.Cluster == "" || i.MinTTL <= 0 && !i.Naive && i.Unlocked == nil || strings.Contains(i.About, "\n") {
			t.Errorf("%s: incomplete: %+v", i.Name, i)
		}
		if _, err := i.Open(t.Context(), Options{TTL: time.Second}); err == nil {
			t.Errorf("%s: opened without a server", i.Name)
		}
	}
	for _, want := range []string{"etcd", "redis", "redlock", "zookeeper"} {
		if i := slices.Index(names, want); i < 0 || Builtin().All()[i].Naive {
			t.Errorf("%s is not among the locks %v, or counts as naive", want, names)
		}
	}
	if _, err := Builtin().Lookup("memcached"); err == nil || !strings.Contains(err.Error(), "zookeeper") {
		t.Errorf("unknown lock: %v; want an error that lists them", err)
	}
}

// TestRedisDialFailure: what was never sent is tried again, and certainly failed.
func TestRedisDialFailure(t *testing.T) {
	t.Parallel()
	port := freePort(t)
	l := open(t, "redis", "c1", []string{"127.0.0.1:" + port}, time.Second)
	_, err := l.Acquire(within(t, 200*time.Millisecond), "k")
	var refused *net.OpError
	if err == nil || errors.Is(err, ErrUnknown) || !errors.As(err, &refused) {
		t.Errorf("nobody listens: %v; want a definite failure that says so", err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := l.Acquire(within(t, 30*time.Second), "k")
		done <- err
	}()
	start(t, port, exec.Command(need(t, "redis-server", "redis-server"), "--port", port, "--save", "", "--dir", t.TempDir()))
	if err := <-done; err != nil {
		t.Errorf("the server came up: %v", err)
	}
}

// TestRedisServerRefusal: an error that the server itself returned is definite.
func TestRedisServerRefusal(t *testing.T) {
	t.Parallel()
	servers := startRedis(t, 2)
	replica := servers[1].addr
	l := open(t, "redis", "c1", []string{replica}, time.Second).(*redisLock)
	ctx := within(t, 30*time.Second)
	host, port, _ := net.SplitHostPort(servers[0].addr)
	if _, _, err := l.do(ctx, "REPLICAOF", "REPLICAOF", host, port); err != nil {
		t.Fatal(err)
	}
	_, err := l.Acquire(within(t, 200*time.Millisecond), "k")
	if err == nil || errors.Is(err, ErrUnknown) || !strings.Contains(err.Error(), "READONLY") {
		t.Errorf("a replica: %v; want a definite failure that says READONLY", err)
	}
}

// TestLostReply: the request took effect and its answer never came.
func TestLostReply(t *testing.T) {
	tests := []struct {
		lock  string
		ttl   time.Duration
		mark  string // in the request
		start func(testing.TB) []*server
	}{
		{"redis", time.Second, "NX", func(t testing.TB) []*server { return startRedis(t, 1) }},
		{"etcd", 10 * time.Second, "/picklock/lost/", startEtcd}, // longer than the test waits
	}
	for _, tc := range tests {
		t.Run(tc.lock, func(t *testing.T) {
			t.Parallel()
			way := newLink(t, tc.start(t)[0].addr)
			ctx := within(t, 30*time.Second)
			l := open(t, tc.lock, "c1", []string{way.addr}, tc.ttl)
			g, err := l.Acquire(ctx, "other") // so that the client is connected
			if err != nil {
				t.Fatal(err)
			}
			if err := l.Release(ctx, g); err != nil {
				t.Fatal(err)
			}
			way.loseReply(tc.mark)
			_, err = l.Acquire(within(t, 3*time.Second), "lost")
			if !errors.Is(err, ErrUnknown) {
				t.Errorf("acquire: %v; want ErrUnknown", err)
			}
			if !way.lost() {
				t.Fatal("no request came by")
			}
			g2, err := l.Acquire(ctx, "lost")
			if err != nil {
				t.Fatalf("acquire once the first has run out: %v", err)
			}
			// The first acquire's key had the revision after the first grant's, or so:
			// whoever finds it in place would hand it out as a new grant.
			if info, _ := Builtin().Lookup(tc.lock); info.Fencing && g2.Token < g.Token+3 {
				t.Errorf("token %d: that of the acquire that failed, not a new one", g2.Token)
			}
			way.loseReply(map[string]string{"redis": "EVAL", "etcd": "/picklock/lost/"}[tc.lock])
			if err := l.Release(within(t, 3*time.Second), g2); !errors.Is(err, ErrUnknown) {
				t.Errorf("release: %v; want ErrUnknown", err)
			}
		})
	}
}

// TestZooKeeperLostCreate: a node whose creation was not answered is found again
// on the next connection, and is the only one.
func TestZooKeeperLostCreate(t *testing.T) {
	t.Parallel()
	servers := startZooKeeper(t)
	way := newLink(t, servers[0].addr)
	ctx := within(t, 60*time.Second)
	const ttl = 3 * time.Second
	l := open(t, "zookeeper", "c1", []string{way.addr}, ttl).(*zkLock)
	way.loseReply("_c_")
	g, err := l.Acquire(ctx, "k")
	if err != nil {
		t.Fatal(err)
	}
	if !way.lost() {
		t.Fatal("no create came by")
	}
	nodes, err := l.current.children(ctx, "/picklock/k")
	if err != nil || len(nodes) != 1 {
		t.Errorf("nodes in the queue: %v, %v; want the grant's alone", nodes, err)
	}
	if err := l.Release(ctx, g); err != nil {
		t.Error(err)
	}
}

// TestZooKeeperLostRelease: a session whose node may still be there is ended, or it
// would keep the lock for as long as it lasts.
func TestZooKeeperLostRelease(t *testing.T) {
	t.Parallel()
	ways := newLinks(t, startZooKeeper(t))
	ctx := within(t, 60*time.Second)
	l := open(t, "zookeeper", "c1", ways.addrs(), 10*time.Second).(*zkLock)
	g, err := l.Acquire(ctx, "k")
	if err != nil {
		t.Fatal(err)
	}
	ways.cut()
	if err := l.Release(within(t, 200*time.Millisecond), g); !errors.Is(err, ErrUnknown) {
		t.Errorf("release across a cut: %v; want ErrUnknown", err)
	}
	if l.current != nil {
		t.Error("the session is still in use")
	}
	ways.healed()
	if _, err := l.Acquire(ctx, "k"); err != nil {
		t.Error(err)
	}
}

func TestRedlockMajority(t *testing.T) {
	t.Parallel()
	servers := startRedis(t, 5)
	const ttl = 5 * time.Second
	l := open(t, "redlock", "c1", addrs(servers), ttl).(*redlock)
	ctx := within(t, 60*time.Second)
	for _, s := range servers[:2] {
		s.kill()
	}
	g, err := l.Acquire(ctx, "k")
	if err != nil {
		t.Fatalf("three of five: %v", err)
	}
	// The promise on the raw clock must not outlast the library's on Go's.
	left := time.Until(g.Ref.(*redsync.Mutex).Until())
	until := history.Now() + int64(left)
	if end := g.Since + int64(g.Lease); end > until || end < until-int64(ttl/5) {
		t.Errorf("lease ends %v before the library's until", time.Duration(until-end))
	}
	g2, err := l.Renew(ctx, g)
	if err != nil || g2.Since <= g.Since {
		t.Errorf("renewed: %+v, %v; want a later since than %d", g2, err, g.Since)
	}
	if err := l.Release(ctx, g); err != nil {
		t.Errorf("released on three of five: %v", err)
	}
	if g, err = l.Acquire(ctx, "k"); err != nil {
		t.Fatal(err)
	}
	servers[2].kill()
	if err := l.Release(ctx, g); !errors.Is(err, ErrUnknown) {
		t.Errorf("released on two of five: %v; want ErrUnknown", err)
	}
	if _, err := l.Acquire(within(t, 300*time.Millisecond), "k"); err == nil || errors.Is(err, ErrUnknown) {
		t.Errorf("acquire on two of five: %v; want a definite failure", err)
	}
}

func TestDenials(t *testing.T) {
	taken := func(n int) error { return &redsync.ErrNodeTaken{Node: n} }
	broken := &redsync.RedisError{Node: 1, Err: errors.New("i/o timeout")}
	tests := map[string]struct {
		err  error
		want int
	}{
		"none":    {nil, 0},
		"broken":  {broken, 0},
		"taken":   {errors.Join(errors.Join(nil, taken(0)), taken(3)), 2},
		"expired": {errors.Join(errors.Join(taken(1), redsync.ErrLockAlreadyExpired), broken), 2},
		"all":     {&redsync.ErrTaken{Nodes: []int{1, 2, 4}}, 3},
	}
	for name, tc := range tests {
		if got := denials(tc.err); got != tc.want {
			t.Errorf("%s: %d denials, want %d", name, got, tc.want)
		}
	}
}

// TestEtcdLease: what is known of the lease moves on with each keepalive that was
// answered, and a lease that somebody revokes is told on Lost.
func TestEtcdLease(t *testing.T) {
	t.Parallel()
	servers := startEtcd(t)
	ctx := within(t, 60*time.Second)
	l := open(t, "etcd", "c1", addrs(servers), time.Second).(*etcdLock)
	g, err := l.Acquire(ctx, "k")
	if err != nil {
		t.Fatal(err)
	}
	if g.Lease != time.Second {
		t.Errorf("lease %v, asked for 1 s", g.Lease)
	}
	since := g.Since
	for range 3 {
		select {
		case r := <-g.Renewals:
			if r.Since <= since || r.Since > history.Now() || r.Lease != g.Lease {
				t.Errorf("renewal %+v after since %d", r, since)
			}
			since = r.Since
		case <-g.Lost:
			t.Fatal("lost without a cause")
		}
	}
	s := l.current
	other, err := clientv3.New(clientv3.Config{Endpoints: addrs(servers), Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := other.Revoke(ctx, s.Lease()); err != nil {
		t.Fatal(err)
	}
	select {
	case <-g.Lost:
	case <-ctx.Done():
		t.Fatal("the lease was revoked and Lost never closed")
	}
	if err := l.Release(ctx, g); !errors.Is(err, ErrNotHeld) {
		t.Errorf("release: %v; want ErrNotHeld", err)
	}
	g2, err := l.Acquire(ctx, "k")
	if err != nil || g2.Token <= g.Token {
		t.Errorf("acquire by a new session: %+v, %v; want a token above %d", g2, err, g.Token)
	}
}

// TestEtcdRevokedWhileWaiting: a waiter whose place in the queue is gone queues
// up again at once.
func TestEtcdRevokedWhileWaiting(t *testing.T) {
	t.Parallel()
	servers := startEtcd(t)
	ctx := within(t, 30*time.Second)
	a := open(t, "etcd", "a", addrs(servers), time.Second)
	b := open(t, "etcd", "b", addrs(servers), time.Second).(*etcdLock)
	first, err := b.Acquire(ctx, "k")
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Release(ctx, first); err != nil {
		t.Fatal(err)
	}
	g, err := a.Acquire(ctx, "k")
	if err != nil {
		t.Fatal(err)
	}
	type result struct {
		g   Grant
		err error
	}
	done := make(chan result, 1)
	session := b.current
	go func() {
		g, err := b.Acquire(ctx, "k")
		done <- result{g, err}
	}()
	queued := func(n int64) {
		for {
			r, err := a.(*etcdLock).current.client.Get(ctx, "/picklock/k/", clientv3.WithPrefix(), clientv3.WithCountOnly())
			if err != nil {
				t.Fatal(err)
			}
			if r.Count == n {
				return
			}
		}
	}
	queued(2)
	if _, err := session.client.Revoke(ctx, session.Lease()); err != nil {
		t.Fatal(err)
	}
	queued(1)
	queued(2) // although nobody has released
	if err := a.Release(ctx, g); err != nil {
		t.Fatal(err)
	}
	r := <-done
	if r.err != nil || r.g.Token <= g.Token {
		t.Errorf("waiter: %+v; want a grant with a token above %d", r, g.Token)
	}
}

// keepalives is a stream whose answers come when the test says.
type keepalives struct {
	grpc.ClientStream
	ttl int64
}

func (*keepalives) SendMsg(any) error { return nil }

func (k *keepalives) RecvMsg(m any) error {
	m.(*etcdserverpb.LeaseKeepAliveResponse).TTL = k.ttl
	return nil
}

// TestLeaseWatch: an answer vouches for the time at which its request was sent,
// however many were sent since and however late it comes.
func TestLeaseWatch(t *testing.T) {
	var w leaseWatch
	fake := &keepalives{ttl: 2}
	s := &kaStream{ClientStream: fake, watch: &w}
	var reply etcdserverpb.LeaseKeepAliveResponse
	var times []int64
	for range 3 {
		times = append(times, history.Now())
		s.SendMsg(&etcdserverpb.LeaseKeepAliveRequest{})
	}
	times = append(times, history.Now())
	_, renewals := w.listen()
	for i := range 2 {
		s.RecvMsg(&reply)
		r := <-renewals
		if r.Since < times[i] || r.Since > times[i+1] || r.Lease != 2*time.Second {
			t.Errorf("answer %d: %+v, sent between %d and %d", i, r, times[i], times[i+1])
		}
	}
	before, _ := w.listen()
	fake.ttl = 0 // the lease is gone
	s.RecvMsg(&reply)
	if after, _ := w.listen(); after != before {
		t.Errorf("the word that the lease is gone moved it on to %+v", after)
	}
}
