package checker

import (
	"os"
	"testing"
)

// Every anomaly of a verdict is in one group.
func TestGroupsHoldAllAnomalies(t *testing.T) {
	text, err := os.ReadFile("testdata/wrong-release.txt")
	if err != nil {
		t.Fatal(err)
	}
	v := Check(script(t, string(text)))
	n, groups := 0, v.Groups()
	for _, g := range groups {
		n += g.Count
		for _, c := range g.LedTo {
			n += c.Count + c.Perhaps
		}
	}
	if n != len(v.Anomalies) || groups[0].Name != "wrong-release" || groups[0].LedTo[0].Name != "granted-early" {
		t.Errorf("%d of %d anomalies in %+v", n, len(v.Anomalies), groups)
	}
}
