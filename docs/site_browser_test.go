package docs_test

import (
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/picklock/picklock/internal/testkit/browser"
)

// tooWide names what reaches beyond the right edge of a page, and can be scrolled by nothing but the page itself.
const tooWide = `(() => {
	const edge = document.documentElement.clientWidth + 1;
	if (document.documentElement.scrollWidth <= edge) return "";
	for (const e of document.querySelectorAll("article *")) if (e.getBoundingClientRect().right > edge) {
		let inside = false;
		for (let p = e.parentElement; p; p = p.parentElement) if (["auto", "scroll", "hidden"].includes(getComputedStyle(p).overflowX) && p !== document.documentElement && p !== document.body) inside = true;
		if (!inside) return e.outerHTML.slice(0, 120);
	}
	return "the page is " + document.documentElement.scrollWidth + " wide";
})()`

// TestSiteInABrowser: every page of the site fits a desk's screen and a telephone's, shows its pictures and asks no other host for
// anything. `make docs-pages` builds the site and names its folder.
func TestSiteInABrowser(t *testing.T) {
	site := os.Getenv("PICKLOCK_TEST_SITE")
	if site == "" {
		t.Skip("no site is built here: make docs-pages builds it and runs this test")
	}
	server := httptest.NewServer(http.FileServer(http.Dir(site)))
	defer server.Close()
	var pages []string
	err := filepath.WalkDir(site, func(file string, _ fs.DirEntry, err error) error {
		if err == nil && filepath.Base(file) == "index.html" {
			page, below := filepath.Rel(site, filepath.Dir(file))
			pages, err = append(pages, page), below
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(pages) < 20 {
		t.Fatalf("%d pages in %s: want at least 20", len(pages), site)
	}
	var w *browser.Window
	for _, width := range []int64{1280, 375} {
		for n, page := range pages {
			if n%20 == 0 { // a window is open for two minutes at most
				w = browser.Open(t)
				w.Do(chromedp.EmulateViewport(width, 800))
			}
			heard, asked := len(w.Complaints()), len(w.Asked())
			w.Do(chromedp.Navigate(fmt.Sprintf("%s/%s/", server.URL, filepath.ToSlash(page))), chromedp.WaitReady(chromedp.CSS("article")))
			wide, err := chromedp.Run(w.Ctx, chromedp.Evaluate[string](tooWide))
			if err != nil {
				t.Fatalf("%s: %v", page, err)
			}
			if wide != "" {
				t.Errorf("%s: at %d pixels, wider than the window: %s", page, width, wide)
			}
			broken, err := chromedp.Run(w.Ctx, chromedp.Evaluate[int](`[...document.images].filter(i => i.complete && !i.naturalWidth).length`))
			if err != nil || broken > 0 {
				t.Errorf("%s: %d pictures are not shown: %v", page, broken, err)
			}
			if said := w.Complaints()[heard:]; len(said) > 0 {
				t.Errorf("%s: at %d pixels, the console shows %q", page, width, said)
			}
			for _, address := range w.Asked()[asked:] {
				if !strings.HasPrefix(address, server.URL) && !strings.HasPrefix(address, "data:") && !strings.HasPrefix(address, "blob:") {
					t.Errorf("%s asks for %s", page, address)
				}
			}
		}
	}
}
