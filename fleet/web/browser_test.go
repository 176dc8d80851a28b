package web

import (
	"context"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/picklock/picklock/internal/testkit"
)

const chromium = "/usr/bin/chromium"

func call[P any](c cdp.Command[P, cdp.Empty], params P) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, c, params)
		return err
	})
}

// browser is a window on the page, and what it complained of and asked for.
type browser struct {
	t           *testing.T
	ctx         context.Context
	mu          sync.Mutex
	said, asked []string
}

func open(t *testing.T) *browser {
	_, err := os.Stat(chromium)
	testkit.Need(t, "chromium", err)
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(chromium), chromedp.NoSandbox, chromedp.WindowSize(1280, 900), chromedp.UserDataDir(t.TempDir()))
	ctx, stop := chromedp.NewExecAllocator(t.Context(), opts...)
	t.Cleanup(stop)
	ctx, cancel := chromedp.NewContext(ctx)
	t.Cleanup(func() { _ = chromedp.Cancel(ctx); cancel() })
	ctx, late := context.WithTimeout(ctx, 120*time.Second)
	t.Cleanup(late)
	b := &browser{t: t, ctx: ctx}
	err = chromedp.Listen(ctx, func(ev any) {
		b.mu.Lock()
		defer b.mu.Unlock()
		switch ev := ev.(type) {
		case *runtime.EventExceptionThrown:
			b.said = append(b.said, ev.ExceptionDetails.Text)
		case *runtime.EventConsoleAPICalled:
			b.said = append(b.said, string(ev.Type))
		case *log.EventEntryAdded:
			b.said = append(b.said, ev.Entry.Text)
		case *network.EventRequestWillBeSent:
			b.asked = append(b.asked, ev.Request.URL)
		}
	})
	if err != nil {
		t.Fatalf("start %s: %v", chromium, err)
	}
	b.do(call(log.Enable, cdp.Empty{}), call(runtime.Enable, cdp.Empty{}), call(network.Enable, network.EnableParams{}))
	return b
}

func (b *browser) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, actions...); err != nil {
		b.t.Fatal(err)
	}
}

func (b *browser) text(js string) string {
	b.t.Helper()
	s, err := chromedp.Run(b.ctx, chromedp.Evaluate[string](js))
	if err != nil {
		b.t.Fatalf("%s: %v", js, err)
	}
	return s
}

// await waits until it is true. It asks from here: what asks within a page ends with the page.
func (b *browser) await(js string) {
	b.t.Helper()
	var err error
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		var ok bool
		if ok, err = chromedp.Run(b.ctx, chromedp.Evaluate[bool](js)); err == nil && ok {
			return
		}
	}
	b.t.Fatalf("%s: %v; the lines are %s", js, err, b.text(`[...document.querySelectorAll("tbody > tr")].map(tr => tr.textContent + (tr.hidden ? " (hidden)" : "")).join("\n")`))
}

func (b *browser) is(js, want string) {
	b.t.Helper()
	if got := b.text(js); got != want {
		b.t.Errorf("%s is %q, want %q", js, got, want)
	}
}

const (
	names   = `[...document.querySelectorAll("#jobs tbody tr")].filter(tr => !tr.hidden).map(tr => tr.cells[1].textContent).join(" ")`
	focused = `document.activeElement.textContent`
)

func (b *browser) keys(keys ...string) {
	b.t.Helper()
	for _, k := range keys {
		if k == "/" { // as one event, as a keyboard has it: what is not let through writes nothing
			b.do(call(input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeKeyDown, Key: k, Text: k}))
			continue
		}
		b.do(chromedp.KeyEvent(k))
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

	b.do(chromedp.Navigate(url+campaignLink("folder:now")), chromedp.WaitVisible(chromedp.CSS("#jobs")))
	b.keys("/")
	b.is(`document.activeElement.id`, "search")
	b.keys("e", "t", "c", "d")
	b.await(names + ` === "etcd"`)
	b.is(`document.getElementById("count").textContent`, "1 of 3 lines")
	b.keys(kb.Escape)
	b.await(names + ` === "redis etcd"`)
	b.do(chromedp.Evaluate[chromedp.Void](`document.querySelectorAll("#jobs .sort")[1].focus()`))
	b.keys(kb.Enter)
	b.await(names + ` === "etcd redis"`)
	b.is(`document.querySelectorAll("#jobs th")[1].getAttribute("aria-sort")`, "ascending")
	b.keys(kb.Enter)
	b.await(names + ` === "redis etcd"`)
	b.do(chromedp.Evaluate[chromedp.Void](`document.querySelectorAll("#jobs .sort")[7].focus()`))
	b.keys(kb.Enter, kb.Enter) // by plays, as numbers: 900 before 70
	b.await(names + ` === "etcd redis"`)

	b.do(chromedp.Navigate(url+"/"), chromedp.WaitVisible(chromedp.CSS("#campaigns")))
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
		b.do(chromedp.Navigate(url + target))
		b.await(`document.readyState === "complete"`)
		b.is(`String(document.images.length) + (document.documentElement.scrollWidth > 1300 ? " too wide" : "")`, "0")
	}
	// A report's own script draws it; it is of no origin, and reads nothing from here.
	b.do(chromedp.Navigate(url + "/files/now/jobs/001/hunt.html"))
	b.await(`document.title === "drawn"`)
	b.is(`self.origin`, "null")

	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.said) > 0 {
		t.Errorf("the browser complains: %q", b.said)
	}
	for _, u := range b.asked {
		if !strings.HasPrefix(u, url+"/") {
			t.Errorf("the page asks for %s", u)
		}
	}
	if len(b.asked) < 8 {
		t.Errorf("only %d requests were seen", len(b.asked))
	}
}
