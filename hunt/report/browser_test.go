package report

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/picklock/picklock/hunt"
	"github.com/picklock/picklock/internal/testkit"
)

const chromium = "/usr/bin/chromium"

func call[P any](c cdp.Command[P, cdp.Empty], params P) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, c, params)
		return err
	})
}

// The page works in a browser: nothing is complained of, nothing is asked for beside the
// file itself, and commands can be copied.
func TestPageInABrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("it needs a browser")
	}
	_, err := os.Stat(chromium)
	testkit.Need(t, "chromium", err)
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(chromium), chromedp.NoSandbox, chromedp.WindowSize(1280, 900), chromedp.UserDataDir(t.TempDir()))
	ctx, stop := chromedp.NewExecAllocator(t.Context(), opts...)
	defer stop()
	ctx, cancel := chromedp.NewContext(ctx)
	defer func() { _ = chromedp.Cancel(ctx); cancel() }()
	ctx, late := context.WithTimeout(ctx, 90*time.Second)
	defer late()
	var mu sync.Mutex
	var said, asked []string
	err = chromedp.Listen(ctx, func(ev any) {
		mu.Lock()
		defer mu.Unlock()
		switch ev := ev.(type) {
		case *runtime.EventExceptionThrown:
			said = append(said, ev.ExceptionDetails.Text)
		case *runtime.EventConsoleAPICalled:
			said = append(said, string(ev.Type))
		case *log.EventEntryAdded:
			said = append(said, ev.Entry.Text)
		case *network.EventRequestWillBeSent:
			asked = append(asked, ev.Request.URL)
		}
	})
	if err != nil {
		t.Fatalf("start %s: %v", chromium, err)
	}
	do := func(actions ...chromedp.Action[chromedp.Void]) {
		t.Helper()
		if err := chromedp.Do(ctx, actions...); err != nil {
			t.Fatal(err)
		}
	}
	number := func(js string) int {
		t.Helper()
		n, err := chromedp.Run(ctx, chromedp.Evaluate[int](js))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	do(call(log.Enable, cdp.Empty{}), call(runtime.Enable, cdp.Empty{}), call(network.Enable, network.EnableParams{}))
	for name, r := range map[string]*hunt.Result{"two ways": result(), "hostile": hostile(), "clean": clean()} {
		path := filepath.Join(t.TempDir(), "hunt.html")
		if err := os.WriteFile(path, []byte(render(t, r)), 0o600); err != nil {
			t.Fatal(err)
		}
		do(chromedp.Navigate((&url.URL{Scheme: "file", Path: path}).String()), chromedp.WaitVisible(chromedp.CSS("[data-copy=command]")))
		if n := number("document.images.length"); n != 0 {
			t.Errorf("%s: %d images", name, n)
		}
		if number("document.documentElement.scrollWidth") > 1300 {
			t.Errorf("%s: wider than the window", name)
		}
		if len(r.Ways) > 0 {
			do(chromedp.Click(chromedp.CSS("[data-copy=command-1]")))
			word, err := chromedp.Run(ctx, chromedp.Poll[bool](`["Copied", "Selected"].includes(document.querySelector("[data-copy=command-1]").textContent)`))
			if err != nil || !word {
				t.Errorf("%s: copy: %v", name, err)
			}
			if n := number("document.querySelectorAll('svg.picture').length"); name == "two ways" && n != 1 {
				t.Errorf("%d pictures", n)
			}
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if len(said) > 0 {
		t.Errorf("the browser complains: %q", said)
	}
	for _, u := range asked {
		if !strings.HasPrefix(u, "file://") {
			t.Errorf("the page asks for %s", u)
		}
	}
	if len(asked) < 3 {
		t.Errorf("only %d requests were seen", len(asked))
	}
}
