package results

import (
	"strings"
	"testing"

	"github.com/picklock/picklock/history"
)

// TestStyles: the script has words for every kind that it can meet, and every colour is one
// of the page's.
func TestStyles(t *testing.T) {
	for _, k := range []markKind{markRead, markAccepted, markRejected, markUnknown, markFailed, markLost, markEffect, markRefused} {
		if l := styles().Marks[k]; l.Words == "" || !strings.Contains(drawJS, `"`+string(l.Glyph)+`"`) && l.Glyph != glyphDiamond { // what is left
			t.Errorf("%s: %+v", k, l)
		}
	}
	for _, k := range []endKind{heldOpen, heldReleased, heldLost, heldKilled} {
		if styles().Ends[k].Words == "" {
			t.Errorf("no words for the end %s", k)
		}
	}
	for _, k := range []history.Type{history.OK, history.Fail, history.Info} {
		if styles().Results[k] == "" {
			t.Errorf("no words for the result %s", k)
		}
	}
	for name, l := range styles().Faults {
		if !strings.Contains(reportCSS, "--"+l.Tone+":") || !strings.Contains(`/|-\`, l.Hatch) {
			t.Errorf("%s: %+v", name, l)
		}
	}
}
