package results

import (
	"bytes"
	"encoding/json"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/workloads"
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
		"FAIL: 0 lock bugs, 1 lease hazard. The redis lock kept its promises under pause of the holder",
		"c1&#39;s write was accepted at 2.688 s, 410 ms after c3 was granted the lock",
		"stale-write</span> × 8", "the lease ended while its holder was stopped", "only fencing at the resource helps", docs + "concepts/fencing.md",
		"overlapping holders (two-holders)</span> × 8", "not required",
		"Timeline", `<svg class="picture"`, "stale-write at 2.688 s",
		"Properties", "fail × 8", "fail × 8",
		"Anomalies", "is granted c1.3", "pause of c1 begins, lasts 1.39 s", "carries out the write of “c1.3.1” by c1",
		"Numbers", "2.65 leases",
		"Run it again", "picklock run --lock redis --faults pause:holder --fencing none --clients 5 --ttl 1s --duration 30s --seed 7",
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
		"The etcd lock kept its promises under pause, kill, partition and clock.",
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
		{"the checker's reason", Run{Settings: workloads.Settings{Lock: "etcd", Faults: []string{"clock"}}}, checker.Verdict{Why: "clock never took effect"},
			[]string{"UNKNOWN. Nothing is proved about the etcd lock under clock.", "<li>clock never took effect</li>"}},
		{"a property's reason", Run{Settings: workloads.Settings{Lock: "etcd"}}, checker.Verdict{Properties: map[string]checker.Property{checker.Register: {Required: true, Why: "porcupine gave up"}}},
			[]string{"<li>register: porcupine gave up</li>"}},
		{"counts alone", Run{Settings: workloads.Settings{Lock: "etcd", Faults: []string{"pause:holder"}}}, checker.Verdict{Stats: checker.Stats{Events: 9, Grants: 2}},
			[]string{"No grant was contested", "The fault pause never took effect"}},
		{"what all was drawn from", Run{Settings: workloads.Settings{Lock: "etcd", Faults: []string{"all"}}, Drawn: []string{"pause:holder", "pause:waiter", "kill:one"}},
			checker.Verdict{Stats: checker.Stats{Events: 9, Grants: 2, Contested: 2, Faults: map[string]checker.FaultCount{"pause": {Injected: 2, Confirmed: 2}}}},
			[]string{"UNKNOWN. Nothing is proved about the etcd lock under pause and kill.", "The fault kill never took effect", "drawn from", "pause:holder, pause:waiter, kill:one"}},
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

// A lock broke under what struck, not under what might have.
func TestHeadlineNamesWhatLanded(t *testing.T) {
	run := Run{Settings: workloads.Settings{Lock: "etcd", Faults: []string{"all"}}, Drawn: []string{"pause:holder", "kill:one"}}
	v := checker.Verdict{Valid: checker.False, Stats: checker.Stats{Faults: map[string]checker.FaultCount{"pause": {Injected: 2, Confirmed: 2}, "kill": {Injected: 1}}}}
	if page := render(t, sample{run: run, verdict: v}); !strings.Contains(page, "The etcd lock broke under pause.") {
		t.Error("the headline does not name pause alone")
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
		if got.Track != h.Track || got.From != h.From/1000 || got.To != h.To/1000 || *got.Lease != h.Lease/1000 || got.Grant != h.Grant || got.Ended != h.Ended {
			t.Fatalf("hold %d: %+v is not %+v", i, got, h)
		}
	}
	if len(d.Anomalies) != 4 {
		t.Fatalf("%d anomalies, want 4", len(d.Anomalies))
	}
	a := d.Anomalies[0]
	if a.Name != "stale-write" || len(a.Holds) != 2 || len(a.Evidence) != 6 {
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

func TestCommand(t *testing.T) {
	for _, c := range []struct {
		run  Run
		want string
	}{
		{Run{Settings: workloads.Settings{Seed: 3}, Command: []string{"run", "--lock", "exec:python3 my lock.py"}}, "picklock run --lock 'exec:python3 my lock.py' --seed 3"},
		{Run{Settings: workloads.Settings{Seed: 9}, Command: []string{"/usr/bin/picklock", "run", "--seed=9"}}, "picklock run --seed=9"},
		{Run{Settings: workloads.Settings{Lock: "redis", Faults: []string{"pause", "kill"}, TTL: time.Second, Seed: 1}}, "picklock run --lock redis --faults pause,kill --ttl 1s --seed 1"},
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
		v := checker.Check(checker.Input{Events: s.events, Effects: s.effects, Options: checker.Options{Faults: names}})
		if v.Valid != s.verdict.Valid {
			t.Errorf("%s: the checker says %v: %s", s.run.Lock, v.Valid, v.Why)
		}
		// And its verdict, not only the sample's, makes a report in which every
		// evidence is found in the history.
		page := render(t, sample{s.run, s.events, s.effects, v})
		if strings.Contains(page, "is not in history.jsonl") || strings.Contains(page, "is not in register.jsonl") {
			t.Errorf("%s: evidence points outside of the history", s.run.Lock)
		}
	}
}

// No list that the report's script goes through is ever null, however little a run
// has.
func TestEmbeddedListsAreNeverNull(t *testing.T) {
	noEvidence := checker.Anomaly{Name: "deadlock", Property: checker.Liveness, Explanation: "nobody comes"}
	for name, s := range map[string]sample{
		"nothing":     {},
		"an anomaly":  {verdict: checker.Verdict{Valid: checker.False, Anomalies: []checker.Anomaly{noEvidence}}},
		"only a wait": {events: []history.Event{{Time: 1, Process: "c1", Type: history.Invoke, F: history.Acquire}, {Index: 1, Time: 9, Process: "c2", Type: history.Info, F: history.Lost}}, verdict: checker.Verdict{Anomalies: []checker.Anomaly{noEvidence}}},
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
