package harness

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/picklock/picklock/clients/all"
	"github.com/picklock/picklock/clients/register"
)

// A service with a name that means some client in a fault would be hit in its place, and one with that of a helper would be in its way.
func TestNamesThatMeanSomethingElse(t *testing.T) {
	for _, name := range []string{"holder", "waiter", "client", "inspector", "register-log"} {
		file := filepath.Join(t.TempDir(), "cluster.yml")
		text := fmt.Sprintf("services:\n  %s:\n    image: redis:7\n    x-picklock: {role: server, ports: [6379]}\n", name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		o := Defaults()
		o.Locks, o.Backends, o.Cluster = all.Locks(), register.Backends{register.OwnServer()}, file
		if err := o.Possible(t.Context()); !errors.Is(err, ErrUsage) || !strings.Contains(err.Error(), "the service "+name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
