package all

import (
	"slices"
	"testing"
)

// What a lock of these services does is mostly its official client's doing: records say which
// version it was.
func TestModules(t *testing.T) {
	theirs := []string{"consul", "etcd", "etcd-single", "kubernetes"}
	seen := map[string]bool{}
	for _, i := range Locks().All() {
		if !slices.Contains(theirs, i.Cluster) {
			continue
		}
		seen[i.Cluster] = true
		if i.Module == "" && i.Unlocked == nil && i.Library == nil { // a client of a library says its version itself
			t.Errorf("%s names no module", i.Name)
		}
	}
	if len(seen) < 3 {
		t.Errorf("only locks of %v", seen)
	}
}
