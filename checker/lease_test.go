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
			r := renew{ok: at}
			if e.Lease > 0 {
				r.until = e.Since + e.Lease
				r.held = e.Since
			}
			if announced {
				r.held = inv.Time
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
		g := newIndex(Input{Events: ev}).grants["c1.1"]
		for now := int64(0); now < 60; now++ {
			want := now < released || (a.Lease > 0 && now < a.Since+a.Lease)
			for _, r := range renews {
				want = want || now < r.held || (r.ok <= now && now < r.until)
			}
			want = want && now >= okT && now < cut
			if got := g.aliveAt(now); got != want {
				t.Fatalf("alive at %d: %v, want %v\n%s", now, got, want, dump(world{in: Input{Events: ev}}))
			}
		}
	})
}
