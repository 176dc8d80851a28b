package results

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/picklock/picklock/internal/testkit/browser"
)

// matrixOnDisk writes the matrix and a report for each of its cells.
func matrixOnDisk(t *testing.T, m *Matrix) string {
	t.Helper()
	folder := t.TempDir()
	if err := WriteMatrix(folder, m); err != nil {
		t.Fatal(err)
	}
	for _, c := range m.Cells {
		if c.Dir == "" {
			continue
		}
		report := filepath.Join(folder, c.Dir, ReportFile)
		if err := os.MkdirAll(filepath.Dir(report), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(report, []byte("<!doctype html><title>the report</title>"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return (&url.URL{Scheme: "file", Path: filepath.Join(folder, MatrixPage)}).String()
}

const focused = `document.activeElement.closest("td")`

// run is what the focused square is about: the first line of its text.
func played(t *testing.T, ctx context.Context) string {
	t.Helper()
	line, _, _ := strings.Cut(eval[string](t, ctx, `document.activeElement.dataset?.text ?? ""`), "\n")
	return line
}

func TestMatrixInABrowser(t *testing.T) {
	ctx, complaints := open(t)
	m := gridMatrix(48, 55)
	do(t, ctx, chromedp.EmulateViewport(1280, 800), chromedp.Navigate(matrixOnDisk(t, m)), chromedp.WaitVisible(chromedp.CSS("table.grid")))

	// One picture on one screen.
	if box := eval[[]float64](t, ctx, `(() => { const b = document.querySelector("table.grid").getBoundingClientRect(); return [b.right, b.bottom] })()`); box[0] > 1280 || box[1] > 800 {
		t.Errorf("the picture ends at %v, beyond 1280 x 800", box)
	}
	if n := eval[int](t, ctx, `document.querySelectorAll("table.grid tbody td > *").length`); n != len(m.Cells) {
		t.Errorf("%d squares of %d cells", n, len(m.Cells))
	}
	if w := eval[float64](t, ctx, `Math.min(...[...document.querySelectorAll("table.grid tbody td > *")].map(e => e.getBoundingClientRect().width))`); w < 8 {
		t.Errorf("a square is %.1f px wide", w)
	}

	// The mouse.
	const known = `table.grid tbody .g-known`
	const place = `(() => { const b = document.querySelector("` + known + `").getBoundingClientRect(); return [b.x + 4, b.y + 4] })()`
	at := eval[[]float64](t, ctx, place)
	do(t, ctx, chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, at[0], at[1]), until(`!document.getElementById("tip").hidden`))
	if tip := eval[string](t, ctx, `document.getElementById("tip").innerText`); !strings.Contains(tip, "expected failure: stale-write") || !strings.Contains(tip, "c4 wrote under c4.1 at 1.228 s") {
		t.Errorf("hover says %q", tip)
	}
	if moved := eval[[]float64](t, ctx, place); !slices.Equal(moved, at) {
		t.Errorf("the square that is looked at moves from %v to %v", at, moved)
	}
	do(t, ctx, chromedp.KeyEvent(kb.Escape), until(`document.getElementById("tip").hidden`))

	// A click opens the cell's own report, which is there.
	href := eval[string](t, ctx, `(() => {
		addEventListener("click", e => { window.opened = e.target.closest("a")?.href; e.preventDefault(); }, {once: true});
		return document.querySelector("`+known+`").href;
	})()`)
	do(t, ctx, chromedp.Click(chromedp.CSS(known)), until(`!!window.opened`))
	if got := eval[string](t, ctx, "window.opened"); got != href {
		t.Errorf("a click opens %s, want %s", got, href)
	}
	report, err := url.Parse(href)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(report.Path); err != nil {
		t.Errorf("the square's report: %v", err)
	}

	t.Run("keyboard", func(t *testing.T) { gridKeyboard(t, ctx) })
	t.Run("filter", func(t *testing.T) { gridFilter(t, ctx) })
	t.Run("phone", func(t *testing.T) { gridOnAPhone(t, ctx) })
	t.Run("print", func(t *testing.T) { gridOnPaper(t, ctx) })
	if said := complaints(); len(said) > 0 {
		t.Errorf("the browser complains: %q", said)
	}
}

// One stop of the tab key for the whole grid; the arrows go on from there.
func gridKeyboard(t *testing.T, ctx context.Context) {
	if n := eval[int](t, ctx, `document.querySelectorAll("table.grid [tabindex='0']").length`); n != 1 {
		t.Errorf("%d stops of the tab key in the grid, want 1", n)
	}
	if n := eval[int](t, ctx, `[...document.querySelectorAll("table.grid tbody td > *")].filter(e => !e.ariaLabel?.includes("\n")).length`); n > 0 {
		t.Errorf("%d squares say nothing to a screen reader", n)
	}
	do(t, ctx, chromedp.Focus(chromedp.CSS(`input[name=service]`)), chromedp.KeyEvent(kb.Tab), until(`!!`+focused), until(`!document.getElementById("tip").hidden`))
	if w := eval[string](t, ctx, `getComputedStyle(document.activeElement).outlineStyle + getComputedStyle(document.activeElement).outlineWidth`); w != "solid3px" {
		t.Errorf("the focus is drawn as %s", w)
	}
	first := played(t, ctx)
	if tip := eval[string](t, ctx, `document.getElementById("tip").innerText`); first == "" || !strings.Contains(tip, first) {
		t.Errorf("focus is on %q, the tip says %q", first, tip)
	}
	const column, row = focused + `.cellIndex`, focused + `.parentElement.rowIndex`
	c, r := eval[int](t, ctx, column), eval[int](t, ctx, row)
	do(t, ctx, chromedp.KeyEvent(kb.ArrowRight))
	if c2, r2 := eval[int](t, ctx, column), eval[int](t, ctx, row); c2 <= c || r2 != r {
		t.Errorf("right of column %d, row %d: column %d, row %d", c, r, c2, r2)
	}
	do(t, ctx, chromedp.KeyEvent(kb.ArrowLeft))
	if back := played(t, ctx); back != first {
		t.Errorf("right and left lead to %q, not back to %q", back, first)
	}
	do(t, ctx, chromedp.KeyEvent(kb.ArrowDown))
	if r2 := eval[int](t, ctx, row); r2 <= r {
		t.Errorf("below row %d: row %d", r, r2)
	}
	do(t, ctx, chromedp.KeyEvent(kb.End))
	last := eval[int](t, ctx, column)
	do(t, ctx, chromedp.KeyEvent(kb.ArrowRight))
	if got := eval[int](t, ctx, column); got != last || last <= c {
		t.Errorf("the end is column %d, and then %d", last, got)
	}
	if n := eval[int](t, ctx, `document.querySelectorAll("table.grid [tabindex='0']").length`); n != 1 {
		t.Errorf("%d stops of the tab key after moving, want 1", n)
	}
}

func gridFilter(t *testing.T, ctx context.Context) {
	const shown = `[...document.querySelectorAll("tr[data-service]")].filter(r => r.checkVisibility()).map(r => r.dataset.service)`
	all := eval[int](t, ctx, shown+".length")
	width := eval[float64](t, ctx, `document.querySelector("table.grid tbody a").getBoundingClientRect().width`)
	do(t, ctx, chromedp.Click(chromedp.CSS(`input[value="etcd"]`)))
	if some, other := eval[int](t, ctx, shown+".length"), eval[int](t, ctx, shown+`.filter(s => s !== "etcd").length`); other > 0 || some == 0 || some >= all {
		t.Errorf("etcd: %d of %d rows, %d of them of another service", some, all, other)
	}
	if n := eval[int](t, ctx, `[...document.querySelectorAll("table.grid [scope=col]")].filter(h => h.checkVisibility() && !document.querySelector("table.grid tbody tr:not([hidden]) td:nth-child(" + (h.cellIndex + 2) + ") > *")).length`); n > 0 {
		t.Errorf("%d columns stand empty", n)
	}
	if w := eval[float64](t, ctx, `document.querySelector("table.grid tbody tr:not([hidden]) td:not([hidden]) a").getBoundingClientRect().width`); w < width {
		t.Errorf("squares of %.1f px, fewer than the %.1f of all services", w, width)
	}
	if n := eval[int](t, ctx, `[...document.querySelectorAll("table.grid [tabindex='0']")].filter(e => e.checkVisibility()).length`); n != 1 {
		t.Errorf("%d visible stops of the tab key, want 1", n)
	}
	do(t, ctx, chromedp.Click(chromedp.CSS(`input[value=""]`)))
	if n := eval[int](t, ctx, shown+".length"); n != all {
		t.Errorf("all services: %d of %d rows", n, all)
	}
}

func gridOnAPhone(t *testing.T, ctx context.Context) {
	do(t, ctx, chromedp.EmulateViewport(390, 844, chromedp.EmulateScale(2), chromedp.EmulateMobile))
	if w := eval[int](t, ctx, "document.documentElement.scrollWidth"); w > 390 {
		t.Errorf("the page is %d px wide on a phone of 390", w)
	}
	if !eval[bool](t, ctx, `(() => { const p = document.querySelector(".picture"); return p.scrollWidth > p.clientWidth && p.getBoundingClientRect().right <= 390 })()`) {
		t.Error("the picture does not scroll in its own box")
	}
	if n := eval[int](t, ctx, `[...document.querySelectorAll("dd, dt")].filter(e => e.getBoundingClientRect().right > 390 || e.scrollWidth > e.clientWidth + 1).length`); n > 0 {
		t.Errorf("%d versions do not wrap", n)
	}
	// The lock's name stays where the squares are pushed aside.
	do(t, ctx, until(`(document.querySelector(".picture").scrollLeft = 400) > 0`))
	if x := eval[float64](t, ctx, `document.querySelector("table.grid tbody th").getBoundingClientRect().left`); x < 0 {
		t.Errorf("the lock's name is pushed out to %.0f px", x)
	}
}

func gridOnPaper(t *testing.T, ctx context.Context) {
	do(t, ctx, chromedp.EmulateViewport(1040, 720), browser.Call(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"}))
	if w := eval[float64](t, ctx, `document.querySelector("table.grid").getBoundingClientRect().right`); w > 1040 {
		t.Errorf("the picture ends at %.0f px of a page of 1040", w)
	}
	if eval[bool](t, ctx, `document.querySelector(".services").checkVisibility()`) {
		t.Error("the filter is printed")
	}
	do(t, ctx, chromedp.EmulateViewport(1280, 800), browser.Call(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{}))
}

// Without a script every square is a link that says what it is.
func TestMatrixWithoutScript(t *testing.T) {
	ctx, _ := open(t)
	do(t, ctx, browser.Call(emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}), chromedp.Navigate(matrixOnDisk(t, gridMatrix(4, 5))), chromedp.WaitVisible(chromedp.CSS("table.grid a[title]")))
	do(t, ctx, chromedp.WaitNotVisible(chromedp.CSS(".services")))
}
