package docker

import (
	"regexp"
	"testing"
)

// A replica takes over and has the old master follow it, and so the other way round.
func TestPromote(t *testing.T) {
	e := needEngine(t)
	c, remote := start(t, e, load(t, "redis-replica"))
	ctx := t.Context()
	for _, next := range []string{"redis2", "redis1"} {
		old, err := c.Leader(ctx)
		if err != nil || old == next || old == "" {
			t.Fatalf("leader %q, %v", old, err)
		}
		if err := c.Promote(ctx, next); err != nil {
			t.Fatal(err)
		}
		for node, want := range map[string]bool{next: true, old: false} {
			if leads, err := c.Leads(ctx, node); err != nil || leads != want {
				t.Errorf("%s promoted: %s leads: %v, %v", next, node, leads, err)
			}
		}
		n := nodeOf(t, c, next)
		tell(t, c, remote, old, "INFO replication", "master_host:"+regexp.QuoteMeta(n.Addr))
		// By their command lines both would follow redis1, or none.
		for _, crashed := range []string{next, old} {
			if err := c.Kill(ctx, crashed); err != nil {
				t.Fatal(err)
			}
			if err := c.Restart(ctx, crashed, false); err != nil {
				t.Fatal(err)
			}
			if leads, err := c.Leads(ctx, crashed); err != nil || leads != (crashed == next) {
				t.Errorf("%s promoted, crash of %s: it leads: %v, %v", next, crashed, leads, err)
			}
		}
	}
	title := load(t, "redis-replica").Servers()[0].Title()
	if v := c.Versions(ctx)[title]; !regexp.MustCompile(`^\d+\.\d+\.\d+ \S+ \(sha256:[0-9a-f]{12}\)$`).MatchString(v) {
		t.Errorf("version %q", v)
	}
	if err := c.Kill(ctx, "redis2"); err != nil {
		t.Fatal(err)
	}
	if err := c.Promote(ctx, "redis2"); err == nil {
		t.Error("promoted a server that is down")
	}
}
