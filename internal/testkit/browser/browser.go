// Package browser gives tests a window of a real browser. It knows what the browser
// complained of and asked for, and nothing of the pages.
package browser

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/picklock/picklock/internal/testkit"
)

const chromium = "/usr/bin/chromium"

// limit is how long a window is open at the most.
const limit = 2 * time.Minute

// Window is one headless window, which ends with its test.
type Window struct {
	t   *testing.T
	Ctx context.Context // for chromedp

	mu          sync.Mutex
	said, asked []string
}

// Open opens a window, or leaves the test out where no browser is installed.
func Open(t *testing.T) *Window {
	t.Helper()
	if testing.Short() {
		t.Skip("it needs a browser")
	}
	_, err := os.Stat(chromium)
	testkit.Need(t, "chromium", err)
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(chromium), chromedp.NoSandbox, chromedp.WindowSize(1280, 900), chromedp.UserDataDir(t.TempDir()))
	ctx, stop := chromedp.NewExecAllocator(t.Context(), opts...)
	t.Cleanup(stop)
	ctx, cancel := chromedp.NewContext(ctx)
	t.Cleanup(func() { _ = chromedp.Cancel(ctx); cancel() })
	ctx, late := context.WithTimeout(ctx, limit)
	t.Cleanup(late)
	w := &Window{t: t, Ctx: ctx}
	if err := chromedp.Listen(ctx, w.hear); err != nil {
		t.Fatalf("start %s: %v", chromium, err)
	}
	w.Do(Call(log.Enable, cdp.Empty{}), Call(runtime.Enable, cdp.Empty{}), Call(network.Enable, network.EnableParams{}))
	return w
}

// hear keeps what the browser complains of, and what pages ask for.
func (w *Window) hear(ev any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch ev := ev.(type) {
	case *runtime.EventExceptionThrown:
		w.said = append(w.said, "exception: "+ev.ExceptionDetails.Text)
	case *runtime.EventConsoleAPICalled:
		w.said = append(w.said, "console: "+string(ev.Type))
	case *log.EventEntryAdded:
		if !strings.Contains(ev.Entry.Text, "willReadFrequently") { // about a test's own look at the pixels
			w.said = append(w.said, fmt.Sprintf("%s: %s", ev.Entry.Level, ev.Entry.Text))
		}
	case *network.EventRequestWillBeSent:
		w.asked = append(w.asked, ev.Request.URL)
	}
}

// Complaints are the exceptions, and what the console shows.
func (w *Window) Complaints() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.said)
}

// Asked are the addresses that were asked for.
func (w *Window) Asked() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.asked)
}

// Do carries actions out; the test ends where one cannot be.
func (w *Window) Do(actions ...chromedp.Action[chromedp.Void]) {
	w.t.Helper()
	if err := chromedp.Do(w.Ctx, actions...); err != nil {
		w.t.Fatal(err)
	}
}

// Call makes an action of one command of the browser's protocol.
func Call[P any](c cdp.Command[P, cdp.Empty], params P) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, c, params)
		return err
	})
}
