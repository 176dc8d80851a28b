package status

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/picklock/picklock/internal/testkit/browser"
)

// TestPageInABrowser: from a file, without a server, the page of a running campaign loads itself
// again until the campaign has finished. Then it links to the reports beside it. Nothing overflows
// at 1300 and 390 px, and the browser has no complaint.
func TestPageInABrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("it needs a browser")
	}
	dir := t.TempDir()
	b := browser.Open(t)
	wait := func(js string) {
		t.Helper()
		var err error
		for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
			var ok bool
			if ok, err = chromedp.Run(b.Ctx, chromedp.Evaluate[bool](js)); err == nil && ok {
				return
			}
		}
		t.Fatalf("%s never holds: %v", js, err)
	}
	write := func(s *Status) {
		t.Helper()
		if err := s.WritePage(dir); err != nil {
			t.Fatal(err)
		}
	}
	fits := func(what string) {
		t.Helper()
		for _, width := range []int64{1300, 390} {
			b.Do(chromedp.EmulateViewport(width, 900))
			over, err := chromedp.Run(b.Ctx, chromedp.Evaluate[string](`[...document.querySelectorAll("main, main *")].filter(e => e.getBoundingClientRect().right > innerWidth + 1 || e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).display === "block").map(e => e.tagName + " " + e.textContent.slice(0, 40)).join("; ") + (document.documentElement.scrollWidth > innerWidth ? "; the page is " + document.documentElement.scrollWidth + " px wide" : "")`))
			if err != nil || over != "" {
				t.Errorf("%s at %d px: %s overflows, %v", what, width, over, err)
			}
		}
	}
	page := (&url.URL{Scheme: "file", Path: filepath.Join(dir, PageFile)}).String()

	live := running()
	write(live)
	b.Do(chromedp.Navigate(page), chromedp.WaitVisible(chromedp.CSS("#jobs")))
	wait(`document.readyState === "complete" && document.images.length === 0 && document.getElementById("old").hidden`)
	fits("a hostile campaign that runs")

	text, err := live.Page(time.Now().Add(-time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, PageFile), text, 0o600); err != nil {
		t.Fatal(err)
	}
	wait(`document.getElementById("old")?.hidden === false`)
	fits("a page that is old")

	done := Of(finished())
	done.Against, done.Changes = "yesterday", live.Changes
	if err := os.MkdirAll(filepath.Join(dir, "jobs/001"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "jobs/001/hunt.html"), []byte("<!doctype html><title>a hunt</title>"), 0o600); err != nil {
		t.Fatal(err)
	}
	write(done)
	wait(`document.title.includes("finished")`)
	wait(`document.querySelectorAll("#jobs tbody tr").length === 3 && document.querySelector("#jobs .chip.holds").textContent === "pass"`)
	fits("a campaign that has finished")
	b.Do(chromedp.Click(chromedp.CSS("#jobs a")))
	wait(`document.title === "a hunt"`)

	if said := b.Complaints(); len(said) > 0 {
		t.Errorf("the browser complains: %q", said)
	}
	for _, u := range b.Asked() {
		if !strings.HasPrefix(u, "file://"+dir+"/") {
			t.Errorf("the page asks for %s", u)
		}
	}
}
