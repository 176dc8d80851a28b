package report

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/picklock/picklock/hunt"
	"github.com/picklock/picklock/internal/testkit/browser"
)

// The page works in a browser: nothing is complained of, nothing is asked for beside the
// file itself, and commands can be copied.
func TestPageInABrowser(t *testing.T) {
	w := browser.Open(t)
	number := func(js string) int {
		t.Helper()
		n, err := chromedp.Run(w.Ctx, chromedp.Evaluate[int](js))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	for name, r := range map[string]*hunt.Result{"two counterexamples": result(), "hostile": hostile(), "clean": clean()} {
		path := filepath.Join(t.TempDir(), "hunt.html")
		if err := os.WriteFile(path, []byte(render(t, r)), 0o600); err != nil {
			t.Fatal(err)
		}
		w.Do(chromedp.Navigate((&url.URL{Scheme: "file", Path: path}).String()), chromedp.WaitVisible(chromedp.CSS("[data-copy=command]")))
		if n := number("document.images.length"); n != 0 {
			t.Errorf("%s: %d images", name, n)
		}
		if number("document.documentElement.scrollWidth") > 1300 {
			t.Errorf("%s: wider than the window", name)
		}
		if len(r.Counterexamples) > 0 {
			w.Do(chromedp.Click(chromedp.CSS("[data-copy=command-1]")))
			word, err := chromedp.Run(w.Ctx, chromedp.Poll[bool](`["Copied", "Selected"].includes(document.querySelector("[data-copy=command-1]").textContent)`))
			if err != nil || !word {
				t.Errorf("%s: copy: %v", name, err)
			}
			if n := number("document.querySelectorAll('svg.picture').length"); name == "two counterexamples" && n != 1 {
				t.Errorf("%d pictures", n)
			}
		}
	}
	// On a telephone the page itself does not scroll sideways, and labels of pictures are legible.
	path := filepath.Join(t.TempDir(), "hunt.html")
	if err := os.WriteFile(path, []byte(render(t, result())), 0o600); err != nil {
		t.Fatal(err)
	}
	w.Do(chromedp.EmulateViewport(390, 844), chromedp.Navigate((&url.URL{Scheme: "file", Path: path}).String()), chromedp.WaitVisible(chromedp.CSS("svg.picture")))
	if n := number("document.documentElement.scrollWidth"); n > 390 {
		t.Errorf("%d px wide on a screen of 390 px", n)
	}
	if n := number(`Math.min(...[...document.querySelectorAll("svg text")].map((t) => { const s = t.closest("svg"); return Math.round(10 * parseFloat(getComputedStyle(t).fontSize) * s.getBoundingClientRect().width / s.viewBox.baseVal.width); }))`); n < 100 {
		t.Errorf("a label in letters of %.1f px", float64(n)/10)
	}
	if said := w.Complaints(); len(said) > 0 {
		t.Errorf("the browser complains: %q", said)
	}
	asked := w.Asked()
	for _, u := range asked {
		if !strings.HasPrefix(u, "file://") {
			t.Errorf("the page asks for %s", u)
		}
	}
	if len(asked) < 3 {
		t.Errorf("only %d requests were seen", len(asked))
	}
}
