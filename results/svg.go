package results

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"slices"
	"strings"

	"github.com/picklock/picklock/internal/format"
)

// The static picture's measures, in SVG units of about a pixel.
const (
	picWidth  = 1000.0
	picGutter = 110.0
	picTop    = 46.0
	picRow    = 46.0
	picMarks  = 400 // marks are no more than this, so that a mail client copes
)

// picture draws the first anomaly's window, or the run's beginning, with only
// the tracks that matter. It is what shows without a script and on paper.
func (t *timeline) picture(lease int64) (template.HTML, string) {
	var sc scene
	var from, to int64
	caption := "The whole run."
	if len(t.Anomalies) > 0 {
		sc = t.Anomalies[0]
		from, to = t.window(sc, lease)
		caption = fmt.Sprintf("%s at %s, with what went before and after. Numbers are the rows of the evidence.", clip(sc.Name, 60), format.Instant(sc.Time))
	} else {
		f := t.focus(lease)
		from, to = f.From, f.To
		sc.Tracks = f.Tracks[:min(len(f.Tracks), 14)]
		switch {
		case f.What == focusRefusal:
			caption = "The first refused write, with what went before and after."
		case f.What == focusContention:
			caption = "The first time that one client waited while another held the lock, and what came next."
		case to < t.End:
			caption = "The first " + format.Page.Length(to-from) + " of the run."
		}
	}
	if to <= from {
		to = from + 1
	}
	p := &pic{t: t, from: from, to: to, scene: sc, rows: map[int]int{}}
	for i := range t.Tracks {
		if p.wanted(i) {
			p.rows[i] = len(p.tracks)
			p.tracks = append(p.tracks, i)
		}
	}
	p.draw()
	return template.HTML(p.b.String()), caption //nolint:gosec // every text in it was escaped when it was drawn
}

type pic struct {
	t        *timeline
	from, to int64
	scene    scene
	tracks   []int
	rows     map[int]int
	b        strings.Builder
}

// wanted leaves out bystanders where there are many tracks.
func (p *pic) wanted(ln int) bool {
	if len(p.t.Tracks) <= 7 || p.t.Tracks[ln].Role == roleRegister {
		return true
	}
	if len(p.scene.Tracks) == 0 {
		return ln < 10
	}
	if slices.Contains(p.scene.Tracks, ln) {
		return true
	}
	if p.scene.Name == "" {
		return false // those that act in the view are all that matter
	}
	return slices.ContainsFunc(p.t.Bands, func(b band) bool {
		return slices.Contains(b.Tracks, ln) && b.From <= p.scene.To && b.To >= p.scene.From
	})
}

// x maps a time to the picture, clamped a little outside of it.
func (p *pic) x(at int64) float64 {
	f := (float64(at) - float64(p.from)) / (float64(p.to) - float64(p.from))
	return picGutter + min(1, max(0, f))*(picWidth-picGutter-6)
}

func (p *pic) y(row int) float64 { return picTop + float64(row)*picRow }

func (p *pic) in(from, to int64) bool { return to >= p.from && from <= p.to }

func (p *pic) f(format string, a ...any) { fmt.Fprintf(&p.b, format, a...) }

func (p *pic) text(x, y float64, class, anchor, s string) {
	fill := "#57606a"
	if class == "t-bar" {
		fill = "#ffffff"
	}
	p.f(`<text x="%.1f" y="%.1f" class="%s" font-size="12" font-family="system-ui,sans-serif" fill="%s" text-anchor="%s">%s</text>`, x, y, class, fill, anchor, html.EscapeString(s))
}

func (p *pic) rect(x0, y, x1, h float64, class, fill, title string) {
	p.f(`<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" class="%s" fill="%s"><title>%s</title></rect>`, x0, y, max(1, x1-x0), h, class, fill, html.EscapeString(title))
}

func (p *pic) draw() {
	height := p.y(len(p.tracks)) + 12
	p.f(`<svg class="picture" viewBox="0 0 %.0f %.0f" role="img" aria-label="timeline" xmlns="http://www.w3.org/2000/svg">`, picWidth, height)
	p.f(`<defs><pattern id="past" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect width="3" height="6" class="p-past" fill="#c2410c"/></pattern></defs>`)
	for i, ln := range p.tracks {
		l := p.t.Tracks[ln]
		p.f(`<line x1="0" x2="%.0f" y1="%.1f" y2="%.1f" class="p-rule" stroke="#d0d7de" stroke-width="1"/>`, picWidth, p.y(i), p.y(i))
		p.text(4, p.y(i)+26, "t-track", "start", clip(l.Name, 15))
	}
	p.axis(height)
	p.bands()
	p.holds()
	p.marks()
	p.evidence(height)
	p.f(`</svg>`)
}

func (p *pic) axis(height float64) {
	step := niceStep(float64(p.to-p.from) / 8)
	dec := 0
	if step < 1e9 {
		dec = min(6, int(math.Ceil(-math.Log10(step/1e9)-1e-9)))
	}
	// Counted, not accumulated: a step below a time's precision must not loop.
	first := math.Ceil(float64(p.from) / step)
	for i := range 20 {
		at := (first + float64(i)) * step
		if at > float64(p.to) {
			break
		}
		x := p.x(int64(at))
		p.f(`<line x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f" class="p-grid" stroke="#eaeef2" stroke-width="1"/>`, x, x, picTop, height-12)
		p.text(x, picTop-6, "t-axis", "middle", fmt.Sprintf("%.*f s", dec, at/1e9))
	}
}

// niceStep is the next 1, 2 or 5 times a power of ten.
func niceStep(v float64) float64 {
	if !(v > 0) {
		return 1
	}
	base := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{1, 2, 5} {
		if m*base >= v {
			return m * base
		}
	}
	return 10 * base
}

func (p *pic) bands() {
	n := 0
	for _, b := range p.t.Bands {
		if !p.in(b.From, b.To) || !b.Confirmed || n > 100 {
			continue
		}
		n++
		tracks := b.Tracks
		if len(tracks) == 0 {
			tracks = p.tracks
		}
		for _, ln := range tracks {
			row, ok := p.rows[ln]
			if !ok {
				continue
			}
			x0, x1 := p.x(b.From), p.x(b.To)
			p.rect(x0, p.y(row)+1, x1, picRow-1, "p-fault", "#f2e3b3", clip(b.Name+" "+b.Detail, 120))
			if x1-x0 > 7*float64(len(b.Name)) {
				p.text(x0+4, p.y(row)+picRow-4, "t-fault", "start", clip(b.Name, 40))
			}
		}
	}
}

func (p *pic) holds() {
	n := 0
	for i, h := range p.t.Holds {
		row, ok := p.rows[h.Track]
		shown := slices.Contains(p.scene.Holds, i)
		if !ok || !p.in(h.From, max(h.To, h.Lease)) || n > 300 && !shown {
			continue
		}
		n++
		class, fill := "p-hold", "#5b7fa6"
		if shown {
			class, fill = "p-bad", "#c2410c"
		}
		y := p.y(row) + 14
		title := fmt.Sprintf("%s holds %s", clip(p.t.Tracks[h.Track].Name, 60), clip(h.Grant, 60))
		if len(p.t.Keys) > 1 {
			title += " of key " + clip(p.t.Keys[h.Key], 60)
		}
		alive := h.To
		if h.Lease >= 0 && h.Lease < h.To {
			alive = max(h.From, h.Lease)
		}
		if alive > h.From {
			p.rect(p.x(h.From), y, p.x(alive), 15, class, fill, title)
		}
		if alive < h.To {
			p.rect(p.x(alive), y, p.x(h.To), 15, class+" p-beyond", "url(#past)", title+": its lease may be over")
		}
		if h.Lease >= 0 && (h.Ended == heldKilled || h.Lease <= h.To) && h.Lease > h.From {
			p.rect(p.x(h.From), y+17, p.x(h.Lease), 3, "p-lease", "#8aa5c2", "lease certain until "+format.Instant(h.Lease))
		}
		label := clip(h.Grant, 30)
		if h.Token != 0 {
			label += fmt.Sprintf(" · token %d", h.Token)
		}
		if len(p.t.Keys) > 1 {
			label = "key " + clip(p.t.Keys[h.Key], 30) + " · " + label
		}
		if w := p.x(alive) - p.x(h.From); w > 7*float64(len(label)) {
			p.text(p.x(h.From)+5, y+11.5, "t-bar", "start", label)
		}
	}
	for i, w := range p.t.Waits {
		if row, ok := p.rows[w.Track]; ok && i < 20000 && n < 800 && p.in(w.From, w.To) {
			n++
			p.f(`<line x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f" class="p-wait" stroke="#8c959f" stroke-width="1.5"/>`, p.x(w.From), p.x(w.To), p.y(row)+21.5, p.y(row)+21.5)
		}
	}
}

func (p *pic) marks() {
	n := 0
	for _, m := range p.t.Marks {
		row, ok := p.rows[m.Track]
		if !ok || m.Kind == markRead || !p.in(m.At, m.At) || n > picMarks {
			continue
		}
		n++
		x, y := p.x(m.At), p.y(row)+21.5
		if m.Hold >= 0 && slices.Contains(p.scene.Holds, m.Hold) && m.From <= p.scene.Time && m.At >= p.scene.Time {
			p.f(`<circle cx="%.1f" cy="%.1f" r="8" class="p-ring" fill="#ffffff" stroke="#c2410c" stroke-width="2.5"/>`, x, y)
		}
		switch m.Kind {
		case markAccepted, markEffect:
			p.f(`<circle cx="%.1f" cy="%.1f" r="4" class="p-ok" fill="#1a7f5a" stroke="#ffffff" stroke-width="1.2"/>`, x, y)
		case markRejected, markRefused, markFailed:
			p.f(`<path d="M%.1f %.1fl8 8m0 -8l-8 8" class="p-no" stroke="#24292f" stroke-width="2.2" fill="none"/>`, x-4, y-4)
		default:
			p.f(`<path d="M%.1f %.1fl5 5l-5 5l-5 -5z" class="p-open" stroke="#57606a" stroke-width="1.5" fill="#ffffff"/>`, x, y-5)
		}
	}
}

// evidence draws the numbers of the table's rows where they happened, and the
// instant at which the harm was done.
func (p *pic) evidence(height float64) {
	if p.scene.Name == "" {
		return
	}
	x := p.x(p.scene.Time)
	p.f(`<line x1="%.1f" x2="%.1f" y1="22" y2="%.1f" class="p-harm" stroke="#c2410c" stroke-width="1.5" stroke-dasharray="5 3"/>`, x, x, height-12)
	anchor, tx := "start", x+5
	if x > picWidth*0.7 {
		anchor, tx = "end", x-5
	}
	p.text(tx, 18, "t-harm", anchor, fmt.Sprintf("%s at %s", clip(p.scene.Name, 60), format.Instant(p.scene.Time)))
	last := map[int]float64{}
	for _, s := range p.scene.Evidence {
		row, ok := p.rows[s.Track]
		if !ok {
			continue
		}
		bx := p.x(s.At)
		if l, ok := last[row]; ok && bx < l+13 {
			bx = l + 13
		}
		last[row] = bx
		p.f(`<circle cx="%.1f" cy="%.1f" r="6.5" class="p-badge" fill="#24292f"/>`, bx, p.y(row)+7.5)
		p.f(`<text x="%.1f" y="%.1f" class="t-badge" font-size="10" font-family="system-ui,sans-serif" fill="#ffffff" text-anchor="middle">%d</text>`, bx, p.y(row)+10.7, s.N)
	}
}
