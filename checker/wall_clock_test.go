package checker

import (
	"testing"
	"time"
)

// What a wall clock that was set can have brought about is not held against the lock. Whatever else breaks it is.
func TestWallClockIsSet(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		kind string
		by   time.Duration
		want int
	}{
		"50 ms are left":                      {"0.1-0.2 c1 acquire c1.1 since=0.1 lease=1\n0.3-1.05 c2 acquire c2.1 since=0.3 lease=1", "granted-early", 0, 1},
		"and it was set by less":              {"0.1-0.2 c1 acquire c1.1 since=0.1 lease=1\n0.3-1.05 c2 acquire c2.1 since=0.3 lease=1", "granted-early", 40 * time.Millisecond, 1},
		"and it was set by more":              {"0.1-0.2 c1 acquire c1.1 since=0.1 lease=1\n0.3-1.05 c2 acquire c2.1 since=0.3 lease=1", "granted-early", 60 * time.Millisecond, 0},
		"50 ms of a renewal are left":         {"0.1-0.2 c1 acquire c1.1 since=0.1 lease=1\n0.5-0.6 c1 renew c1.1 since=0.5 lease=1\n0.3-1.45 c2 acquire c2.1 since=0.3 lease=1", "granted-early", 40 * time.Millisecond, 1},
		"and it was set by more than those":   {"0.1-0.2 c1 acquire c1.1 since=0.1 lease=1\n0.5-0.6 c1 renew c1.1 since=0.5 lease=1\n0.3-1.45 c2 acquire c2.1 since=0.3 lease=1", "granted-early", 60 * time.Millisecond, 0},
		"a renewal is refused 50 ms early":    {"0.1-0.2 c1 acquire c1.1 since=0.1 lease=1\n0.5-0.6 c1 renew c1.1 since=0.5 lease=1\n1.44-1.45 c1 renew c1.1 not-held !gone", "revoked-early", 40 * time.Millisecond, 1},
		"and it was set by more than that":    {"0.1-0.2 c1 acquire c1.1 since=0.1 lease=1\n0.5-0.6 c1 renew c1.1 since=0.5 lease=1\n1.44-1.45 c1 renew c1.1 not-held !gone", "revoked-early", 60 * time.Millisecond, 0},
		"it is free for 5.3 s":                {"0.100-0.110 c1 acquire c1.1 lease=1\n0.700-0.710 c1 release c1.1 not-held !gone\n0.8-6.4 c2 acquire !timeout", "deadlock", 0, 1},
		"and its lease may have ended later":  {"0.100-0.110 c1 acquire c1.1 lease=1\n0.700-0.710 c1 release c1.1 not-held !gone\n0.8-6.4 c2 acquire !timeout", "deadlock", 500 * time.Millisecond, 0},
		"two hold it, and nothing excuses it": {"0.1-0.2 c1 acquire c1.1\n0.3-0.4 c2 acquire c2.1\n0.5-0.6 c1 release c1.1", "double-grant", time.Second, 1},
		"a lease shorter than it was set by":  {"0.1-0.2 c1 acquire c1.1 since=0.1 lease=1\n0.3-0.35 c2 acquire c2.1 since=0.3 lease=1", "granted-early", 2 * time.Second, 0},
	} {
		in := script(t, c.text)
		in.Options.WallSet = int64(c.by)
		n := 0
		for _, a := range Check(in).Anomalies {
			if a.Name == c.kind {
				n++
			}
		}
		if n != c.want {
			t.Errorf("%s: %d %s, want %d", name, n, c.kind, c.want)
		}
	}
}
