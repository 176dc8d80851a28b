package results

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/history"
)

func render(t *testing.T, s sample) string {
	t.Helper()
	var b bytes.Buffer
	if err := Report(&b, s.run, s.verdict, s.events, s.effects); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

var dataElement = regexp.MustCompile(`(?s)<script type="application/json" id="data">(.*?)</script>`)

func embedded(t *testing.T, page string) data {
	t.Helper()
	m := dataElement.FindAllStringSubmatch(page, -1)
	if len(m) != 1 {
		t.Fatalf("%d data elements, want 1", len(m))
	}
	var d data
	if err := json.Unmarshal([]byte(m[0][1]), &d); err != nil {
		t.Fatalf("embedded data: %v", err)
	}
	return d
}

func TestReportAnswersInOrder(t *testing.T) {
	page := render(t, redisPaused(8))
	at := 0
	for _, want := range []string{
		"The redis lock broke under pause of the holder.",
		"c1&#39;s write was accepted at 2.688 s, 410 ms after c3 was granted the lock",
		"stale-write</span> × 8", "the lease ended while its holder was stopped", "only fencing at the resource helps", docs + "fencing.md",
		"two-holders</span> × 8", "not required",
		"When", `<svg class="picture"`, "stale-write at 2.688 s",
		"Which properties hold", "not kept × 8", "broken × 8",
		"What broke, and how", "is granted c1.3", "pause of c1 begins, lasts 1.39 s", "carries out the write of “c1.3.1” by c1",
		"Numbers", "2.65 leases",
		"Run it again", "picklock run --lock redis --faults pause:holder --fencing none --clients 5 --ttl 1s --time-limit 30s --seed 7",
		"Settings, versions, nodes", "7.0.15",
	} {
		i := strings.Index(page[at:], want)
		if i < 0 {
			t.Fatalf("%q is missing, or not after what should precede it", want)
		}
		at += i
	}
	for _, bad := range []string{"http://", "https://", "url(http", "<link", "src="} {
		if i := strings.Index(strings.NewReplacer("http://www.w3.org/2000/svg", "", `<a href="`+docs, "").Replace(page), bad); i >= 0 {
			t.Errorf("the report refers to something outside of itself: %q", bad)
		}
	}
}

func TestReportHeld(t *testing.T) {
	page := render(t, etcdValid(120))
	for _, want := range []string{
		"The etcd lock held under pause, kill, partition and clock.",
		"The register refused 3 operations: the harm was tried, and did not get through.",
		"stale token 21 &lt; 22", "not required",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is missing", want)
		}
	}
}

func TestReportUnknownSaysWhatWasMissing(t *testing.T) {
	for _, c := range []struct {
		name string
		run  Run
		v    checker.Verdict
		want []string
	}{
		{"the checker's reason", Run{Lock: "etcd", Faults: []string{"clock"}}, checker.Verdict{Why: "clock never landed"},
			[]string{"Unknown: nothing is proved about the etcd lock under clock.", "<li>clock never landed</li>"}},
		{"a property's reason", Run{Lock: "etcd"}, checker.Verdict{Properties: map[string]checker.Property{checker.Register: {Required: true, Why: "porcupine gave up"}}},
			[]string{"<li>register: porcupine gave up</li>"}},
		{"counts alone", Run{Lock: "etcd", Faults: []string{"pause:holder"}}, checker.Verdict{Stats: checker.Stats{Events: 9, Grants: 2}},
			[]string{"No grant was contested", "The fault pause never landed"}},
		{"no events", Run{}, checker.Verdict{}, []string{"The history is empty", "There is no timeline", "not checked"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			page := render(t, sample{run: c.run, verdict: c.v})
			for _, want := range append(c.want, "What was missing") {
				if !strings.Contains(page, want) {
					t.Errorf("%q is missing", want)
				}
			}
		})
	}
}

func TestReportOddHistories(t *testing.T) {
	long := strings.Repeat("n", 100_000)
	ok := history.Event{Index: 0, Time: 5, Process: "c1", Type: history.OK, F: history.Acquire, Key: "k", Grant: "c1.1"}
	for name, s := range map[string]sample{
		"one event":        {events: []history.Event{ok}},
		"one late event":   {events: []history.Event{{Time: math.MaxInt64, Process: "c1", Type: history.Info, F: history.Lost}}},
		"no effects":       func() sample { s := redisPaused(1); s.effects = nil; return s }(),
		"only a fault":     {events: []history.Event{{Time: 7, Process: history.Nemesis, Type: history.Info, F: "pause", Phase: history.Begin, Landed: true}}},
		"an end alone":     {events: []history.Event{{Time: 7, Process: history.Nemesis, Type: history.Info, F: "pause", Phase: history.End}, {Time: 9, Process: "c1", Type: history.OK, F: history.Release}}},
		"no lock, no keys": {events: []history.Event{{Time: 1, Process: "c1", Type: history.OK, F: history.Write}, {Time: 2, Process: "c1", Type: history.Fail, F: history.Write}}},
		"ages": {events: []history.Event{ok, {Index: 1, Time: math.MaxInt64, Process: "c2", Type: history.OK, F: history.Acquire, Grant: "c2.1", Since: math.MaxInt64, Lease: math.MaxInt64}},
			verdict: checker.Verdict{Valid: checker.False, Anomalies: []checker.Anomaly{{Name: "granted-early", Time: math.MinInt64, Events: []int64{0, 1, 77}, Effects: []int64{9}, Sizes: map[string]int64{"x": math.MinInt64}}}}},
		"long names": {run: Run{Lock: long, Faults: []string{long}, Nodes: []Node{{Name: long, Role: long, Addr: long}}},
			events:  []history.Event{{Time: 1, Process: long, Type: history.OK, F: long, Key: long}, {Time: 2, Process: long, Type: history.OK, F: history.Acquire, Grant: long, Key: long}},
			verdict: checker.Verdict{Why: long, Anomalies: []checker.Anomaly{{Name: long, Explanation: long, Processes: []string{long}, Events: []int64{0}}}}},
	} {
		t.Run(name, func(t *testing.T) {
			for i := range s.events {
				s.events[i].Index = int64(i)
			}
			page := render(t, s)
			d := embedded(t, page)
			if d.Span[1] < d.Span[0] || d.Span[1] > maxTime {
				t.Errorf("span %v", d.Span)
			}
			for _, bad := range []string{"NaN", "Inf"} {
				if strings.Contains(strings.ReplaceAll(page, reportJS, ""), bad) {
					t.Errorf("%s in the report", bad)
				}
			}
			if name == "ages" && *d.Holds[1].Lease != maxTime {
				t.Errorf("a lease without end ends at %v", *d.Holds[1].Lease)
			}
			if name == "ages" && (!strings.Contains(page, "event 77") || !strings.Contains(page, "is not in register.jsonl")) {
				t.Error("missing evidence is not named")
			}
			if len(page) > 400_000 {
				t.Errorf("%d bytes for a handful of events", len(page))
			}
		})
	}
}

const hostile = "</script></style></title><img onerror=alert(1) src=x><!--\x1b[31m\u202e'\"`"

// hostileSample has the worst string in every field that a history, a lock or a
// verdict can fill.
func hostileSample() sample {
	s := redisPaused(1)
	h := func(n int) string { return fmt.Sprint(hostile, n) }
	for i := range s.events {
		e := &s.events[i]
		e.Key, e.Value, e.Error, e.Detail = h(1), h(2), h(3), h(4)
		if e.Grant != "" {
			e.Grant += h(5)
		}
		if e.Process != history.Nemesis {
			e.Process += h(6)
		}
		for j := range e.Nodes {
			e.Nodes[j] += h(6)
		}
		if e.Process == history.Nemesis {
			e.F += h(7)
		}
	}
	for i := range s.effects {
		e := &s.effects[i]
		e.Process, e.Key, e.Value, e.Grant, e.Error, e.Parent = e.Process+h(6), h(1), h(2), e.Grant+h(5), h(8), h(9)
	}
	r := &s.run
	r.Lock, r.About, r.Cluster, r.Runtime, r.Workload, r.Fencing = h(10), h(11), h(12), h(13), h(14), h(15)
	r.Faults, r.Command, r.Require = []string{h(7) + ":" + h(7)}, []string{"run", h(16)}, []string{h(17)}
	r.Versions = map[string]string{h(18): h(19)}
	r.Machine = Machine{h(20), h(21), h(22), 1}
	for i := range r.Nodes {
		n := &r.Nodes[i]
		n.Addr = h(23)
		if n.Role == roleClient {
			n.Name += h(6)
		} else {
			n.Name, n.Role = n.Name+h(24), n.Role+h(25)
		}
	}
	v := &s.verdict
	v.Why = h(26)
	v.Properties[h(27)] = checker.Property{Valid: checker.False, Why: h(28)}
	for i := range v.Anomalies {
		a := &v.Anomalies[i]
		a.Name, a.Key, a.Cause, a.Explanation, a.Faults = h(29), h(30), h(31), h(32), []string{h(7), "pause" + h(7)}
		for j := range a.Processes {
			a.Processes[j] += h(6)
		}
		for j := range a.Grants {
			a.Grants[j] += h(5)
		}
		a.Sizes = map[string]int64{h(33): 5}
	}
	v.Stats.Faults = map[string]checker.FaultCount{h(7): {Injected: 1}}
	return s
}

func TestReportHostileStrings(t *testing.T) {
	s := hostileSample()
	for _, valid := range []checker.Validity{checker.True, checker.False, checker.Unknown} {
		s.verdict.Valid = valid
		page := render(t, s)
		for _, bad := range []string{"<img", "</script></style>", "\x1b", "\u202e"} {
			if strings.Contains(page, bad) {
				i := strings.Index(page, bad)
				t.Errorf("%v: %q reached the page: %q", valid, bad, page[max(0, i-80):min(len(page), i+80)])
			}
		}
		if n := strings.Count(page, "</script"); n != 2 {
			t.Errorf("%d script ends, want 2", n)
		}
		if n := strings.Count(page, "</style"); n != 1 {
			t.Errorf("%d style ends, want 1", n)
		}
		if strings.Contains(page, "ZgotmplZ") {
			t.Error("the template refused a value")
		}
		// Escaped, not dropped.
		if !strings.Contains(page, "&lt;img onerror") {
			t.Error("the strings are not shown at all")
		}
		if d := embedded(t, page); !strings.Contains(d.Lanes[0].Name, "</script></style></title><img onerror=alert(1) src=x><!--") {
			t.Errorf("lane name did not survive: %q", d.Lanes[0].Name)
		}
	}
}

func TestEmbeddedDataRoundTrips(t *testing.T) {
	s := redisPaused(2)
	d := embedded(t, render(t, s))
	tl := newTimeline(s.run, s.events, s.effects)
	if len(d.Holds) != len(tl.Holds) || len(d.Waits) != len(tl.Waits) || len(d.Marks) != len(tl.Marks) || len(d.Bands) != 2 {
		t.Fatalf("holds %d of %d, waits %d of %d, marks %d of %d, bands %d", len(d.Holds), len(tl.Holds), len(d.Waits), len(tl.Waits), len(d.Marks), len(tl.Marks), len(d.Bands))
	}
	for i, h := range tl.Holds {
		got := d.Holds[i]
		if got.Lane != h.Lane || got.From != h.From/1000 || got.To != h.To/1000 || *got.Lease != h.Lease/1000 || got.Grant != h.Grant || got.Ended != h.Ended {
			t.Fatalf("hold %d: %+v is not %+v", i, got, h)
		}
	}
	if len(d.Anomalies) != 4 {
		t.Fatalf("%d anomalies, want 4", len(d.Anomalies))
	}
	a := d.Anomalies[0]
	if a.Name != "stale-write" || len(a.Holds) != 2 || len(a.Proof) != 6 {
		t.Errorf("first anomaly: %+v", a)
	}
	for _, h := range a.Holds {
		if g := d.Holds[h].Grant; g != s.verdict.Anomalies[1].Grants[0] && g != s.verdict.Anomalies[1].Grants[1] {
			t.Errorf("the anomaly points at hold %v", g)
		}
	}
	if a.View[0] > a.Chain[0]-1_900_000 && a.View[0] > d.Span[0] || a.View[1] < a.Chain[1]+1_900_000 {
		t.Errorf("the view %v lacks two leases around the chain %v", a.View, a.Chain)
	}
}

func TestTimelineShapes(t *testing.T) {
	ev := func(at int64, p string, typ history.Type, f string) history.Event {
		return history.Event{Time: at, Process: p, Type: typ, F: f, Key: "k", Grant: p + ".1"}
	}
	grant := ev(20, "c1", history.OK, history.Acquire)
	grant.Since, grant.Lease = 15, 100
	renewed := ev(60, "c1", history.OK, history.Renew)
	renewed.Since, renewed.Lease = 55, 100
	kill := history.Event{Time: 70, Process: history.Nemesis, Type: history.Info, F: "kill", Nodes: []string{"c1"}, Phase: history.Begin, Landed: true}
	missed := kill
	missed.Landed = false
	for _, c := range []struct {
		name      string
		last      history.Event
		to, lease int64
		ended     endKind
		kind      markKind
	}{
		{"released", ev(80, "c1", history.Invoke, history.Release), 80, 155, heldReleased, ""},
		{"lost", ev(80, "c1", history.Info, history.Lost), 80, 155, heldLost, markLost},
		{"killed", kill, 70, 155, heldKilled, ""},
		{"a kill that missed", missed, 90, 155, heldOpen, ""},
		{"never ended", ev(80, "c2", history.Invoke, history.Acquire), 90, 155, heldOpen, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			tl := newTimeline(Run{}, []history.Event{ev(10, "c1", history.Invoke, history.Acquire), grant, renewed, c.last, ev(90, "c3", history.Invoke, history.Acquire)}, nil)
			if len(tl.Holds) != 1 {
				t.Fatalf("%d holds", len(tl.Holds))
			}
			h := tl.Holds[0]
			if h.From != 20 || h.To != c.to || h.Since != 15 || h.Lease != c.lease || h.Ended != c.ended {
				t.Errorf("%+v", h)
			}
			if w := tl.Waits[0]; w.From != 10 || w.To != 20 || w.Hold != 0 {
				t.Errorf("wait %+v", w)
			}
			if c.kind != "" && (len(tl.Marks) != 1 || tl.Marks[0].Kind != c.kind) {
				t.Errorf("marks %+v", tl.Marks)
			}
		})
	}
}

func TestTimelineTellsRefusalFromFailure(t *testing.T) {
	w := func(i int64, p string, typ history.Type) history.Event {
		return history.Event{Index: i, Time: i, Process: p, Type: typ, F: history.Write, Key: "k", Grant: p + ".1", Value: p}
	}
	events := []history.Event{w(0, "c1", history.Invoke), w(1, "c1", history.Fail), w(2, "c2", history.Invoke), w(3, "c2", history.Fail), w(4, "c3", history.Invoke), w(5, "c3", history.Info), w(6, "c4", history.Invoke)}
	effects := []history.Effect{{Seq: 1, Time: 1, Process: "c1", F: history.Write, Key: "k", Grant: "c1.1", Value: "c1", Error: "stale"}}
	var kinds []markKind
	for _, m := range newTimeline(Run{}, events, effects).Marks {
		kinds = append(kinds, m.Kind)
	}
	if want := []markKind{markRejected, markFailed, markUnknown, markUnknown, markRefused}; fmt.Sprint(kinds) != fmt.Sprint(want) {
		t.Errorf("kinds %v, want %v", kinds, want)
	}
}

func TestFaultBands(t *testing.T) {
	f := func(at int64, name, phase string, nodes ...string) history.Event {
		return history.Event{Time: at, Process: history.Nemesis, Type: history.Info, F: name, Phase: phase, Nodes: nodes, Landed: true}
	}
	tl := newTimeline(Run{}, []history.Event{
		f(1, "pause", history.Begin, "a"), f(2, "pause", history.Begin, "b"), f(3, "clock", history.Begin, "a"),
		f(4, "pause", history.End, "a"), f(5, "clock", history.End), f(6, "partition", history.Begin), f(9, "pause", history.End, "c"),
	}, nil)
	var got []string
	for _, b := range tl.Bands {
		got = append(got, fmt.Sprintf("%s %d-%d %v %v", b.Name, b.From, b.To, b.Lanes, b.Healed))
	}
	want := []string{"pause 1-4 [0] true", "pause 2-9 [1] false", "clock 3-5 [0] true", "partition 6-9 [] false"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestReportOfManyEventsStaysSmall(t *testing.T) {
	s := redisPaused(900)
	if len(s.events) < 100_000 {
		t.Fatalf("%d events", len(s.events))
	}
	began := time.Now()
	page := render(t, s)
	took := time.Since(began)
	t.Logf("%d events, %d anomalies: %d kB in %v", len(s.events), len(s.verdict.Anomalies), len(page)/1024, took)
	if len(page) > 3<<20 {
		t.Errorf("%d bytes", len(page))
	}
	if took > 15*time.Second {
		t.Errorf("took %v", took)
	}
	d := embedded(t, page)
	if n := len(d.Holds) + len(d.Waits) + len(d.Marks); n > maxShapes*5/4 || n < maxShapes/4 {
		t.Errorf("%d shapes embedded", n)
	}
	if !strings.Contains(page, "To keep this file small the timeline leaves out") || !strings.Contains(page, "And 1750 more") {
		t.Error("the report does not say what it leaves out")
	}
	if len(d.Times) != 1800 {
		t.Errorf("%d anomalies on the overview, want all", len(d.Times))
	}
	grants := 0
	for _, n := range d.Density {
		grants += n
	}
	if grants != s.verdict.Stats.Grants {
		t.Errorf("%d of %d grants on the overview", grants, s.verdict.Stats.Grants)
	}
	names := map[string]bool{}
	for _, a := range d.Anomalies {
		names[a.Name] = true
		for _, h := range a.Holds {
			if h < 0 {
				t.Error("a shown anomaly lacks its holds")
			}
		}
	}
	if len(d.Anomalies) != maxProved || !names["two-holders"] {
		t.Errorf("%d anomalies of %v", len(d.Anomalies), names)
	}
	// One anomaly as long as the run, which no window can hold in full.
	one := s
	one.verdict.Anomalies = []checker.Anomaly{{Name: "stale-write", Property: checker.Register, Time: s.events[len(s.events)-1].Time,
		Events: []int64{0, s.events[len(s.events)-1].Index}, Grants: s.verdict.Anomalies[901].Grants}}
	if e := embedded(t, render(t, one)); len(e.Anomalies[0].Holds) != 2 || min(e.Anomalies[0].Holds[0], e.Anomalies[0].Holds[1]) < 0 {
		t.Errorf("a long anomaly lacks its holds: %v", e.Anomalies[0].Holds)
	}
	// Complete around the first anomaly.
	tl := newTimeline(s.run, s.events, s.effects)
	want, got := 0, 0
	for _, h := range tl.Holds {
		if h.From/1000 >= d.Anomalies[0].View[0] && h.To/1000 <= d.Anomalies[0].View[1] {
			want++
		}
	}
	for _, h := range d.Holds {
		if h.From >= d.Anomalies[0].View[0] && h.To <= d.Anomalies[0].View[1] {
			got++
		}
	}
	if got != want || want == 0 {
		t.Errorf("%d of %d holds around the first anomaly", got, want)
	}
}

func TestFormats(t *testing.T) {
	for got, want := range map[string]string{
		instant(4812000000): "4.812 s", span(1300 * ms): "1.3 s", span(410 * ms): "410 ms", span(1234567): "1.23 ms", span(999): "999 ns", span(0): "0 ns",
		span(-5 * ms): "−5 ms", span(150e9): "150 s", span(3600e9): "60 min", span(math.MinInt64): "−2562047.8 h",
		relative(1412*ms, 500_000): "+1.4120 s", relative(-ms, 1e9): "−0.001 s", relative(1500, 500): "+0.000002 s",
		number(1234): "1234", number(1234567): "1\u202f234\u202f567", number(-12345): "-12\u202f345",
		and([]string{"a", "b", "c"}): "a, b and c", quoteShell("it's"): `'it'\''s'`, quoteShell("pause:holder,clock"): "pause:holder,clock", quoteShell(""): "''",
		clip("abcdef", 3): "ab…", clean("a\x00\u202eb\n"): "a\uFFFD\uFFFDb\uFFFD",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestCommand(t *testing.T) {
	for _, c := range []struct {
		run  Run
		want string
	}{
		{Run{Command: []string{"run", "--lock", "exec:python3 my lock.py"}, Seed: 3}, "picklock run --lock 'exec:python3 my lock.py' --seed 3"},
		{Run{Command: []string{"/usr/bin/picklock", "run", "--seed=9"}, Seed: 9}, "picklock run --seed=9"},
		{Run{Lock: "redis", Faults: []string{"pause", "kill"}, TTL: time.Second, Seed: 1}, "picklock run --lock redis --faults pause,kill --ttl 1s --seed 1"},
	} {
		if got := Command(c.run); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

// The samples are histories that the checker judges as they claim, so what is
// looked at here is what a run looks like.
func TestSamplesAreWhatTheyClaim(t *testing.T) {
	for _, s := range []sample{redisPaused(3), etcdValid(120)} {
		var names []string
		for _, f := range s.run.Faults {
			name, _, _ := strings.Cut(f, ":")
			names = append(names, name)
		}
		v := checker.Check(checker.Input{Events: s.events, Effects: s.effects, Options: checker.Options{Faults: names, Fencing: s.run.Fencing}})
		if v.Valid != s.verdict.Valid {
			t.Errorf("%s: the checker says %v: %s", s.run.Lock, v.Valid, v.Why)
		}
		// And its verdict, not only the sample's, makes a report in which every
		// proof is found in the history.
		page := render(t, sample{s.run, s.events, s.effects, v})
		if strings.Contains(page, "is not in history.jsonl") || strings.Contains(page, "is not in register.jsonl") {
			t.Errorf("%s: a proof points outside of the history", s.run.Lock)
		}
	}
}

// No list that the report's script goes through is ever null, however little a run
// has.
func TestEmbeddedListsAreNeverNull(t *testing.T) {
	noProof := checker.Anomaly{Name: "deadlock", Property: checker.Liveness, Explanation: "nobody comes"}
	for name, s := range map[string]sample{
		"nothing":     {},
		"an anomaly":  {verdict: checker.Verdict{Valid: checker.False, Anomalies: []checker.Anomaly{noProof}}},
		"only a wait": {events: []history.Event{{Time: 1, Process: "c1", Type: history.Invoke, F: history.Acquire}, {Index: 1, Time: 9, Process: "c2", Type: history.Info, F: history.Lost}}, verdict: checker.Verdict{Anomalies: []checker.Anomaly{noProof}}},
	} {
		if m := dataElement.FindStringSubmatch(render(t, s)); strings.Contains(m[1], "null") {
			t.Errorf("%s: %s", name, m[1])
		}
	}
	var check func(t *testing.T, v reflect.Type, path string)
	check = func(t *testing.T, v reflect.Type, path string) {
		switch v.Kind() {
		case reflect.Struct:
			for i := range v.NumField() {
				check(t, v.Field(i).Type, path+"."+v.Field(i).Name)
			}
		case reflect.Slice:
			if !strings.HasPrefix(v.Name(), "list[") {
				t.Errorf("%s is a slice, which is null in JSON where it is empty: use list", path)
			}
			check(t, v.Elem(), path)
		}
	}
	check(t, reflect.TypeFor[data](), "data")
}
