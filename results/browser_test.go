package results

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/picklock/picklock/internal/testkit/browser"
)

// open opens a window, and says how to hear what it complains about.
func open(t *testing.T) (ctx context.Context, complaints func() []string) {
	t.Helper()
	w := browser.Open(t)
	return w.Ctx, w.Complaints
}

func onDisk(t *testing.T, s sample) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(path, []byte(render(t, s)), 0o600); err != nil {
		t.Fatal(err)
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}

// mediaOf shows the page on another medium ("" is the screen), in a colour scheme.
func mediaOf(medium, scheme string) chromedp.Action[chromedp.Void] {
	return browser.Call(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: medium, Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
}

func do(t *testing.T, ctx context.Context, actions ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	if err := chromedp.Do(ctx, actions...); err != nil {
		t.Fatal(err)
	}
}

func eval[T any](t *testing.T, ctx context.Context, js string) T {
	t.Helper()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](js, chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// drawn waits until the canvas has drawn the wanted anomaly and view.
func drawn(cond string) chromedp.Action[chromedp.Void] {
	return until("(() => { const d = document.getElementById('canvas')?.dataset; return d && d.drawn > 0 && (" + cond + ") })()")
}

func until(js string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := chromedp.Poll[bool](js)(ctx, target)
		return err
	})
}

func dataset(t *testing.T, ctx context.Context, name string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(eval[string](t, ctx, "document.getElementById('canvas').dataset."+name), 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// colours counts the pixels of the canvas that are close to a CSS variable's
// colour: what the reader sees, not what the script believes it drew.
func colours(t *testing.T, ctx context.Context, variable string) int {
	t.Helper()
	return eval[int](t, ctx, fmt.Sprintf(`(() => {
		const c = document.getElementById("canvas"), p = document.createElement("canvas").getContext("2d");
		p.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("%s").trim();
		p.fillRect(0, 0, 1, 1);
		const w = p.getImageData(0, 0, 1, 1).data, d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
		let n = 0;
		for (let i = 0; i < d.length; i += 4) if (Math.abs(d[i] - w[0]) + Math.abs(d[i + 1] - w[1]) + Math.abs(d[i + 2] - w[2]) < 12) n++;
		return n;
	})()`, variable))
}

func TestReportInABrowser(t *testing.T) {
	ctx, complaints := open(t)
	s := redisPaused(8)
	first, third := s.verdict.Anomalies[1], s.verdict.Anomalies[3] // of each kind the first, then the others
	do(t, ctx, chromedp.Navigate(onDisk(t, s)), drawn("d.chosen === '0'"))

	within := func(at int64) bool {
		us := float64(at / 1000)
		return dataset(t, ctx, "from") < us && us < dataset(t, ctx, "to")
	}
	if !within(first.Time) || within(third.Time) {
		t.Error("the first view is not of the first anomaly")
	}
	for _, c := range []string{"--harm", "--ok", "--badge", "--card"} {
		if n := colours(t, ctx, c); n < 20 {
			t.Errorf("only %d pixels of %s on the timeline", n, c)
		}
	}
	do(t, ctx, chromedp.Click(chromedp.CSS(`[data-anomaly="3"] summary`)), drawn("d.chosen === '2'"))
	if !within(third.Time) || within(s.verdict.Anomalies[15].Time) {
		t.Error("a click on the third anomaly does not lead to it")
	}
	do(t, ctx, chromedp.Click(chromedp.CSS("#whole")), drawn("d.to > 26e6"))
	if !within(first.Time) || !within(s.verdict.Anomalies[15].Time) {
		t.Error("the whole run is not shown")
	}

	// The keyboard alone: zoom, pan, and step to an event's words.
	wide := dataset(t, ctx, "to") - dataset(t, ctx, "from")
	do(t, ctx, chromedp.Focus(chromedp.CSS("#canvas")), chromedp.KeyEvent("+"), drawn(fmt.Sprintf("d.to - d.from < %f", wide*.9)))
	from := dataset(t, ctx, "from")
	do(t, ctx, chromedp.KeyEvent(kb.ArrowLeft), drawn(fmt.Sprintf("d.from < %f", from)))
	do(t, ctx, chromedp.KeyEvent("n"), chromedp.WaitVisible(chromedp.CSS("#tip")))
	if tip := eval[string](t, ctx, "document.getElementById('tip').textContent"); !strings.Contains(tip, " s") {
		t.Errorf("tooltip %q", tip)
	}

	light := colours(t, ctx, "--card")
	do(t, ctx, mediaOf("", "dark"),
		until(`getComputedStyle(document.body).backgroundColor === "rgb(18, 22, 27)"`),
		until(`(() => { const c = document.getElementById("canvas"), d = c.getContext("2d").getImageData(c.width - 2, 2, 1, 1).data; return d[0] < 60 })()`))
	if dark := colours(t, ctx, "--card"); light < 1000 || dark < 1000 {
		t.Errorf("background pixels: %d light, %d dark", light, dark)
	}
	if said := complaints(); len(said) > 0 {
		t.Errorf("the browser complains: %q", said)
	}
}

func TestHostileReportInABrowser(t *testing.T) {
	ctx, complaints := open(t)
	do(t, ctx, chromedp.Navigate(onDisk(t, hostileSample())), drawn("d.chosen === '0'"))
	imgs, scripts := eval[int](t, ctx, "document.images.length"), eval[int](t, ctx, "document.scripts.length")
	if imgs != 0 || scripts != 2 {
		t.Errorf("%d images and %d scripts on the page, want 0 and 2", imgs, scripts)
	}
	if said := complaints(); len(said) > 0 {
		t.Errorf("the browser complains: %q", said)
	}
}

func TestReportWithoutScript(t *testing.T) {
	ctx, _ := open(t)
	do(t, ctx, browser.Call(emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}), chromedp.Navigate(onDisk(t, redisPaused(3))), chromedp.WaitVisible(chromedp.CSS("svg.picture")))
	do(t, ctx, chromedp.WaitNotVisible(chromedp.CSS("#timeline")))
	words, err := chromedp.Run(ctx, chromedp.TextContent(chromedp.CSS("svg.picture")))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"stale-write at 2.688 s", "pause", "c1.3"} {
		if !strings.Contains(words, want) {
			t.Errorf("the still picture lacks %q", want)
		}
	}
}

func TestBigAndSmallReportsInABrowser(t *testing.T) {
	ctx, complaints := open(t)
	one := redisPaused(1)
	one.events, one.effects, one.verdict.Anomalies = one.events[:1], nil, nil
	none := one
	none.events = nil
	huge := redisPaused(1)
	huge.events[len(huge.events)-1].Time = 1 << 62
	do(t, ctx, chromedp.EmulateViewport(390, 844, chromedp.EmulateScale(2), chromedp.EmulateMobile))
	for name, s := range map[string]sample{"big": redisPaused(900), "one event": one, "no event": none, "huge span": huge} {
		do(t, ctx, chromedp.Navigate(onDisk(t, s)), chromedp.WaitReady(chromedp.CSS("#copy")))
		if eval[bool](t, ctx, "document.documentElement.scrollWidth > 390") {
			t.Errorf("%s: the page is wider than a phone", name)
		}
		if name == "no event" {
			continue
		}
		// The whole run, the most that is ever drawn, and a step in from there.
		do(t, ctx, chromedp.Click(chromedp.CSS("#whole")), drawn("d.to - d.from > 0"))
		began := time.Now()
		do(t, ctx, chromedp.Click(chromedp.CSS("#in")))
		eval[int](t, ctx, "new Promise(f => requestAnimationFrame(() => requestAnimationFrame(() => f(1))))")
		took := time.Since(began)
		t.Logf("%s: drawn in %v", name, took)
		if took > 5*time.Second {
			t.Errorf("%s: drawing took %v", name, took)
		}
	}
	if said := complaints(); len(said) > 0 {
		t.Errorf("the browser complains: %q", said)
	}
}
