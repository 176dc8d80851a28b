package results

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// picturesFlag names the variable that has the pictures of the docs made anew, and
// pictureRun the one that names the run directory that they show:
//
//	picklock run --lock redis --faults pause:holder --duration 20s --out /tmp/run
//	PICKLOCK_WRITE_PICTURES=1 PICKLOCK_PICTURE_RUN=/tmp/run go test ./results -run Picture
const (
	picturesFlag = "PICKLOCK_WRITE_PICTURES"
	pictureRun   = "PICKLOCK_PICTURE_RUN"
)

const maxPicture = 200 << 10

func shot(t *testing.T, ctx context.Context, params cdppage.CaptureScreenshotParams) []byte {
	t.Helper()
	var png []byte
	err := chromedp.Do(ctx, chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		r, err := cdp.Call(ctx, target, cdppage.CaptureScreenshot, params)
		png = r.Data
		return err
	}))
	if err != nil {
		t.Fatal(err)
	}
	return png
}

// TestPicture shows that a report's first screen has what a reader looks for, the
// verdict, the cause and the timeline, and writes it to docs/report.png if asked to.
func TestPictureInABrowser(t *testing.T) {
	s := redisPaused(8)
	if dir := os.Getenv(pictureRun); dir != "" {
		l, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		x, err := readExcerpt(l.Dir, l.Run, *l.Verdict, maxExcerpt)
		if err != nil {
			t.Fatal(err)
		}
		s = sample{l.Run, x.events, x.effects, *l.Verdict}
	}
	ctx, complaints := open(t)
	do(t, ctx, chromedp.EmulateViewport(1200, 940, chromedp.EmulateScale(1)), mediaOf("", "light"), chromedp.Navigate(onDisk(t, s)), drawn("d.chosen === '0'"))
	for _, what := range []string{"h1", ".cause .says", ".cause .do", "#canvas"} {
		if !eval[bool](t, ctx, `(() => { const r = document.querySelector("`+what+`").getBoundingClientRect(); return r.height > 0 && r.top >= 0 && r.top < 700 })()`) {
			t.Errorf("%s is not on the first screen", what)
		}
	}
	png := shot(t, ctx, cdppage.CaptureScreenshotParams{Format: "png"})
	if len(png) > maxPicture {
		t.Errorf("the picture has %d bytes", len(png))
	}
	if os.Getenv(picturesFlag) != "" {
		if err := os.WriteFile(filepath.Join("..", "docs", "report.png"), png, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if said := complaints(); len(said) > 0 {
		t.Errorf("the browser complains: %q", said)
	}
}
