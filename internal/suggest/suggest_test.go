package suggest

import (
	"strings"
	"testing"
)

func TestWord(t *testing.T) {
	words := []string{"pause", "resume", "kill", "start"}
	for word, want := range map[string]string{"pasue": "pause", "Pause": "pause", "kil": "kill", "resmue": "resume", "xyz": "", "p": ""} {
		got := Word(word, words)
		if want == "" && got != "" || want != "" && !strings.Contains(got, want+"?") {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
}

func TestUnknown(t *testing.T) {
	for word, want := range map[string]string{
		"pasue": `unknown fault "pasue": did you mean pause? (have pause, kill, or a node)`,
		"xyz":   `unknown fault "xyz": have pause, kill, or a node`,
	} {
		if got := Unknown("fault", word, []string{"pause", "kill"}, "or a node").Error(); got != want {
			t.Errorf("%q: %s, want %s", word, got, want)
		}
	}
}

func TestListed(t *testing.T) {
	words := []string{"pause-holder", "pause-in-release", "delayed-write", "server-pause", "lock-delay", "late-pause-of-a-client"}
	for word, want := range map[string]string{
		"pause-holdr":   `unknown scenario "pause-holdr": did you mean pause-holder? (list shows all 6)`,
		"Delay":         `unknown scenario "Delay": did you mean lock-delay or delayed-write? (list shows all 6)`,
		"pause":         `unknown scenario "pause": did you mean pause-holder, server-pause or pause-in-release? (list shows all 6)`,
		"nothing-alike": `unknown scenario "nothing-alike": list shows all 6`,
		"":              `unknown scenario "": list shows all 6`,
	} {
		if got := Listed("scenario", word, words, "list").Error(); got != want {
			t.Errorf("%q: %s, want %s", word, got, want)
		}
	}
}
