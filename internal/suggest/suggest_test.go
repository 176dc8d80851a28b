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
