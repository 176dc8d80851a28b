package harness_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/picklock/picklock/checker"
)

// What the locks on Postgres are for, and what each of them loses.
var postgresScenarios = []string{
	"pause-holder postgres-table none",
	"delayed-write postgres-row none",
	"delayed-write postgres-session write",
	"postgres-conn-loss postgres-session none",
	"postgres-conn-loss postgres-session read-write",
	"postgres-pause-connected postgres-xact none",
	"postgres-restart postgres-row none",
	"postgres-restart postgres-table none",
	"postgres-now postgres-table none",
	"postgres-clock-timestamp postgres-table none",
	"postgres-failover postgres-table none",
	"postgres-failover postgres-session read-write",
	"postgres-token-after-failover postgres-table write",
	"pgbouncer-shared-backend pgbouncer none",
	"pgbouncer-shared-backend postgres-session none",
}

func TestPostgresScenarios(t *testing.T) {
	t.Parallel()
	need(t, "postgres", "postgres-replica", "pgbouncer")
	for _, x := range postgresScenarios {
		t.Run(x, func(t *testing.T) {
			t.Parallel()
			w := strings.Fields(x)
			if c, code, _ := runScenario(t, w[0], w[1], w[2]); code != 0 || c.Met != checker.True {
				t.Errorf("exit %d, expected %s, found %v: %s\n%+v", code, c.Expected, c.Found, c.Why, c.Steps)
			}
		})
	}
}

func TestPostgresScenariosOnDocker(t *testing.T) {
	t.Parallel()
	long(t)
	needDocker(t)
	for _, x := range []string{"postgres-restart postgres-session none", "postgres-failover postgres-table none", "pgbouncer-shared-backend pgbouncer none"} {
		t.Run(x, func(t *testing.T) {
			t.Parallel()
			w := strings.Fields(x)
			stdout, stderr, code := command(t, "scenario", "run", w[0], "--lock", w[1], "--fencing", w[2], "--runtime", "docker", "--out", filepath.Join(t.TempDir(), "run"))
			if code != 0 || !strings.Contains(stdout, "as expected") {
				t.Errorf("exit %d\n%s%s", code, stdout, stderr)
			}
		})
	}
}

// A lock that lasts as long as its connection outlives a pause and any clock; a lease in
// a table outlives neither, and a pooler takes all that a session is.
func TestPostgresExperiments(t *testing.T) {
	t.Parallel()
	need(t, "postgres", "pgbouncer")
	for _, x := range []experiment{
		{name: "session", args: "--lock postgres-session --faults pause:holder,clock:postgres --duration 12s", valid: []string{checker.Register, checker.Tokens}, confirmed: 1},
		{name: "session, server killed", args: "--lock postgres-session --faults kill:postgres:held --work-time 1s --ignore-lost --duration 15s", code: 1, anomaly: "stale-write", confirmed: 2},
		{name: "session, server killed, fenced", args: "--lock postgres-session --faults kill:postgres:held --work-time 1s --ignore-lost --fencing read-write --duration 15s", valid: []string{checker.Register}, rejected: true, confirmed: 2},
		{name: "table", args: "--lock postgres-table --faults clock:postgres:held --work-time 300ms --duration 12s", code: 1, anomaly: "granted-early", confirmed: 2},
		{name: "table, renewed", args: "--lock postgres-table --renew --faults pause:postgres --duration 10s", valid: []string{checker.Exclusion}, confirmed: 1},
		{name: "pooler", args: "--lock pgbouncer --duration 6s", code: 1, anomaly: "stale-write"},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			x.run(t, "local")
		})
	}
}
