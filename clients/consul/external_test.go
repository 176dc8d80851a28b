package consul

import (
	"context"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/contract"
	"github.com/picklock/picklock/internal/access"
)

// Clean leaves nothing of a lock, even if its holder has died and others wait, and removes
// nothing of a user's.
func TestClean(t *testing.T) {
	t.Parallel()
	const mark = "picklock-0123456789-"
	servers := startConsul(t)
	addrs := contract.Addrs(servers)
	ctx := contract.Within(t, 60*time.Second)
	o := clients.Options{Servers: addrs, Client: "c1", TTL: 10 * time.Second, Log: slog.New(slog.DiscardHandler), External: &clients.External{Addresses: addrs}}
	c, err := newClient(o, addrs[0], http.DefaultClient)
	if err != nil {
		t.Fatal(err)
	}
	all := func() (names []string) {
		keys, _, err1 := c.KV().Keys("", "", nil)
		sessions, _, err2 := c.Session().List(nil)
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		for _, s := range sessions {
			keys = append(keys, s.Name)
		}
		return keys
	}
	users := []string{keyFolder + "my-" + mark + "k0", "app/" + mark + "k0", semaphoreFolder + "app/" + mark + "k0"}
	for _, key := range users {
		if _, err := c.KV().Put(&api.KVPair{Key: key}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := c.Session().CreateNoChecks(&api.SessionEntry{Name: "of " + mark}, nil); err != nil {
		t.Fatal(err)
	}
	users = append(users, "of "+mark)
	for _, info := range Locks() {
		links := contract.NewLinks(t, servers)
		dies := o
		dies.Servers = links.Addrs()
		l, err := info.Open(ctx, dies)
		if err != nil {
			t.Fatal(err)
		}
		who := max(info.Permits(nil), 1) + 1
		waits, cancel := context.WithCancel(ctx)
		defer cancel()
		got := make(chan *clients.Grant)
		for range who {
			go func() {
				g, err := l.Acquire(waits, mark+"k0")
				if err != nil {
					got <- nil
					return
				}
				<-waits.Done()
				got <- &g
			}()
		}
		others, err := l.Acquire(ctx, "others-k0")
		if err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(20 * time.Second); strings.Count(strings.Join(all(), "\n"), mark+"k0 c1") < who; time.Sleep(20 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%s: %q", info.Name, all())
			}
		}
		links.Cut()
		if n, err := info.Service.Clean(ctx, o, mark); err != nil || n < who+1 {
			t.Errorf("%s: %d removed, %v", info.Name, n, err)
		}
		left := all()
		for _, name := range users {
			if !slices.Contains(left, name) {
				t.Errorf("%s: %s was removed", info.Name, name)
			}
		}
		left = slices.DeleteFunc(left, func(name string) bool { return slices.Contains(users, name) })
		if left := strings.Join(left, "\n"); strings.Contains(left, mark) || !strings.Contains(left, "others-k0") {
			t.Errorf("%s: left are\n%s", info.Name, left)
		}
		links.Heal()
		cancel()
		_ = l.Release(ctx, others) // ends what the module does for it; also for the sessions with the mark, which are gone
		for range who {
			if g := <-got; g != nil {
				_ = l.Release(ctx, *g)
			}
		}
		l.Close()
	}
}

// Of other programs' locks, all is removed of which a part begins with the mark.
func TestCleanForeign(t *testing.T) {
	t.Parallel()
	const mark = "picklock-abcdefghij-"
	addrs := contract.Addrs(startConsul(t))
	o := clients.Options{Servers: addrs, External: &clients.External{Addresses: addrs}}
	c, err := newClient(o, addrs[0], http.DefaultClient)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"app/" + mark + "k0", "app/x:" + mark + "k1/z", "app/k0", "app/x-" + mark + "k1"} {
		if _, err := c.KV().Put(&api.KVPair{Key: key}, nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"of " + mark + "k0", "other"} {
		if _, _, err := c.Session().CreateNoChecks(&api.SessionEntry{Name: name}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := service().ForForeignKeys().Clean(t.Context(), o, mark); n != 3 || err == nil || !strings.Contains(err.Error(), "app/x-"+mark) {
		t.Errorf("%d removed, %v", n, err)
	}
	keys, _, err1 := c.KV().Keys("", "", nil)
	sessions, _, err2 := c.Session().List(nil)
	if err := errors.Join(err1, err2); err != nil || !slices.Equal(keys, []string{"app/k0", "app/x-" + mark + "k1"}) || len(sessions) != 1 || sessions[0].Name != "other" {
		t.Errorf("left are %q and %d sessions, %v", keys, len(sessions), err)
	}
}

// Requests call a server by its public address, with TLS for that name and the token, and ignore
// any proxy of the environment.
func TestServersOfOthers(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	t.Setenv("A_TOKEN", "hidden-word")
	var mu sync.Mutex
	var seen []string
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, r.Host+" "+r.TLS.ServerName+" "+r.Header.Get("X-Consul-Token"))
		w.Write([]byte(`[{"Key":"picklock/k","Session":"s"}]`))
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	defer s.Close()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	o := clients.Options{Servers: []string{s.Listener.Addr().String()}, External: &clients.External{
		Addresses: []string{"example.com:8501"}, Access: access.Access{TLS: true, CA: ca, PasswordEnv: "A_TOKEN"},
	}}
	if n, err := lookConsul(t.Context(), o, "k"); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	if want := "example.com:8501 example.com hidden-word"; len(seen) != 1 || seen[0] != want {
		t.Errorf("%q, want %q", seen, want)
	}
	o.External.Addresses[0] = "example.org:8501"
	if _, err := lookConsul(t.Context(), o, "k"); err == nil {
		t.Error("its certificate is for another name")
	}
}
