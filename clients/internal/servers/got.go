package servers

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/picklock/picklock/internal/built"
	"github.com/picklock/picklock/internal/testkit"
)

// Got is what picklock has got for the servers of a cluster, in some version: the folder that has this file. A test gets
// nothing itself: what was not built here skips it.
func Got(t testing.TB, cluster, file string) string {
	t.Helper()
	pattern, err := built.Below("servers", cluster+"@*")
	if err != nil {
		t.Fatal(err)
	}
	found, _ := filepath.Glob(filepath.Join(pattern, file)) // a bad pattern finds nothing
	if len(found) == 0 {
		testkit.Need(t, cluster, fmt.Errorf("no %s: picklock lock build --cluster %s", file, cluster))
	}
	return filepath.Dir(found[len(found)-1])
}
