package results

import (
	"html/template"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/history"
)

// Still draws what proves an anomaly, as a report's first picture does, for pages of
// others; with its caption. It is empty where there is nothing to draw.
func Still(run Run, a checker.Anomaly, events []history.Event) (template.HTML, string) {
	t := newTimeline(run, events, nil)
	if len(t.Lanes) == 0 || t.End <= t.Start {
		return "", ""
	}
	rows, _ := t.proof(a, events, nil)
	t.addScene(a, rows)
	return t.picture(t.longestLease(run))
}

// Style is the stylesheet of reports: their colours, light and dark, and what Still draws
// with.
func Style() string { return reportCSS }

// Policy lets a page use this style and this script, which are in it, and nothing else.
func Policy(style, script string) string {
	return "default-src 'none'; style-src '" + hash(style) + "'; script-src '" + hash(script) + "'; base-uri 'none'; form-action 'none'"
}
