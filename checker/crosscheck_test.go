package checker

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/picklock/picklock/internal/format"
)

// TestArbitrate: a read that the log checks passed, bent afterwards so that
// Porcupine must refuse it, takes the register's verdict back. What is unknown
// anyway is not asked about.
func TestArbitrate(t *testing.T) {
	const history = `
0.10-0.11 c1 acquire c1.1 lease=1
0.12-0.13 c1 write c1.1 value=a @0.125
0.14-0.15 c1 read c1.1 value=a @0.145
0.16- c1 write c1.1 value=b @0.165
0.18-0.19 c1 read c1.1 value=b @0.185
0.20-0.21 c1 read c1.1 value=b @0.205
0.22-0.23 c1 release c1.1
0.24-0.25 c2 acquire c2.1 lease=1
0.26-0.27 c2 read c2.1 value=b @0.265
`
	for _, c := range []struct {
		name string
		read int // which effect is bent
		to   string
		want bool
	}{
		{"as it was", 1, "a", false},
		{"the value before the first write, after it", 1, "", true},
		{"the value before the last write, after it", 4, "a", true},
		{"a value that comes later", 1, "b", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			an := analysed(script(t, history))
			an.opt.SkipCrossCheck = true
			v := an.verdict(context.Background())
			if len(v.Anomalies) > 0 || v.Properties[Register].Valid != True {
				t.Fatalf("register %+v, %v", v.Properties[Register], v.Anomalies)
			}
			an.log.keys["k0"][c.read].op.value = c.to
			crossCheck(context.Background(), an, &v)
			p := v.Properties[Register]
			if got := p.Valid == Unknown && strings.Contains(p.Why, "the exact check says legal and Porcupine says illegal"); got != c.want {
				t.Errorf("%v: %s", p.Valid, p.Why)
			}
			p.Valid, p.Why = Unknown, "for another reason"
			v.Properties[Register] = p
			if crossCheck(context.Background(), an, &v); v.Properties[Register].Why != p.Why {
				t.Errorf("%s", v.Properties[Register].Why)
			}
		})
	}
	t.Run("a write that took effect twice", func(t *testing.T) {
		an := analysed(script(t, strings.Replace(history, "value=a @0.145", "value=a @0.145\n-0.151 c1 write c1.1 value=a @0.15", 1)))
		if got := logWindows(an.lockNamed("k0"), an.log.keys["k0"], an.register.contradicted[an.lockNamed("k0")]); len(got) > 0 {
			t.Errorf("no model of one operation allows it, and there are %d windows", len(got))
		}
	})
}

// TestSample: some windows with anomalies, others from all over, none twice.
func TestSample(t *testing.T) {
	for _, n := range []struct{ accused, others, wantAccused, want int }{
		{0, 10, 0, 10}, {3, 10, 3, 13}, {windowCount, 0, windowCount / 2, windowCount / 2},
		{windowCount, windowCount, windowCount / 2, windowCount}, {1, 3 * windowCount, 1, windowCount},
	} {
		var all []window
		for i := range n.others + n.accused {
			all = append(all, window{from: int64(i), accused: i >= n.others})
		}
		got := sample(all)
		accused, seen := 0, map[int64]bool{}
		for _, w := range got {
			seen[w.from] = true
			if w.accused {
				accused++
			}
		}
		if accused != n.wantAccused || len(got) != n.want || len(seen) != n.want {
			t.Errorf("of %d accused and %d others: %d and %d, %d different ones; want %d and %d in all", n.accused, n.others, accused, len(got)-accused, len(seen), n.wantAccused, n.want)
		}
		if n.wantAccused > 0 && !got[0].accused {
			t.Error("those with anomalies do not come first")
		}
	}
}

// TestFirstPart: without a log only the beginning of a key's history can be asked
// about, as far as fits into a window; one operation is no question.
func TestFirstPart(t *testing.T) {
	for _, c := range []struct {
		name string
		n    int
		ops  func(i int) *op
		want []indexRange
	}{
		{"one after the other", windowSize + 50, func(i int) *op { return &op{invT: int64(2 * i), endT: int64(2*i + 1), typ: tOK, f: fWrite} }, []indexRange{{0, windowSize}}},
		{"a few", 3, func(i int) *op { return &op{invT: int64(2 * i), endT: int64(2*i + 1), typ: tOK, f: fWrite} }, []indexRange{{0, 3}}},
		{"one", 1, func(i int) *op { return &op{invT: 1, endT: 2, typ: tOK, f: fWrite} }, nil},
		{"all at once", windowSize + 1, func(i int) *op { return &op{invT: int64(i), endT: 1000, typ: tOK, f: fWrite} }, nil},
		{"one may take effect at any time", 9, func(i int) *op {
			o := &op{invT: int64(2 * i), endT: int64(2*i + 1), typ: tOK, f: fRead}
			if i == 4 {
				o.f, o.typ = fWrite, tInfo
			}
			return o
		}, []indexRange{{0, 9}}},
	} {
		var ops []*op
		for i := range c.n {
			ops = append(ops, c.ops(i))
		}
		if got := slices.Collect(firstPart(ops, func(*op) bool { return true })); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// TestTookEffect: what the reads tell of writes whose outcome nobody learnt.
func TestTookEffect(t *testing.T) {
	ops := []*op{
		{f: fWrite, typ: tOK, value: "answered"},
		{f: fWrite, typ: tOK, value: "answered and read"},
		{f: fWrite, typ: tInfo, value: "read"},
		{f: fWrite, typ: tInfo, value: "not read"},
		{f: fWrite, typ: tFail, value: "refused"},
		{f: fWrite, typ: tFail, value: "refused and read"},
		{f: fAdd, typ: tInfo, value: "added and read"},
		{f: fWrite, typ: tInfo, value: "read by nobody who knows"},
		{f: fRead, typ: tOK, value: "read"},
		{f: fRead, typ: tOK, value: "answered and read"},
		{f: fRead, typ: tOK, value: "refused and read"},
		{f: fRead, typ: tOK, value: "added and read"},
		{f: fRead, typ: tInfo, value: "read by nobody who knows"},
	}
	took := tookEffect(ops)
	want := map[string]bool{"answered": true, "answered and read": true, "read": true, "added and read": true}
	for _, o := range ops {
		if o.f == fRead {
			continue
		}
		if took(o) != want[o.value] {
			t.Errorf("%s: %v", o.value, took(o))
		}
		wantEnd := o.endT
		if o.typ == tInfo && want[o.value] {
			wantEnd = never
		}
		if got := o.reach(took); got != wantEnd {
			t.Errorf("%s reaches to %d, want %d", o.value, got, wantEnd)
		}
	}
	for _, typ := range []outcome{tOK, tInfo, tFail} {
		r := &op{f: fRead, typ: typ, endT: 7}
		if got := r.reach(func(*op) bool { return true }); got != 7 {
			t.Errorf("a read of outcome %d reaches to %d", typ, got)
		}
	}
}

// TestRegisterWindowsWithoutLog: where the clients alone tell, Porcupine is asked
// about writes of unknown outcome as the exact check sees them.
func TestRegisterWindowsWithoutLog(t *testing.T) {
	for read, legal := range map[string]bool{"a": true, "b": true, "c": false} {
		an := analysed(script(t, fmt.Sprintf(`
0.10-0.11 c1 acquire c1.1
0.12-0.13 c1 write c1.1 value=a
0.14-     c1 write c1.1 value=b
0.15-0.16 c1 write c1.1 value=c !stale
0.18-0.19 c1 read c1.1 value=%s
`, read)))
		windows := registerWindows(an, nil)
		if len(windows) != 1 || len(windows[0].build().calls) < 2 || windows[0].build().exact != legal {
			t.Fatalf("%s: %d windows", read, len(windows))
		}
		q := windows[0].build()
		if why := disagreement(windows, farOff()); why != "" {
			t.Errorf("%s: %s", read, why)
		}
		q.exact = !q.exact
		if why := disagreement([]window{{build: func() porcupineCase { return q }}}, farOff()); why == "" {
			t.Errorf("%s: Porcupine takes either answer for right", read)
		}
	}
}

// TestLogWindows: all of a long log is asked about, also behind an operation that
// was never answered; a window begins with the first request of what is in it.
func TestLogWindows(t *testing.T) {
	var text strings.Builder
	text.WriteString("0.100-0.110 c1 acquire c1.1\n0.115-0.120 c2 acquire c2.1\n0.1500-0.1510 c1 write c1.1 value=early @0.1505\n0.1450- c2 write c2.1 value=unknown @0.1515\n")
	const n = 3 * windowSize
	for i := range n {
		fmt.Fprintf(&text, "%.4f-%.4f c1 write c1.1 value=v%d @%.4f\n", 0.2+0.01*float64(i), 0.205+0.01*float64(i), i, 0.202+0.01*float64(i))
	}
	an := analysed(script(t, text.String()))
	windows := logWindows(an.lockNamed("k0"), an.log.keys["k0"], an.register.contradicted[an.lockNamed("k0")])
	calls := 0
	for _, w := range windows {
		calls += len(w.build().calls)
	}
	if calls != n+2 {
		t.Errorf("%d of %d operations are in %d windows", calls, n+2, len(windows))
	}
	if windows[0].from != 145e6 {
		t.Errorf("the first window begins at %s", format.Instant(windows[0].from))
	}
	if why := disagreement(windows, farOff()); why != "" {
		t.Error(why)
	}
}
