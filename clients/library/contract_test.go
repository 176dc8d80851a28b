package library

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/contract"
	"github.com/picklock/picklock/clients/internal/servers"
	"github.com/picklock/picklock/clients/internal/servers/dynamoserver"
	"github.com/picklock/picklock/internal/testkit"
)

func TestMain(m *testing.M) { servers.Main(m, dynamoserver.Part) }

// required are the tools of the languages as PICKLOCK_TEST_REQUIRE names them.
var required = map[*language]string{javaLanguage: "maven", pythonLanguage: "pip", nodeLanguage: "npm", goLanguage: "go", rustLanguage: "cargo"}

// needTools skips the test where the tools of the lock's language are missing.
func needTools(t testing.TB, lock string) {
	t.Helper()
	for _, l := range lines() {
		if l.name == lock {
			testkit.Need(t, required[l.language], program{line: l, lock: lock}.missing())
		}
	}
}

// buildFirst is the lock of that name, with its client built: in the user's cache, where it stays.
func buildFirst(t testing.TB, name string) clients.Info {
	t.Helper()
	needTools(t, name)
	i := contract.Named(Locks(), name)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	defer cancel()
	if err := i.Build(ctx, func(text string) { t.Log(text) }); err != nil {
		t.Fatal(err)
	}
	return i
}

// What libraries do without a fault, and whether their clients report the outcomes that those give.
func TestContract(t *testing.T) {
	redis := func(n int) func(testing.TB) []*contract.Server {
		return func(t testing.TB) []*contract.Server { return servers.Redis(t, n) }
	}
	tests := []struct {
		lock string
		contract.Options
		signals bool // the library signals a loss
	}{
		// It gives up one sleep before the deadline.
		{lock: "redis-py", Options: contract.Options{TTL: time.Second, Cut: contract.Unknown, Start: redis(1), Without: []string{contract.Vain}}},
		// A watchdog renews what is held: no lease is given, and nothing says that it is over.
		{lock: "redisson", Options: contract.Options{TTL: time.Second, Session: true, Start: redis(1), Without: []string{contract.Loss}}},
		// Likewise; its release says nothing of its outcome.
		{lock: "redisson-redlock", Options: contract.Options{TTL: time.Second, Session: true, Start: redis(5), Without: []string{contract.Loss, contract.Kill}}},
		// A release tells no difference between a lock that is gone and servers that are; leases count from
		// the first try; a wait ends with its tries.
		{lock: "node-redlock", Options: contract.Options{TTL: time.Second, Start: redis(5), Without: []string{contract.Loss, contract.Since, contract.Vain}}},
		// A release tells no difference between a lock that is gone and too few answers.
		{lock: "go-redsync", Options: contract.Options{TTL: time.Second, Start: redis(5), Without: []string{contract.Loss}}},
		// It waits for as long as its SDK does.
		{lock: "go-dynamolock", Options: contract.Options{TTL: time.Second, Start: dynamoserver.Start}, signals: true},
		{lock: "dynamodb-lock-client", Options: contract.Options{TTL: time.Second, Start: dynamoserver.Start}, signals: true},
		// Its release says nothing of its outcome.
		{lock: "rslock", Options: contract.Options{TTL: time.Second, Start: redis(5), Without: []string{contract.Loss, contract.Kill}}},
		// Their releases never say that the lock was gone.
		{lock: "kazoo", Options: contract.Options{TTL: time.Second, Session: true, Start: servers.ZooKeeper, Without: []string{contract.Loss}}, signals: true},
		{lock: "curator", Options: contract.Options{TTL: time.Second, Session: true, Start: servers.ZooKeeper, Without: []string{contract.Loss}}, signals: true},
	}
	for _, tc := range tests {
		t.Run(tc.lock, func(t *testing.T) {
			jvm := strings.HasPrefix(tc.lock, "redisson") || tc.lock == "curator" || tc.lock == "dynamodb-lock-client"
			if !jvm { // many JVMs at once would all start late
				t.Parallel()
			}
			u := tc.Options
			u.Lock = buildFirst(t, tc.lock)
			contract.Run(t, u)
			if tc.signals {
				t.Run("loss signal", func(t *testing.T) { contract.LossSignal(t, u, u.Start(t)) })
			}
		})
	}
}

// A client says which version of its library it has loaded.
func TestLoaded(t *testing.T) {
	for _, l := range []string{"redis-py", "node-redlock", "go-redsync", "rslock"} {
		t.Run(l, func(t *testing.T) {
			info := buildFirst(t, l)
			lock := contract.Open(t, info, "c1", []string{servers.Redis(t, 1)[0].Addr}, time.Second)
			a := lock.(clients.Declarer).Abilities()
			if a.Library == "" || a.Version == "" {
				t.Errorf("it names %q %q, want %s %s", a.Library, a.Version, info.Library.Name, info.Library.Version)
			}
		})
	}
}
