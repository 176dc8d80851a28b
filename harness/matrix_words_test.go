package harness

import "testing"

// TestLastLine: of what a program said, its own last message counts, not the log that it quotes.
func TestLastLine(t *testing.T) {
	for text, want := range map[string]string{
		"1 run\npicklock: sentinel1 is not ready; its log ends with\n  1:X # Sentinel ID is 05df\n": "sentinel1 is not ready; its log ends with",
		"panic: no\ngoroutine 1\n":                "goroutine 1",
		"picklock: first\npicklock: the latest\n": "the latest",
	} {
		if got := lastLine(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
