package results

import (
	"testing"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/clients/all"
)

// TestPromises: every property of every kind of lock has its promise in words.
func TestPromises(t *testing.T) {
	for _, i := range all.Locks().All() {
		for _, property := range checker.Properties {
			if promiseOf(Run{Kind: i.Kind}, property) == "" {
				t.Errorf("%s: no promise for %s", i.Name, property)
			}
		}
		if i.Kind != "" && promiseOf(Run{Kind: i.Kind}, checker.Exclusion) == promises[checker.Exclusion] {
			t.Errorf("%s: the promise of a mutex for kind %s", i.Name, i.Kind)
		}
	}
}
