package checker

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestLatestOk compares the answer with looking at all grants.
func TestLatestOk(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var grants []*grant
		for i := range rapid.IntRange(0, 6).Draw(t, "grants") {
			lo := rapid.Int64Range(0, 9).Draw(t, "lo")
			grants = append(grants, &grant{id: fmt.Sprint(i), lo: lo, okT: lo + rapid.Int64Range(0, 9).Draw(t, "takes")})
		}
		w := candidatesOf(grants)
		for at := int64(0); at < 10; at++ {
			for _, not := range append([]*grant{nil}, grants...) {
				want := int64(-1)
				for _, g := range grants {
					if g != not && g.lo <= at {
						want = max(want, g.okT)
					}
				}
				got := int64(-1)
				if g := w.latestOk(at, not); g != nil {
					got = g.okT
					if g == not {
						t.Fatal("the one that is left out is named")
					}
				}
				if got != want {
					t.Fatalf("at %d: ok at %d, want %d", at, got, want)
				}
			}
		}
	})
}

// TestGroup: parts are cut where nothing reaches over, and windows are whole parts,
// as many as fit, none of them too large.
func TestGroup(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var list []interval
		at := int64(0)
		for range rapid.IntRange(0, 400).Draw(t, "elements") {
			at += rapid.Int64Range(0, 3).Draw(t, "later")
			list = append(list, interval{at, at + rapid.Int64Range(0, 4).Draw(t, "long")})
		}
		if rapid.Bool().Draw(t, "one part") && len(list) > 0 {
			list[0].to = at + 10
		}
		begin, end := func(s interval) int64 { return s.from }, func(s interval) int64 { return s.to }
		parts := slices.Collect(partition(list, begin, end))
		next := 0
		for _, p := range parts {
			if p.from != next || p.to <= p.from {
				t.Fatalf("part %v after %d", p, next)
			}
			next = p.to
			for i := p.from; i < p.to; i++ {
				until := int64(-1)
				for _, s := range list[:i] {
					until = max(until, s.to)
				}
				if cut := i > 0 && list[i].from > until; cut != (i == p.from && i > 0) {
					t.Fatalf("cut before %d: %v, part %v", i, cut, p)
				}
			}
		}
		if next != len(list) {
			t.Fatalf("parts end at %d of %d", next, len(list))
		}
		windows := group(slices.Values(parts))
		for i, w := range windows {
			if n := w.to - w.from; n > windowSize || n < 2 {
				t.Fatalf("a window of %d", n)
			}
			if !slices.ContainsFunc(parts, func(p indexRange) bool { return p.from == w.from }) || !slices.ContainsFunc(parts, func(p indexRange) bool { return p.to == w.to }) {
				t.Fatalf("window %v cuts through a part", w)
			}
			if i > 0 && windows[i-1].to > w.from {
				t.Fatalf("windows %v and %v", windows[i-1], w)
			}
		}
		for i, p := range parts {
			w := slices.IndexFunc(windows, func(w indexRange) bool { return w.from <= p.from && p.to <= w.to })
			if n := p.to - p.from; (w >= 0) != (n <= windowSize) && n > 1 {
				t.Fatalf("part %v is in window %d", p, w)
			}
			if w >= 0 && i+1 < len(parts) && p.to == windows[w].to && parts[i+1].to-windows[w].from <= windowSize {
				t.Fatalf("window %v has room for part %v", windows[w], parts[i+1])
			}
			if w < 0 && p.to-p.from == 1 && i+1 < len(parts) && parts[i+1].to-p.from <= windowSize {
				t.Fatalf("part %v is left alone before %v", p, parts[i+1])
			}
		}
	})
}

// TestSizesOfGrantedEarly: the sizes that the explanation speaks of are all there.
func TestSizesOfGrantedEarly(t *testing.T) {
	v := Check(script(t, "0.1-0.2 c1 acquire c1.1 lease=1\n0.3-0.4 c2 acquire c2.1 lease=1\n"))
	early := named(v, "granted-early")
	if len(early) != 1 {
		t.Fatalf("found %v", found(v))
	}
	if s := early[0].Sizes; s["lease"] != 1e9 || s["remaining"] != 700e6 || s["overlap"] != 700e6 {
		t.Errorf("sizes %v", s)
	}
}
