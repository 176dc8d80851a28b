package zookeeper

import (
	"errors"
	"testing"
	"time"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/contract"
	"github.com/picklock/picklock/clients/internal/servers"
)

// TestZooKeeperLostCreate: a node whose creation was not answered is found again
// on the next connection, and is the only one.
func TestZooKeeperLostCreate(t *testing.T) {
	t.Parallel()
	servers := servers.ZooKeeper(t)
	link := contract.NewLink(t, servers[0].Addr)
	ctx := contract.Within(t, 60*time.Second)
	const ttl = 3 * time.Second
	l := contract.Open(t, named("zookeeper"), "c1", []string{link.Addr}, ttl).(*zkLock)
	link.LoseReply("_c_")
	g, err := l.Acquire(ctx, "k")
	if err != nil {
		t.Fatal(err)
	}
	if !link.Lost() {
		t.Fatal("no create passed")
	}
	nodes, err := l.current.children(ctx, "/picklock/k")
	if err != nil || len(nodes) != 1 {
		t.Errorf("nodes in the queue: %v, %v; want only the grant's", nodes, err)
	}
	if err := l.Release(ctx, g); err != nil {
		t.Error(err)
	}
}

// TestZooKeeperLostRelease: a session whose node may still be there is ended, or it
// would keep the lock for as long as it lasts.
func TestZooKeeperLostRelease(t *testing.T) {
	t.Parallel()
	links := contract.NewLinks(t, servers.ZooKeeper(t))
	ctx := contract.Within(t, 60*time.Second)
	l := contract.Open(t, named("zookeeper"), "c1", links.Addrs(), 10*time.Second).(*zkLock)
	g, err := l.Acquire(ctx, "k")
	if err != nil {
		t.Fatal(err)
	}
	links.Cut()
	if err := l.Release(contract.Within(t, 200*time.Millisecond), g); !errors.Is(err, clients.ErrUnknown) {
		t.Errorf("release across a cut: %v; want ErrUnknown", err)
	}
	if l.current != nil {
		t.Error("the session is still in use")
	}
	links.Heal()
	if _, err := l.Acquire(ctx, "k"); err != nil {
		t.Error(err)
	}
}
