package main

import (
	"strings"
	"testing"
)

// A default that the text names is not printed once more, and not as nothing.
func TestHelpOfAHuntHasNoEmptyDefault(t *testing.T) {
	if text := huntCommand().UsageString(); strings.Contains(text, "(default )") {
		t.Error(text)
	}
}
