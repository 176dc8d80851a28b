package docker

import (
	"slices"
	"testing"

	"github.com/google/nftables"
)

// tables lists the packet filter's tables of this machine's own network.
func tables(t *testing.T) []string {
	t.Helper()
	c, err := nftables.New()
	if err != nil {
		t.Logf("packet filters cannot be seen: %v", err)
		return nil
	}
	list, err := c.ListTables()
	if err != nil {
		t.Logf("packet filters cannot be seen: %v", err)
		return nil
	}
	var out []string
	for _, x := range list {
		out = append(out, x.Name)
	}
	slices.Sort(out)
	return out
}
