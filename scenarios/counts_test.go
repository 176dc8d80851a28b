package scenarios

import (
	"strings"
	"testing"
)

// A number of what nothing counts would be 0 in every run, and be met by 0.
func TestCountsOfNothing(t *testing.T) {
	text := `name: x
about: x
locks: [zookeeper]
clients: {A: "acquire, release"}
count:
  - {what: wake-ups, when: before A's release, until: after A's release}
expect: {"*": {counts: {wake-upz: 0}}}
`
	if _, err := Parse("x.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), "wake-upz") {
		t.Errorf("%v", err)
	}
	if _, err := Parse("x.yaml", []byte(strings.Replace(text, "wake-upz", "wake-ups", 1))); err != nil {
		t.Error(err)
	}
}
