package harness_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/picklock/picklock/internal/testkit"
)

// needDisks leaves a test out where picklock's own disk cannot be mounted.
func needDisks(t *testing.T) {
	t.Helper()
	out, _, _ := command(t, "doctor", "--json")
	if strings.Contains(out, "cannot mount picklock's own disk") || strings.Contains(out, "mounted in namespaces") {
		testkit.Need(t, "fuse", fmt.Errorf("picklock's own disk cannot be mounted: see picklock doctor"))
	}
}

// A holds the lock when all servers lose their power. Whose servers sync what they
// acknowledge still has A's lock afterwards, and B waits; whose do not has forgotten it,
// and what comes of that is proved.
func TestPowerLossIsProved(t *testing.T) {
	t.Parallel()
	needDisks(t)
	const head = "name: mine\nabout: mine\nlocks: [%s]\ncluster: %s\nttl: 20s\nclients:\n"
	const faults = "faults:\n  - {when: before A's write, pause: A, until: before C's 2nd await}\n  - {when: before A's write, powerloss: servers torn, until: at once}\nexpect: {%s: valid}\n"
	const safe = "  A: acquire, read, check, write, release\n  B: await powerloss over, acquire, read, write, release\n  C: await after B's acquire or 1s, await B done, acquire, read, write, release\n" + faults
	const unsafe = "  A: acquire, read, check, write\n  B: await powerloss over, acquire, read, write\n  C: await B done, await A done, acquire within 10ms\n" + faults
	tests := []struct {
		lock, cluster, need string
		from, to            string // what makes the cluster's servers unsafe, or safe
		safer               bool
		finds               string // if they are unsafe
	}{
		{"etcd", "etcd", "etcd", "- --log-level=warn", "- --log-level=warn\n        - --unsafe-no-fsync", false, "granted-early"},
		{"postgres-table", "postgres", "postgres", "exec postgres ", "exec postgres -c fsync=off ", false, "granted-early"},
		{"zookeeper", "zookeeper", "zookeeper", "- -XX:-UsePerfData", "- -XX:-UsePerfData\n        - -Dzookeeper.forceSync=no", false, "stale-write"},
		{"nats-kv", "nats", "nats", `"{dir}"]`, `"{dir}", --sync-always]`, true, "granted-early"},
		{"dynamodb", "dynamodb", "", "", "", false, ""}, // which no setting makes unsafe
	}
	for _, tt := range tests {
		if tt.need != "" {
			need(t, tt.need)
		}
		text, err := os.ReadFile(filepath.Join("..", "compose", tt.cluster+".yml"))
		if err != nil {
			t.Fatal(err)
		}
		changed := strings.Replace(string(text), tt.from, tt.to, 1)
		if changed == string(text) && tt.from != "" {
			t.Fatalf("no %q in %s", tt.from, tt.cluster)
		}
		other := filepath.Join(t.TempDir(), tt.cluster+".yml")
		if err := os.WriteFile(other, []byte(changed), 0o600); err != nil {
			t.Fatal(err)
		}
		as, changedIs := safe, unsafe
		if tt.safer {
			as, changedIs = unsafe, safe
		}
		clusters := map[string]string{tt.cluster: as}
		if tt.from != "" {
			clusters[other] = changedIs
		}
		for cluster, then := range clusters {
			t.Run(tt.lock+" on "+filepath.Base(cluster), func(t *testing.T) {
				t.Parallel()
				file := filepath.Join(t.TempDir(), "mine.yaml")
				if err := os.WriteFile(file, []byte(fmt.Sprintf(head, tt.lock, cluster)+fmt.Sprintf(then, tt.lock)), 0o600); err != nil {
					t.Fatal(err)
				}
				code, says := 0, "as expected"
				if then == unsafe {
					code, says = 1, "not expected: "
				}
				stdout, stderr, got := command(t, "scenario", "run", file, "--lock", tt.lock, "--out", filepath.Join(t.TempDir(), "run"))
				if got != code || !strings.Contains(stdout, says) || then == unsafe && !strings.Contains(stdout, tt.finds) {
					t.Errorf("exit %d, want %d and %q\n%s%s", got, code, says, stdout, stderr)
				}
			})
		}
	}
}

// A run survives broken disks, and every fault of theirs takes effect: servers that end because
// of them are started again.
func TestBrokenDisks(t *testing.T) {
	t.Parallel()
	needDisks(t)
	need(t, "etcd")
	stdout, stderr, code := command(t, "run", "--lock", "etcd", "--faults", "disk:one:eio,disk:leader:full,disk:one:stall:50ms,powerloss:minority:torn", "--fencing", "read-write", "--duration", "12s", "--seed", "7", "--out", filepath.Join(t.TempDir(), "run"))
	if code != 0 || !strings.Contains(stdout, "kept its promises under") {
		t.Errorf("exit %d\n%s%s", code, stdout, stderr)
	}
}
