package register_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/redis/go-redis/v9"

	"github.com/picklock/picklock/clients/all"
	"github.com/picklock/picklock/clients/register"
	"github.com/picklock/picklock/history"
)

// TestBackendsAgree: each backend answers and logs what picklock's own store does.
func TestBackendsAgree(t *testing.T) {
	realBackends(t, func(t *testing.T, b register.Backend) {
		for _, d := range register.FencingModes() {
			if d.Asks() {
				if err := b.Takes(d); err == nil {
					t.Errorf("%s takes %s, which asks the lock service", b.Name, d)
				}
				continue
			}
			t.Run(d.Name, func(t *testing.T) {
				start := history.Now()
				node := real(t, b)
				k := openAdmin(t, b, node, d, start, "a", "b")
				links := []register.Resource{open(t, b, node.HostPort(), d), open(t, b, node.HostPort(), d)}
				store := register.NewStore(d, start)
				rng := rand.New(rand.NewPCG(1, 2))
				var want []history.Effect
				refused := 0
				for i := range 120 {
					r := register.Request{
						F: []string{history.Read, history.Write, history.Add}[rng.IntN(3)], Key: []string{"a", "b"}[rng.IntN(2)],
						Process: "c1", Grant: fmt.Sprint("g", i), Token: int64(1 + i/10 + rng.IntN(4)),
					}
					if r.F != history.Read {
						r.Value = fmt.Sprintf("v'%d\"", i)
					}
					before := history.Now() - start
					e, err := store.Apply(r, before)
					if err != nil {
						t.Fatal(err)
					}
					want = append(want, e)
					got, err := links[i%2].Do(t.Context(), r)
					switch {
					case e.Error != "":
						refused++
						if !errors.Is(err, register.ErrRefused) || err.Error() != e.Error {
							t.Fatalf("%+v: %v, want the refusal %q", r, err, e.Error)
						}
					case err != nil || got != (register.Reply{Value: e.Value, Version: e.Version}):
						t.Fatalf("%+v: %+v, %v; want %q, version %d", r, got, err, e.Value, e.Version)
					}
				}
				if d.Fenced() != (refused > 0) {
					t.Errorf("%d requests were refused", refused)
				}
				got, err := k.Log(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(history.Effect{}, "Time")); diff != "" {
					t.Errorf("the log differs (-store +%s):\n%s", b.Name, diff)
				}
				// The times are those of one machine, measured over a round trip.
				const slack = int64(50 * time.Millisecond)
				for i, e := range got {
					if e.Time < want[i].Time-slack || e.Time > history.Now()-start+slack || i > 0 && e.Time < got[i-1].Time {
						t.Fatalf("effect %d at %d, after one at %d; it was sent at %d", i, e.Time, got[max(i-1, 0)].Time, want[i].Time)
					}
				}
			})
		}
	})
}

// TestBackendsInOrder: many clients write at once, and the log has the order that all saw.
func TestBackendsInOrder(t *testing.T) {
	realBackends(t, func(t *testing.T, b register.Backend) {
		d := modeOf(t, "read-write")
		start := history.Now()
		node := real(t, b)
		k := openAdmin(t, b, node, d, start, "k")
		var token, refused atomic.Int64
		var mu sync.Mutex
		answered := map[string]int64{} // version by value
		var group sync.WaitGroup
		for n := range 6 {
			group.Go(func() {
				r := b.Open(node.HostPort(), d)
				defer r.Close()
				for i := range 40 {
					v := fmt.Sprintf("c%d.%d", n, i)
					got, err := r.Do(t.Context(), register.Request{F: history.Write, Key: "k", Process: fmt.Sprint("c", n), Grant: v, Token: token.Add(1), Value: v})
					if errors.Is(err, register.ErrRefused) {
						refused.Add(1)
						continue
					}
					if err != nil {
						t.Errorf("write %s: %v", v, err)
						return
					}
					mu.Lock()
					answered[v] = got.Version
					mu.Unlock()
				}
			})
		}
		group.Wait()
		effects, err := k.Log(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var version, highest, errs int64
		for i, e := range effects {
			if e.Seq != int64(i+1) {
				t.Fatalf("effect %d has number %d", i+1, e.Seq)
			}
			if e.Error != "" {
				if errs++; e.Token >= highest {
					t.Errorf("token %d was refused, the highest before was %d: %s", e.Token, highest, e.Error)
				}
				continue
			}
			if e.Version != version+1 || e.Token < highest || answered[e.Value] != e.Version {
				t.Errorf("effect %+v after version %d with token %d; the client got version %d", e, version, highest, answered[e.Value])
			}
			version, highest = e.Version, e.Token
		}
		if version != int64(len(answered)) || errs != refused.Load() || len(effects) != 240 {
			t.Errorf("%d effects, %d accepted, %d refused; the clients counted %d and %d", len(effects), version, errs, len(answered), refused.Load())
		}
	})
}

// TestBackendsInDoubt: a request that is not answered is of unknown outcome, and the
// next one works.
func TestBackendsInDoubt(t *testing.T) {
	realBackends(t, func(t *testing.T, b register.Backend) {
		d := modeOf(t, "write")
		node := real(t, b)
		k := openAdmin(t, b, node, d, history.Now(), "k")
		r := open(t, b, node.HostPort(), d)
		req := func(n int64) register.Request {
			return register.Request{F: history.Write, Key: "k", Process: "c1", Grant: "g", Token: n, Value: fmt.Sprint("v", n)}
		}
		if _, err := r.Do(t.Context(), req(1)); err != nil {
			t.Fatal(err)
		}
		resume := stall(t, b, node)
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		if got, err := r.Do(ctx, req(2)); !errors.Is(err, register.ErrUnknown) {
			t.Errorf("no answer: %+v, %v; want ErrUnknown", got, err)
		}
		resume()
		if got, err := r.Do(t.Context(), req(3)); err != nil || got.Version < 2 {
			t.Errorf("after it: %+v, %v", got, err)
		}
		effects, err := k.Log(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var values []string
		for _, e := range effects {
			if e.Error != "" {
				e.Value += " refused"
			}
			values = append(values, e.Value)
		}
		// A server may read the third request before the second one, which is then late.
		for _, want := range [][]string{{"v1", "v3"}, {"v1", "v2", "v3"}, {"v1", "v3", "v2 refused"}} {
			if slices.Equal(values, want) {
				values = nil
			}
		}
		if values != nil {
			t.Errorf("effects %v; want v1, perhaps v2, v3; or v2 refused after it", values)
		}
		canceled, stop := context.WithCancel(t.Context())
		stop()
		if _, err := r.Do(canceled, req(4)); err == nil || errors.Is(err, register.ErrUnknown) {
			t.Errorf("context over: %v; want a definite error", err)
		}
	})
}

func TestBackendsNoServer(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ln.Close()
	realBackends(t, func(t *testing.T, b register.Backend) {
		r := open(t, b, ln.Addr().String(), modeOf(t, "write"))
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		_, err := r.Do(ctx, register.Request{F: history.Write, Key: "k", Process: "c1", Token: 1, Value: "v"})
		// etcd's client does not report whether it sent anything.
		if err == nil || errors.Is(err, register.ErrUnknown) != (b.Name == "etcd") {
			t.Errorf("no server: %v", err)
		}
		for _, bad := range []register.Request{
			{F: history.Write, Key: "k", Process: "c1", Value: "v"},
			{F: history.Write, Key: "k", Process: "c1", Value: "v", Token: 1 << 60},
			{F: history.Add, Key: "k", Process: "c1", Value: "v", Token: 1, Unlocked: register.Unlocked{Merge: true}},
		} {
			if _, err := r.Do(t.Context(), bad); err == nil || errors.Is(err, register.ErrUnknown) {
				t.Errorf("%+v: %v; want a definite error", bad, err)
			}
		}
	})
	if _, err := all.Backends().Lookup("mysql"); err == nil {
		t.Error("an unknown register is accepted")
	}
}

// TestFencingPage: the snippets of docs/concepts/fencing.md do what the page says.
func TestFencingPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/concepts/fencing.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := map[string]string{}
	for _, title := range []string{"## Postgres", "## Redis"} {
		_, after, _ := strings.Cut(string(page), title+"\n\n")
		var block []string
		for _, l := range strings.Split(after, "\n") {
			if l != "" && !strings.HasPrefix(l, "    ") {
				break
			}
			block = append(block, strings.TrimSpace(l))
		}
		blocks[title] = strings.Join(block, "\n")
	}
	realBackends(t, func(t *testing.T, b register.Backend) {
		var write func(token int64, value string) (accepted bool)
		switch b.Name {
		case "postgres":
			node := real(t, b)
			conn, err := pgconn.Connect(t.Context(), fmt.Sprintf("host=%s port=%d user=postgres database=postgres sslmode=disable", node.Addr, node.Port))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { conn.Close(context.Background()) })
			statements := strings.Split(blocks["## Postgres"], ";")
			setup := statements[0] + "; CREATE TABLE audit (seq bigint GENERATED ALWAYS AS IDENTITY, key text, token bigint, value text, version bigint); INSERT INTO resource VALUES ('k', '', 0)"
			if err := conn.Exec(t.Context(), setup).Close(); err != nil {
				t.Fatal(err)
			}
			run := func(sql string, args ...string) bool {
				var values [][]byte
				for _, a := range args {
					values = append(values, []byte(a))
				}
				res := conn.ExecParams(t.Context(), sql, values, nil, nil, nil).Read()
				if res.Err != nil {
					t.Fatal(res.Err)
				}
				return len(res.Rows) == 1
			}
			if !run(statements[1], "k", "3") || run(statements[1], "k", "2") {
				t.Error("the read ignores the token")
			}
			write = func(token int64, value string) bool { return run(statements[2], "k", fmt.Sprint(token), value) }
		case "redis":
			node := real(t, b)
			db := redis.NewClient(&redis.Options{Addr: node.HostPort()})
			t.Cleanup(func() { db.Close() })
			write = func(token int64, value string) bool {
				err := db.Eval(t.Context(), blocks["## Redis"], []string{"k", "log"}, token, value).Err()
				if err != nil && !strings.Contains(err.Error(), "STALE") {
					t.Fatal(err)
				}
				return err == nil
			}
		default:
			return // its transaction is the one that etcd.go makes
		}
		for _, s := range []struct {
			token int64
			want  bool
		}{{3, true}, {3, true}, {2, false}, {5, true}, {4, false}} {
			if got := write(s.token, fmt.Sprint("v", s.token)); got != s.want {
				t.Errorf("a write with token %d: accepted %v, want %v", s.token, got, s.want)
			}
		}
	})
}
