package local

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"testing"
	"time"

	"github.com/picklock/picklock/compose"
	"github.com/picklock/picklock/internal/testkit"
)

var otherVersions = map[string]string{"etcd@3.5.21": "3.5.21", "etcd@0.5.0-alpha.5.0.20200910180754-dd1b699fc489": "3.4"}

// buildOtherVersions builds the servers of TestServersOfAnotherVersion, if it is to run: inside the sandbox no module
// proxy can be reached. An error is not lost: the test builds what is missing, and fails by the same one.
func buildOtherVersions() {
	flag.Parse()
	if is, err := regexp.MatchString(flag.Lookup("test.run").Value.String(), "TestServersOfAnotherVersion"); err != nil || !is {
		return
	}
	for cluster := range otherVersions {
		say := func(text string) { fmt.Fprintln(os.Stderr, text) }
		if err := compose.Build(context.Background(), cluster, "local", say); err != nil {
			say(err.Error())
		}
	}
}

// Servers of another version are members like the built-in ones: they elect a leader, end and come back.
func TestServersOfAnotherVersion(t *testing.T) {
	_, err := exec.LookPath("go")
	testkit.Need(t, "go", err)
	for cluster, says := range otherVersions {
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
			// The others may be electing a leader still when the one that was started again answers.
			err = c.Healthy(t.Context())
			for end := time.Now().Add(30 * time.Second); err != nil && time.Now().Before(end); err = c.Healthy(t.Context()) {
				time.Sleep(50 * time.Millisecond)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
}
