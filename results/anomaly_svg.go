package results

import (
	"html/template"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/history"
)

// AnomalySVG draws what proves an anomaly, as a report's first picture does, for pages of
// others; with its caption. It is empty where there is nothing to draw.
func AnomalySVG(run Run, a checker.Anomaly, events []history.Event) (template.HTML, string) {
	t := newTimeline(run, events, nil)
	if len(t.Tracks) == 0 || t.End <= t.Start {
		return "", ""
	}
	rows, _ := t.evidence(a, events, nil)
	t.addScene(a, rows)
	return t.picture(t.longestLease(run))
}

// CSS is the stylesheet of reports: their colours, light and dark, and what AnomalySVG draws
// with.
func CSS() string { return reportCSS }

// CSP lets a page use this style and this script, which are in it, and nothing else.
func CSP(style, script string) string {
	return "default-src 'none'; style-src '" + hash(style) + "'; script-src '" + hash(script) + "'; base-uri 'none'; form-action 'none'"
}
