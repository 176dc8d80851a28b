package consul

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os/exec"
	"testing"
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/contract"
	"github.com/picklock/picklock/clients/internal/servers"
	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/internal/testkit"
)

func startConsul(t testing.TB) []*contract.Server {
	bin, err := exec.LookPath("consul")
	if err != nil {
		testkit.Need(t, "consul", fmt.Errorf("%w: run scripts/consul", err))
	}
	port := servers.FreePort(t)
	s := servers.Start(t, port, exec.Command(bin, "agent", "-server", "-bootstrap-expect=1", "-node=test", "-data-dir="+t.TempDir(),
		"-bind=127.0.0.1", "-client=127.0.0.1", "-http-port="+port, "-server-port="+servers.FreePort(t),
		"-serf-lan-port="+servers.FreePort(t), "-serf-wan-port="+servers.FreePort(t), "-grpc-port=-1", "-grpc-tls-port=-1", "-dns-port=-1", "-log-level=warn",
		`-hcl=session_ttl_min = "1s"`, "-hcl=performance { raft_multiplier = 1 }", "-hcl=disable_update_check = true"))
	c, err := api.NewClient(&api.Config{Address: s.Addr})
	if err != nil {
		t.Fatal(err)
	}
	for range 600 { // a session needs its node's health check, which the leader makes
		if checks, _, err := c.Health().Node("test", nil); err == nil && len(checks) > 0 {
			return []*contract.Server{s}
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatal("Consul took connections and never served")
	return nil
}

// TestConsulToken: the token is the key's LockIndex, which rises with every grant also
// where one session has the lock twice, and does not when the holder writes the key.
func TestConsulToken(t *testing.T) {
	t.Parallel()
	servers := startConsul(t)
	ctx := contract.Within(t, 60*time.Second)
	a := contract.Open(t, named("consul"), "a", contract.Addrs(servers), time.Second)
	c, err := api.NewClient(&api.Config{Address: servers[0].Addr})
	if err != nil {
		t.Fatal(err)
	}
	var last int64
	for range 3 {
		g, err := a.Acquire(ctx, "k")
		if err != nil {
			t.Fatal(err)
		}
		if g.Token != last+1 {
			t.Errorf("token %d after %d", g.Token, last)
		}
		last = g.Token
		pair, _, err := c.KV().Get("picklock/k", nil)
		if err != nil {
			t.Fatal(err)
		}
		before := pair.ModifyIndex
		pair.Value = []byte("the holder's own")
		if _, _, err := c.KV().Acquire(pair, nil); err != nil {
			t.Fatal(err)
		}
		if pair, _, err = c.KV().Get("picklock/k", nil); err != nil || pair.ModifyIndex <= before || int64(pair.LockIndex) != g.Token {
			t.Errorf("after a write by the holder: %+v, %v; want a new ModifyIndex and LockIndex %d", pair, err, g.Token)
		}
		if err := a.Release(ctx, g); err != nil {
			t.Fatal(err)
		}
	}
}

// TestConsulLockDelay: after the end of a session no client gets the lock for the delay;
// after a release it is not.
func TestConsulLockDelay(t *testing.T) {
	t.Parallel()
	const delay = 3 * time.Second
	servers := startConsul(t)
	links := contract.NewLinks(t, servers)
	ctx := contract.Within(t, 60*time.Second)
	info := named("consul")
	o := clients.Options{Servers: links.Addrs(), Client: "a", TTL: time.Second, Extra: map[string]string{"delay": delay.String()},
		Log: slog.New(slog.NewTextHandler(io.Discard, nil))}
	a, err := info.Open(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	o.Servers, o.Client = contract.Addrs(servers), "b"
	b, err := info.Open(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	g, err := a.Acquire(ctx, "k")
	if err != nil {
		t.Fatal(err)
	}
	links.Cut()
	cut := history.Now()
	g2, err := b.Acquire(ctx, "k")
	if err != nil {
		t.Fatal(err)
	}
	// The session was renewed half a lease before the cut or later.
	if early := time.Second/2 + delay - time.Duration(history.Now()-cut); early > 0 {
		t.Errorf("granted %v before the end of the delay", early)
	}
	if err := b.Release(ctx, g2); err != nil {
		t.Fatal(err)
	}
	begin := history.Now()
	if g2, err = b.Acquire(ctx, "k"); err != nil {
		t.Fatal(err)
	}
	if d := time.Duration(history.Now() - begin); d > delay {
		t.Errorf("after a release it took %v to get the lock", d)
	}
	links.Heal()
	if err := a.Release(ctx, g); !errors.Is(err, clients.ErrNotHeld) {
		t.Errorf("release without holding: %v; want ErrNotHeld: the module reports nothing, the service answers false", err)
	}
	if err := b.Release(ctx, g2); err != nil {
		t.Error(err)
	}
}
