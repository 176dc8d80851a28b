package checker

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/picklock/picklock/history"
)

// TestAlive compares the intervals with the rules, instant by instant.
func TestAlive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var ev []history.Event
		base := history.Event{Process: "c1", Key: "k", Grant: "c1.1", Type: history.OK}
		okT := rapid.Int64Range(2, 5).Draw(t, "ok")
		type renew struct {
			ok, until, held int64
			since, lease    int64 // when it was sent at the earliest, and for how long it is; 0 if it does not say
			sent, inForce   int64 // when it was announced, 0 if not; and until when it says that the lease had been in force
		}
		var renews []renew
		a := base
		a.F, a.Time, a.Since, a.Lease = history.Acquire, okT, okT-rapid.Int64Range(0, 2).Draw(t, "since"), rapid.Int64Range(0, 8).Draw(t, "lease")
		ev = append(ev, a)
		at := okT
		for range rapid.IntRange(0, 4).Draw(t, "renewals") {
			at += 1 + rapid.Int64Range(0, 6).Draw(t, "wait")
			inv := base
			inv.F, inv.Type, inv.Time = history.Renew, history.Invoke, at
			announced := rapid.Bool().Draw(t, "announced")
			if announced {
				ev = append(ev, inv)
			}
			at += 1 + rapid.Int64Range(0, 6).Draw(t, "takes")
			e := base
			e.F, e.Time, e.Held = history.Renew, at, rapid.Bool().Draw(t, "held")
			e.Lease = rapid.Int64Range(0, 8).Draw(t, "lease")
			if e.Lease > 0 {
				e.Since = inv.Time + rapid.Int64Range(0, at-inv.Time).Draw(t, "sent")
			}
			if rapid.IntRange(0, 4).Draw(t, "fails") == 0 {
				e.Type = history.Fail
			}
			ev = append(ev, e)
			if e.Type != history.OK {
				continue
			}
			r := renew{ok: at, lease: e.Lease}
			if e.Lease > 0 {
				r.until = e.Since + e.Lease
				r.held, r.since = e.Since, e.Since
			}
			if announced {
				r.since = max(r.since, inv.Time)
				r.held, r.sent = inv.Time, inv.Time
			}
			if e.Held {
				r.inForce = r.held
			}
			if !e.Held {
				r.held = 0
			} else {
				r.held = max(r.held, r.until)
			}
			renews = append(renews, r)
		}
		cut, released := never, int64(0)
		if rapid.Bool().Draw(t, "releases") {
			at += 1 + rapid.Int64Range(0, 4).Draw(t, "hold")
			cut = at
			r := base
			r.F, r.Type, r.Time = history.Release, history.Invoke, at
			ev = append(ev, r)
			r.Type, r.Time, r.Held = history.OK, at+1, rapid.Bool().Draw(t, "confirmed")
			ev = append(ev, r)
			if r.Held {
				released = at
			}
		}
		if rapid.IntRange(0, 3).Draw(t, "lost") == 0 {
			l := base
			l.F, l.Type, l.Time = history.Lost, history.Info, rapid.Int64Range(okT, okT+20).Draw(t, "when")
			ev = append(ev, l)
			cut = min(cut, l.Time)
		}
		history.Sort(ev)
		g := analysed(Input{Events: ev}).ids.find("c1.1", nil)
		// left says that a renewal had left the lease less than it had, that none that says when it was sent came after it by then, and that the lock did not
		// say later that the lease had gone on.
		left := func(i int, now int64) bool {
			r, furthest, answered := renews[i], a.Since+a.Lease, okT
			for _, b := range renews[:i] {
				if b.until > furthest {
					furthest, answered = b.until, b.ok
				}
			}
			over := r.until > 0 && r.sent >= answered && r.until < furthest && released <= max(r.until, r.ok) && now >= max(r.until, r.sent)
			for _, n := range renews[i+1:] {
				over = over && n.inForce <= max(r.until, r.ok) && (n.since == 0 || now < n.ok)
			}
			return over
		}
		// unsaid says that a renewal that does not say for how long it is was for the shortest lease of the others at the earliest, and may have left none: none
		// of the others was carried out after it for certain, and the lock did not say later that the lease had gone on.
		least, longest, lastWord := never, a.Lease, released
		for _, r := range renews {
			if r.lease > 0 {
				least, longest = min(least, r.lease), max(longest, r.lease)
			}
			lastWord = max(lastWord, r.inForce)
		}
		unsaid := func(r renew, now int64) bool {
			over := r.lease == 0 && r.sent > 0 && least < longest && now >= max(r.sent+least, lastWord)
			for _, n := range renews {
				if n.lease > 0 && n.since >= r.sent && n.ok <= now {
					over = over && n.since < r.ok && now >= n.since+least
				}
			}
			return over
		}
		for now := int64(0); now < 60; now++ {
			want := now < released || (a.Lease > 0 && now < a.Since+a.Lease)
			for _, r := range renews {
				want = want || now < r.held || (r.ok <= now && now < r.until)
			}
			for i := range renews {
				want = want && !left(i, now) && !unsaid(renews[i], now)
			}
			want = want && now >= okT && now < cut
			if got := g.aliveAt(now); got != want {
				t.Fatalf("alive at %d: %v, want %v\n%s", now, got, want, dump(world{in: Input{Events: ev}}))
			}
		}
	})
}

// TestLeaseLeft: a lease has left what had been promised by then, not what later
// renewals added to it, and a release does not make the promise smaller.
func TestLeaseLeft(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       int64 // ms, at 0.5 s
	}{
		{"as it was given", "0.1-0.2 c1 acquire c1.1 lease=1", 600},
		{"released later", "0.1-0.2 c1 acquire c1.1 lease=1\n0.6-0.7 c1 release c1.1", 600},
		{"renewed before", "0.1-0.2 c1 acquire c1.1 lease=1\n0.3-0.4 c1 renew c1.1 lease=1.5", 1300},
		{"renewed just then", "0.1-0.2 c1 acquire c1.1 lease=1\n0.3-0.5 c1 renew c1.1 lease=1.5", 1300},
		{"renewed before, released later", "0.1-0.2 c1 acquire c1.1 lease=1\n0.3-0.4 c1 renew c1.1 lease=1.5\n0.6-0.7 c1 release c1.1", 1300},
		{"renewed later", "0.1-0.2 c1 acquire c1.1 lease=1\n0.6-0.7 c1 renew c1.1 lease=1.5", 600},
		{"renewed later, and held until then", "0.1-0.2 c1 acquire c1.1 lease=1\n0.6-0.7 c1 renew c1.1 lease=1.5 held", 600},
		{"over, and held all the same", "0.1-0.2 c1 acquire c1.1 lease=0.2\n0.6-0.7 c1 renew c1.1 lease=1.5 held", 1600},
		{"no lease", "0.1-0.2 c1 acquire c1.1\n0.6-0.7 c1 renew c1.1 held", 100},
		{"no lease, held until released", "0.1-0.2 c1 acquire c1.1\n0.9-1 c1 release c1.1 held", 400},
		{"nothing known", "0.1-0.2 c1 acquire c1.1\n0.9-1 c1 release c1.1", 0},
	} {
		if got := analysed(script(t, c.text)).lockNamed("k0").grants[0].leaseLeft(500e6); got != c.want*1e6 {
			t.Errorf("%s: %d ms, want %d", c.name, got/1e6, c.want)
		}
	}
}
