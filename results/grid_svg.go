package results

import (
	"fmt"
	"html"
	"html/template"
	"io"
	"strings"

	"github.com/picklock/picklock/internal/format"
)

// MatrixPicture is the grid as a picture.
const MatrixPicture = "matrix.svg"

// glyphs draw the outcomes in a box of 16: distinguished by shape as well as by colour.
// The page and the picture both use them.
const glyphs template.HTML = `<symbol id="g-held" viewBox="0 0 16 16"><rect x="1" y="1" width="14" height="14" rx="2.5" fill="currentColor"/><path class="m" d="M4.2 8.4 7 11.2 11.8 5" fill="none" stroke="#fff" stroke-width="2"/></symbol>
<symbol id="g-refused" viewBox="0 0 16 16"><path d="M8 .6 14.6 2.8V8c0 3.6-2.6 6.2-6.6 7.6C4 14.2 1.4 11.6 1.4 8V2.8Z" fill="currentColor"/><path class="m" d="M4.2 7.6h7.6" fill="none" stroke="#fff" stroke-width="2.6"/></symbol>
<symbol id="g-known" viewBox="0 0 16 16"><rect x="1.8" y="1.8" width="12.4" height="12.4" rx="2" fill="currentColor" fill-opacity=".13" stroke="currentColor" stroke-width="1.3"/><path d="M4.6 4.6l6.8 6.8M11.4 4.6l-6.8 6.8" fill="none" stroke="currentColor" stroke-width="2"/></symbol>
<symbol id="g-bad" viewBox="0 0 16 16"><path d="M8-.5 16.5 8 8 16.5-.5 8Z" fill="currentColor"/><path class="m" d="M8 3.4v5.4M8 10.6v2.2" fill="none" stroke="#fff" stroke-width="2.2"/></symbol>
<symbol id="g-little" viewBox="0 0 16 16"><circle cx="8" cy="8" r="6.4" fill="none" stroke="currentColor" stroke-width="1.5"/><path d="M5.8 6.4a2.2 2.2 0 1 1 3.2 2c-.7.4-1 .8-1 1.4M8 11v1.6" fill="none" stroke="currentColor" stroke-width="1.6"/></symbol>
<symbol id="g-left" viewBox="0 0 16 16"><path d="M4.5 8h7" fill="none" stroke="currentColor" stroke-width="2"/></symbol>`

// The colours of the picture, which is to be read on a light and on a dark page; they
// are those of matrix.css.
const pictureStyle = `
.bg{fill:#fff}.frame{fill:none;stroke:#d8dee4}.band{fill:#f3f5f7}.t{fill:#1c2127}.q{fill:#57606a}.m{stroke:#fff}.rule{stroke:#d8dee4}
.g-held{color:#116149}.g-refused{color:#2b8a66}.g-known{color:#0b57b0}.g-bad{color:#b3360b}.g-little{color:#7a5600}.g-left{color:#6b7682}
@media (prefers-color-scheme:dark){.bg{fill:#1a2027}.frame,.rule{stroke:#313a44}.frame{fill:none}.band{fill:#212931}.t{fill:#e3e8ed}.q{fill:#9aa6b2}.m{stroke:#12161b}
.g-held{color:#56c596}.g-refused{color:#8be0bd}.g-known{color:#7db4ff}.g-bad{color:#ff9466}.g-little{color:#e2b34b}.g-left{color:#9aa6b2}}
`

// The picture's measures.
const (
	gridPitch = 15.0
	gridGap   = 10.0 // between panels
	gridEdge  = 16.0
	gridChar  = 6.1 // the width of a letter of a label, about
)

// MatrixSVG draws the grid as a picture that needs nothing else and runs nothing.
func MatrixSVG(w io.Writer, m *Matrix) error {
	p := gridPicture{grid: m.grid()}
	p.draw(m)
	_, err := io.WriteString(w, p.b.String())
	return err
}

type gridPicture struct {
	grid
	b         strings.Builder
	left, top float64 // of the squares
}

func (p *gridPicture) f(format string, a ...any) { fmt.Fprintf(&p.b, format, a...) }

func (p *gridPicture) draw(m *Matrix) {
	widest, tallest := 0, 0
	for _, r := range p.Rows {
		widest = max(widest, len([]rune(r.Label)))
	}
	for _, panel := range p.Panels {
		for _, c := range panel.Columns {
			tallest = max(tallest, len([]rune(c.Label)))
		}
	}
	p.left = gridEdge + float64(widest)*gridChar + 8
	p.top = gridEdge + 78 + float64(tallest)*gridChar
	width := max(760, p.x(p.Columns)+gridEdge)
	height := p.top + float64(len(p.Rows))*gridPitch + gridEdge
	p.f(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" width="%.0f" height="%.0f" role="img" aria-labelledby="title desc" font-family="system-ui,-apple-system,'Segoe UI',Roboto,sans-serif" font-size="11">`, width, height, width, height)
	p.f("\n<title id=\"title\">picklock: %s</title>\n<desc id=\"desc\">%s</desc>\n<style>%s</style>\n<defs>%s</defs>\n", html.EscapeString(m.headlineOf()), html.EscapeString(p.describe(m)), pictureStyle, glyphs)
	p.f(`<rect class="bg" width="%.0f" height="%.0f" rx="8" fill="#fff"/><rect class="frame" x=".5" y=".5" width="%.0f" height="%.0f" rx="8" fill="none" stroke="#d8dee4"/>`, width, height, width-1, height-1)
	p.legend(m)
	p.heads()
	for i, r := range p.Rows {
		p.row(i, r)
	}
	p.f("\n</svg>\n")
}

// x is where the n-th column begins; a gap sets the panels apart.
func (p *gridPicture) x(n int) float64 {
	x, before := p.left+float64(n)*gridPitch, 0
	for _, panel := range p.Panels {
		if before += len(panel.Columns); n >= before && n < p.Columns {
			x += gridGap
		}
	}
	if n >= p.Columns {
		x += gridGap * float64(max(0, len(p.Panels)-1))
	}
	return x
}

func (p *gridPicture) text(x, y float64, class, extra, s string) {
	p.f(`<text x="%.1f" y="%.1f" class="%s"%s>%s</text>`, x, y, class, extra, html.EscapeString(s))
}

func (p *gridPicture) use(x, y, size float64, o *outcome, title string) {
	p.f("\n<g class=\"%s\"><title>%s</title><use href=\"#%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/></g>", o.Name, html.EscapeString(title), o.Name, x, y, size, size)
}

func (p *gridPicture) legend(m *Matrix) {
	p.text(gridEdge, gridEdge+14, "t", ` font-size="16" font-weight="600"`, m.headlineOf())
	x := gridEdge
	for _, l := range p.Legend {
		p.use(x, gridEdge+27, 13, l.outcome, l.Word)
		word := format.Count(l.N) + " " + l.Word
		p.text(x+19, gridEdge+38, "t", ` font-size="12"`, word)
		x += 19 + float64(len([]rune(word)))*6.6 + 16
	}
}

func (p *gridPicture) heads() {
	n := 0
	bottom := p.top - 6
	for _, panel := range p.Panels {
		from, to := p.x(n), p.x(n+len(panel.Columns)-1)+gridPitch
		p.text(from, gridEdge+62, "t", ` font-weight="600"`, panel.Title)
		p.f(`<path class="rule" d="M%.1f %.1fH%.1f" stroke="#d8dee4"/>`, from, gridEdge+67, to-2)
		for _, c := range panel.Columns {
			x := p.x(n) + gridPitch/2 + 4
			p.f("\n")
			p.text(x, bottom, "q", fmt.Sprintf(` transform="rotate(-90 %.1f %.1f)"`, x, bottom), c.Label)
			n++
		}
	}
}

func (p *gridPicture) row(i int, r gridRow) {
	y := p.top + float64(i)*gridPitch
	if i%2 == 0 {
		p.f("\n"+`<rect class="band" x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="#f3f5f7"/>`, gridEdge-6, y, p.x(p.Columns)-gridEdge+6, gridPitch)
	}
	p.text(p.left-6, y+11, "t", ` text-anchor="end"`, r.Label)
	for n, s := range r.Squares {
		if s.Outcome != nil {
			p.use(p.x(n)+1, y+1, gridPitch-2, s.Outcome, s.Text)
		}
	}
}

// describe says the picture in words, for those who do not see it.
func (p *gridPicture) describe(m *Matrix) string {
	var counts []string
	for _, l := range p.Legend {
		counts = append(counts, format.Count(l.N)+" "+l.Word)
	}
	played := map[string]bool{}
	for _, c := range m.Cells {
		played[c.Scenario] = true
	}
	return fmt.Sprintf("A grid of %s by %s, in one panel a kind of fencing: %s.", plural(len(p.Rows), "lock", "locks"), plural(len(played), "scenario", "scenarios"), strings.Join(counts, ", "))
}
