package web

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/picklock/picklock/internal/testkit/browser"
)

// window is a window on the page.
type window struct {
	*browser.Window
	t *testing.T
}

func open(t *testing.T) *window { return &window{browser.Open(t), t} }

func (b *window) text(js string) string {
	b.t.Helper()
	s, err := chromedp.Run(b.Ctx, chromedp.Evaluate[string](js))
	if err != nil {
		b.t.Fatalf("%s: %v", js, err)
	}
	return s
}

// await waits until it is true. It asks from here: what asks within a page ends with the page.
func (b *window) await(js string) {
	b.t.Helper()
	var err error
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		var ok bool
		if ok, err = chromedp.Run(b.Ctx, chromedp.Evaluate[bool](js)); err == nil && ok {
			return
		}
	}
	b.t.Fatalf("%s: %v; the lines are %s", js, err, b.text(`[...document.querySelectorAll("tbody > tr")].map(tr => tr.textContent + (tr.hidden ? " (hidden)" : "")).join("\n")`))
}

func (b *window) is(js, want string) {
	b.t.Helper()
	if got := b.text(js); got != want {
		b.t.Errorf("%s is %q, want %q", js, got, want)
	}
}

const (
	names   = `[...document.querySelectorAll("#jobs tbody tr")].filter(tr => !tr.hidden).map(tr => tr.cells[1].textContent).join(" ")`
	focused = `document.activeElement.textContent`
)

func (b *window) keys(keys ...string) {
	b.t.Helper()
	for _, k := range keys {
		if k == "/" { // as one event, as a keyboard has it: what is not let through writes nothing
			b.Do(browser.Call(input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeKeyDown, Key: k, Text: k}))
			continue
		}
		b.Do(chromedp.KeyEvent(k))
	}
}

// The page works in a browser, with the keyboard alone: search, order, lines. What is new comes
// by itself, and takes neither search nor order nor focus away. Nothing is complained of, and
// nothing is asked for beside this server.
func TestPageInABrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("it needs a browser")
	}
	dir := shown(t)
	s := site(t, dir)
	ctx, cancel := context.WithCancel(t.Context())
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	over := make(chan error, 1)
	go func() { over <- s.Serve(ctx, l) }()
	defer func() {
		cancel()
		if err := <-over; err != nil {
			t.Error(err)
		}
	}()
	url := "http://" + l.Addr().String()
	b := open(t)

	b.Do(chromedp.Navigate(url+campaignLink("folder:now")), chromedp.WaitVisible(chromedp.CSS("#jobs")))
	b.keys("/")
	b.is(`document.activeElement.id`, "search")
	b.keys("e", "t", "c", "d")
	b.await(names + ` === "etcd"`)
	b.is(`document.getElementById("count").textContent`, "1 of 3 lines")
	b.keys(kb.Escape)
	b.await(names + ` === "redis etcd"`)
	b.Do(chromedp.Evaluate[chromedp.Void](`document.querySelectorAll("#jobs .sort")[1].focus()`))
	b.keys(kb.Enter)
	b.await(names + ` === "etcd redis"`)
	b.is(`document.querySelectorAll("#jobs th")[1].getAttribute("aria-sort")`, "ascending")
	b.keys(kb.Enter)
	b.await(names + ` === "redis etcd"`)
	b.Do(chromedp.Evaluate[chromedp.Void](`document.querySelectorAll("#jobs .sort")[7].focus()`))
	b.keys(kb.Enter, kb.Enter) // by plays, as numbers: 900 before 70
	b.await(names + ` === "etcd redis"`)

	b.Do(chromedp.Navigate(url+"/"), chromedp.WaitVisible(chromedp.CSS("#campaigns")))
	b.keys("/", "n", "i", "g", "h", "t", "l", "y", kb.ArrowDown)
	b.is(focused, "nightly")
	before := b.text(`document.activeElement.closest("tr").dataset.key`)
	write(t, dir, "later", report("nightly", "later", 4))
	b.await(`document.querySelectorAll('#campaigns tr[data-key="folder:later"]').length === 1`)
	b.is(`document.activeElement.closest("tr")?.dataset.key`, before)
	b.is(`document.getElementById("search").value`, "nightly")
	b.keys(kb.ArrowUp)
	b.is(`document.activeElement.closest("tr")?.dataset.key`, "folder:later")
	b.keys(kb.Enter)
	b.await(`document.querySelector("#jobs") !== null && location.search.includes("later")`)

	for _, target := range []string{"/", campaignLink("folder:" + `hos"<b>tile`), compareLink("folder:before", "folder:now")} {
		b.Do(chromedp.Navigate(url + target))
		b.await(`document.readyState === "complete"`)
		b.is(`String(document.images.length) + (document.documentElement.scrollWidth > 1300 ? " too wide" : "")`, "0")
	}
	// A report's own script draws it; it is of no origin, and reads nothing from here.
	b.Do(chromedp.Navigate(url + "/files/now/jobs/001/hunt.html"))
	b.await(`document.title === "drawn"`)
	b.is(`self.origin`, "null")

	if said := b.Complaints(); len(said) > 0 {
		t.Errorf("the browser complains: %q", said)
	}
	asked := b.Asked()
	for _, u := range asked {
		if !strings.HasPrefix(u, url+"/") {
			t.Errorf("the page asks for %s", u)
		}
	}
	if len(asked) < 8 {
		t.Errorf("only %d requests were seen", len(asked))
	}
}
