package format

import (
	"slices"
	"strings"
	"testing"
)

// TestWithoutTraces: what is left of an output is what its reader needs.
func TestWithoutTraces(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"none":          {"one\ntwo", "one\ntwo"},
		"Java":          {"Exception in thread \"main\" java.io.IOException: refused\n\tat Lock.main(Lock.java:7)\nCaused by: no route\n\t... 3 more", "Exception in thread \"main\" java.io.IOException: refused\nCaused by: no route"},
		"Python":        {"Traceback (most recent call last):\n  File \"lock.py\", line 3, in f\n    x()\nKeyError: 'k0'", "Traceback (most recent call last):\nKeyError: 'k0'"},
		"Node":          {"TypeError: x is not a function\n    at file:///lock.mjs:3:1\n\nNode.js v20.1.0", "TypeError: x is not a function"},
		"Go":            {"open lock\npanic: no token\n\ngoroutine 1 [running]:\nmain.main()\n\t/lock.go:3 +0x1d\nexit status 2", "open lock\npanic: no token"},
		"only indented": {"  one\n\ttwo", "  one\n\ttwo"},
		"empty":         {"", ""},
	} {
		if got := WithoutTraces(strings.Split(c.text, "\n")); !slices.Equal(got, strings.Split(c.want, "\n")) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
