package results

import (
	"testing"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/checker/verdict"
)

// TestProofLeavesOutFaultsOfOthers: of faults of one name, evidence shows those that struck whom
// it is about, or the service.
func TestEvidenceLeavesOutFaultsOfOthers(t *testing.T) {
	tl := &timeline{Tracks: []track{{Name: "redis", Role: roleServer}, {Name: "c1", Role: roleClient}, {Name: "c2", Role: roleClient}, {Name: "c3", Role: roleClient}}}
	a := checker.Anomaly{Processes: []string{"c1"}, Suspect: &verdict.Suspect{Nodes: []string{"c3"}}}
	for _, c := range []struct {
		name   string
		tracks []int
		want   bool
	}{
		{"its own client", []int{1}, false},
		{"another client", []int{2}, true},
		{"whom the suspect struck", []int{3}, false},
		{"the service", []int{0}, false},
		{"another client's link to the service", []int{0, 2}, true},
		{"nobody in particular", nil, false},
	} {
		if got := tl.elsewhere(band{Tracks: c.tracks}, a); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
