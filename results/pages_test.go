package results

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/checker/corpus"
	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/workloads"
)

// kindOf is the kind of lock that a history of the corpus says it is of.
func kindOf(h corpus.History) string {
	kind := "mutex"
	for _, e := range h.Events {
		switch {
		case e.Permits > 0:
			kind = "semaphore"
		case e.Mode == history.Shared:
			kind = "rw"
		case e.Mode == history.Nested:
			kind = "reentrant"
		}
	}
	if h.Options["nolock"] == "yes" {
		kind = "unlocked"
	}
	return kind
}

// corpusSample is the report's input for a file of the checker's corpus.
func corpusSample(t *testing.T, file string) sample {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	h, err := corpus.Parse(string(text))
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	run := Run{Settings: workloads.Settings{Lock: "sample", Fencing: "none"}, Kind: kindOf(h), NoLock: h.Options["nolock"] == "yes"}
	opt := checker.Options{NoLock: run.NoLock, SkipCrossCheck: true}
	for name, to := range map[string]*[]string{"faults": &opt.Faults, "require": &opt.Require} {
		if v := h.Options[name]; v != "" {
			*to = strings.Split(v, ",")
		}
	}
	for name, to := range map[string]*int64{"bound": &opt.Bound, "fair": &opt.Fair, "ttl": &opt.TTL, "lease": &opt.Lease} {
		if v := h.Options[name]; v != "" {
			if *to, err = corpus.Seconds(v); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
		}
	}
	run.Faults, run.TTL = opt.Faults, time.Duration(opt.TTL)
	return sample{run, h.Events, h.Effects, checker.Check(checker.Input{Events: h.Events, Effects: h.Effects, Options: opt})}
}

// oneOfEach picks from the corpus a history for every anomaly and cause, and for every
// kind of lock with every verdict; by what it shows.
func oneOfEach(t *testing.T) map[string]sample {
	t.Helper()
	files, err := filepath.Glob("../checker/testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no corpus: %v", err)
	}
	out := map[string]sample{}
	for _, file := range files {
		s := corpusSample(t, file)
		names := []string{s.run.Kind + " " + s.verdict.Valid.String()}
		for _, a := range s.verdict.Anomalies {
			names = append(names, a.Name, a.Name+"/"+a.Cause)
		}
		for _, name := range names {
			if _, ok := out[name]; !ok {
				out[name] = s
			}
		}
	}
	for _, a := range checker.Anomalies() {
		if _, ok := out[a.Name]; !ok {
			t.Errorf("the corpus shows no %s", a.Name)
		}
	}
	for _, kind := range []string{"mutex", "semaphore", "rw", "reentrant", "unlocked"} {
		for _, v := range []checker.Validity{checker.True, checker.False, checker.Unknown} {
			if _, ok := out[kind+" "+v.String()]; !ok {
				t.Errorf("the corpus has no history of a %s whose verdict is %v", kind, v)
			}
		}
	}
	return out
}

// Whatever a run comes to, its report opens: the script runs to its end, the timeline
// shows something, nothing is wider than a phone, and the browser has nothing to say.
func TestEveryKindOfReportInABrowser(t *testing.T) {
	pages := oneOfEach(t)
	ctx, complaints := open(t)
	do(t, ctx, chromedp.EmulateViewport(390, 844, chromedp.EmulateScale(1), chromedp.EmulateMobile))
	before := 0
	for name, s := range pages {
		do(t, ctx, chromedp.Navigate(onDisk(t, s)), chromedp.WaitReady(chromedp.CSS("#copy")))
		if said := complaints(); len(said) > before {
			t.Errorf("%s: the browser complains: %q", name, said[before:])
			before = len(said)
			continue
		}
		do(t, ctx, drawn("true"))
		if !eval[bool](t, ctx, `!document.getElementById("timeline").hidden && document.querySelector(".still").hidden`) {
			t.Errorf("%s: the timeline is not shown", name)
		}
		if eval[bool](t, ctx, "document.documentElement.scrollWidth > 390") {
			t.Errorf("%s: the page is wider than a phone", name)
		}
		if n := eval[int](t, ctx, `document.querySelectorAll(".cause").length`); n == 0 && len(s.verdict.Anomalies) > 0 {
			t.Errorf("%s: no root cause is named", name)
		}
	}
	t.Logf("%d pages", len(pages))
}

// crowd is a run of n clients that all want one lock; the holder is paused once.
func crowd(n int) sample {
	s := newSim(3, n)
	lease := 1000 * ms
	for i := range 4 * n {
		c := s.clients[(i*7)%n]
		if i%5 != 0 { // most others wait without success
			d := s.clients[(i*7+1)%n]
			s.event(s.now+20*ms, history.Event{Process: d, Type: history.Invoke, F: history.Acquire, Key: "k0"})
			s.event(s.now+70*ms, history.Event{Process: d, Type: history.Fail, F: history.Acquire, Key: "k0", Error: "timeout"})
		}
		s.now += 25 * ms
		s.section(c, s.now-3*ms, lease, int64(5+i%9)*ms, true)
	}
	s.number()
	s.verdict = checker.Check(checker.Input{Events: s.events, Effects: s.effects, Options: checker.Options{SkipCrossCheck: true, TTL: lease}})
	s.run = Run{Settings: workloads.Settings{Lock: "etcd", Fencing: "none", Clients: n, Keys: 1, TTL: time.Second}, Nodes: nodes(s.clients, "etcd1", "etcd2", "etcd3")}
	return s.sample
}

func TestTwoHundredClientsInABrowser(t *testing.T) {
	s := crowd(200)
	ctx, complaints := open(t)
	page := render(t, s)
	if len(page) > 3<<20 {
		t.Errorf("the page has %d bytes", len(page))
	}
	d := embedded(t, page)
	if !slices.ContainsFunc(d.Tracks, func(l trackData) bool { return l.Role == roleRegister }) || len(d.Tracks) != 204 {
		t.Errorf("%d tracks, want 200 clients, three servers and the register", len(d.Tracks))
	}
	do(t, ctx, chromedp.Navigate(onDisk(t, s)), drawn("true"))
	height := func() int { return eval[int](t, ctx, `document.getElementById("canvas").clientHeight`) }
	if h := height(); h < 200 || h > 900 {
		t.Errorf("the first view of those who act is %d pixels high", h)
	}
	if n := colours(t, ctx, "--hold"); n < 100 {
		t.Errorf("the first view shows %d pixels of holds", n)
	}
	n := dataset(t, ctx, "drawn")
	do(t, ctx, chromedp.Click(chromedp.CSS("#involved")), drawn("d.drawn != "+strconv.Itoa(int(n))))
	if h := height(); h < 1500 || h > 3000 {
		t.Errorf("all tracks are %d pixels high", h)
	}
	if eval[int](t, ctx, "document.documentElement.scrollHeight") > 9000 {
		t.Error("the page has no end")
	}
	if said := complaints(); len(said) > 0 {
		t.Errorf("the browser complains: %q", said)
	}
}

// On paper all evidence are open, nothing scrolls, and it is light.
func TestReportOnPaper(t *testing.T) {
	ctx, complaints := open(t)
	do(t, ctx, chromedp.EmulateViewport(720, 1000), chromedp.Navigate(onDisk(t, redisPaused(4))), drawn("true"), mediaOf("print", "dark"))
	got := eval[map[string]float64](t, ctx, `(() => {
		const seen = (e) => e.getBoundingClientRect().height > 0 ? 1 : 0, all = (q) => [...document.querySelectorAll(q)], share = (q) => all(q).filter(seen).length / all(q).length;
		return {
			evidence: share(".evidence"), still: seen(document.querySelector("svg.picture")), buttons: all("button").filter(seen).length,
			timeline: seen(document.getElementById("timeline")), cut: all(".scroll").filter((e) => getComputedStyle(e).overflowX !== "visible").length,
			light: getComputedStyle(document.body).backgroundColor === "rgb(255, 255, 255)" ? 1 : 0,
			wide: document.documentElement.scrollWidth - innerWidth,
		};
	})()`)
	for name, want := range map[string]float64{"evidence": 1, "still": 1, "buttons": 0, "timeline": 0, "cut": 0, "light": 1, "wide": 0} {
		if got[name] != want && (name != "wide" || got[name] > want) {
			t.Errorf("%s is %v, want %v", name, got[name], want)
		}
	}
	if said := complaints(); len(said) > 0 {
		t.Errorf("the browser complains: %q", said)
	}
}
