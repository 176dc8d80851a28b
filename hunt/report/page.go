package report

import (
	_ "embed"
	"fmt"
	"html"
	"html/template"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/picklock/picklock/checker/verdict"
	"github.com/picklock/picklock/hunt"
	"github.com/picklock/picklock/internal/format"
	"github.com/picklock/picklock/results"
	"github.com/picklock/picklock/scenarios"
)

//go:embed assets/hunt.html.tmpl
var pageHTML string

//go:embed assets/hunt.css
var pageCSS string

//go:embed assets/hunt.js
var pageJS string

var pageTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("hunt").Funcs(template.FuncMap{"count": format.Count}).Parse(pageHTML))
})

// page is what the template shows: text only, ready to read.
type page struct {
	CSP                          string
	CSS                          template.CSS
	JS                           template.JS
	Title, Valid, Headline, Lead string
	Started, Tested, Covered     string
	Counterexamples              []counterexampleView
	Depths                       []hunt.Depth
	Curve                        template.HTML
	Infeasible, Unfinished       []string
	Stopped                      string // why it ended early
	Uncovered                    []string
	Command, Versions            string
}

type counterexampleView struct {
	Number                           int
	Class, What, Heading             string
	Takes, Rate, Reproduced, Command string
	Test                             string // the command as a test; "" for none
	Larger                           string // why it may take less
	Explanation, Caption             string
	Once                             bool // it was proved and is intermittent
	Help, Story, Needed, Cause       []string
	Variants                         []string
	Mitigations                      []mitigationView
	Advice, AdviceLink               string // "" if nothing is known
	Picture                          template.HTML
}

type mitigationView struct{ Class, Text string }

// longest bounds a text that a lock or a server may have written.
const longest = 2000

func clip(s string) string {
	r := []rune(s)
	if len(r) <= longest {
		return s
	}
	return string(r[:longest]) + "…"
}

// HTML writes hunt.html: one file that needs nothing else, no network and, but for its
// buttons, no script.
func HTML(w io.Writer, r *hunt.Result, dir string) error {
	css := results.CSS() + pageCSS
	p := page{
		CSP: results.CSP(css, pageJS), CSS: template.CSS(css), JS: template.JS(pageJS), //nolint:gosec // our own files
		Headline: headline(r), Lead: lead(r), Covered: strings.Join(covered(r), "; "), Uncovered: uncovered(r), Unfinished: r.Unfinished, Stopped: clip(r.Stopped), Depths: r.Depths, Curve: curve(r),
		Command: format.Shell(r.Command...), Valid: "holds",
		Tested: clip(fmt.Sprintf("%s · fencing %s · lease %v · searched for %v", r.Lock, r.Fencing, time.Duration(r.TTL), time.Duration(r.Seconds*1e9).Round(time.Second))),
	}
	switch {
	case len(r.Counterexamples) > 0:
		p.Valid = "broken"
	case r.Unproved() != "":
		p.Valid = "unknown"
	}
	p.Title = "picklock hunt: " + p.Headline
	if !r.Started.IsZero() {
		p.Started = r.Started.Format("2006-01-02 15:04:05 MST")
	}
	for _, i := range r.Infeasible {
		p.Infeasible = append(p.Infeasible, clip(i))
	}
	p.Versions = versions(r)
	for i, counterexample := range r.Counterexamples {
		p.Counterexamples = append(p.Counterexamples, view(r, counterexample, i+1, dir))
	}
	return pageTemplate().Execute(w, p)
}

func view(r *hunt.Result, w *hunt.Counterexample, n int, dir string) counterexampleView {
	v := counterexampleView{
		Number: n, Class: class(w), What: what(w), Heading: heading(w), Takes: w.Takes(), Reproduced: rateWords(w), Command: Replay(r, w, dir), Test: AsTest(r, w, dir), Larger: w.Larger, Explanation: clip(w.Explanation),
		Once: !w.Steady(), Story: picture(r, w), Cause: causeWords(w), Variants: variantWords(w), Needed: slices.DeleteFunc(slices.Clone(w.Needed), func(s string) bool { return s == "" }),
	}
	v.Rate = shareWords(rateOf(w))
	if says, do := advice(w); len(do) > 0 {
		v.Cause = append(says, v.Cause...)
		v.Advice, v.AdviceLink = do[0], do[1]
	}
	for _, m := range w.Mitigations {
		switch {
		case m.Why != "":
			v.Mitigations = append(v.Mitigations, mitigationView{"untried", clip(fmt.Sprintf("%s: not tried: %s", m.Name, m.Why))})
		case m.Rate.Runs == 0:
			v.Mitigations = append(v.Mitigations, mitigationView{"untried", fmt.Sprintf("%s: all runs were discarded", m.Name)})
		case m.Rate.Helps(rateOf(w)):
			v.Help = append(v.Help, m.Name)
			v.Mitigations = append(v.Mitigations, mitigationView{"helps", fmt.Sprintf("%s: prevents it (%s)", m.Name, noneOf(m.Rate))})
		case m.Rate.Hits == 0 && m.Rate.Runs > m.Rate.Missed:
			v.Mitigations = append(v.Mitigations, mitigationView{"untried", fmt.Sprintf("%s: may prevent it: too few runs (%s)", m.Name, noneOf(m.Rate))})
		case m.Rate.Hits == 0:
			v.Mitigations = append(v.Mitigations, mitigationView{"untried", fmt.Sprintf("%s: its fault was triggered in none of %d runs", m.Name, m.Rate.Runs)})
		default:
			v.Mitigations = append(v.Mitigations, mitigationView{"helpless", fmt.Sprintf("%s: does not prevent it (%d of %d)", m.Name, m.Rate.Hits, m.Rate.Runs)})
		}
	}
	if p := w.Evidence; p != nil {
		var run results.Run
		run.Lock, run.Fencing, run.TTL = r.Lock, r.Fencing, time.Duration(r.TTL)
		if s, err := scenarios.Parse(w.Name+".yaml", []byte(w.Schedule)); err == nil {
			run.TTL = s.TTL // the counterexample may need another lease
		}
		v.Picture, v.Caption = results.AnomalySVG(run, p.Anomaly, p.Events)
	}
	return v
}

func shareWords(r hunt.Rate) string { return fmt.Sprintf("%d of %d", r.Hits, r.Runs) }

// headline is the verdict. A lock may be a long command, so that it stands below.
func headline(r *hunt.Result) string {
	if len(r.Counterexamples) > 0 {
		return verdict.Failed(r.Failures())
	}
	return clip(r.Summary())
}

// lead names the smallest counterexample, of a lock bug if there is one, and how many are reproduced reliably.
func lead(r *hunt.Result) string {
	if len(r.Counterexamples) == 0 {
		return "This is no proof that there is none: see the coverage below."
	}
	easiest, steady := r.Counterexamples[0], 0
	for _, w := range r.Counterexamples {
		if w.LeaseHazard() == easiest.LeaseHazard() && w.Faults < easiest.Faults { // lock bugs come first
			easiest = w
		}
		if w.Steady() {
			steady++
		}
	}
	return fmt.Sprintf("Smallest counterexample: %s (%s). %d of %d %s reproduced reliably.", easiest.Takes(), shareWords(rateOf(easiest)), steady, len(r.Counterexamples), format.Noun(steady, "is", "are"))
}

// The curve's measures.
const (
	curveWidth, curveHeight, curveBase = 900.0, 160.0, 130.0
)

// curve draws the states that were seen over the time.
func curve(r *hunt.Result) template.HTML {
	if len(r.Curve) < 2 {
		return ""
	}
	last := r.Curve[len(r.Curve)-1]
	x := func(s float64) float64 { return 50 + (curveWidth-60)*s/max(last.Seconds, 0.001) }
	most := 1
	for _, c := range r.Curve {
		most = max(most, c.States)
	}
	y := func(states int) float64 { return curveBase - (curveBase-20)*float64(states)/float64(most) }
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="curve" viewBox="0 0 %g %g" role="img" aria-label="%s">`, curveWidth, curveHeight, html.EscapeString(fmt.Sprintf("%s states seen in %.0f seconds", format.Count(last.States), last.Seconds)))
	fmt.Fprintf(&b, `<line class="base" x1="50" x2="%.1f" y1="%g" y2="%g"/><text x="50" y="%g">0 s</text><text x="%.1f" y="%g" text-anchor="end">%.0f s</text><text x="44" y="26" text-anchor="end">%s</text>`,
		x(last.Seconds), curveBase, curveBase, curveBase+18, x(last.Seconds), curveBase+18, last.Seconds, format.Count(most))
	for _, w := range r.Counterexamples {
		if w.FirstSecond <= last.Seconds {
			fmt.Fprintf(&b, `<line class="found" x1="%.1f" x2="%.1f" y1="14" y2="%g"/>`, x(w.FirstSecond), x(w.FirstSecond), curveBase)
		}
	}
	b.WriteString(`<polyline class="line" points="`)
	for _, c := range r.Curve {
		fmt.Fprintf(&b, "%.1f,%.1f ", x(c.Seconds), y(c.States))
	}
	b.WriteString(`"/></svg>`)
	return template.HTML(b.String()) //nolint:gosec // numbers, and one text that was escaped
}
