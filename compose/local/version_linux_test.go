package local

import (
	"os/exec"
	"testing"

	"github.com/picklock/picklock/compose"
	"github.com/picklock/picklock/internal/testkit"
)

// Servers of another version are members like the built-in ones: they elect a leader, end and come back.
func TestServersOfAnotherVersion(t *testing.T) {
	_, err := exec.LookPath("go")
	testkit.Need(t, "go", err)
	for cluster, says := range map[string]string{"etcd@3.5.21": "3.5.21", "etcd@0.5.0-alpha.5.0.20200910180754-dd1b699fc489": "3.4"} {
		t.Run(says, func(t *testing.T) {
			if err := compose.Build(t.Context(), cluster, "local", func(text string) { t.Log(text) }); err != nil {
				t.Fatal(err)
			}
			c := start(t, sandbox, cluster)
			if v := c.Versions(t.Context())["etcd"]; len(v) < len(says) || v[:len(says)] != says {
				t.Errorf("it says that it is %q, want %s", v, says)
			}
			leader, err := c.Leader(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Kill(t.Context(), leader); err != nil {
				t.Fatal(err)
			}
			if err := c.Restart(t.Context(), leader, false); err != nil {
				t.Error(err)
			}
			if err := c.Healthy(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}
