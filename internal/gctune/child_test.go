package gctune

import (
	"os"
	"os/exec"
	"slices"
	"testing"
)

// What the user has set stands, and what is picklock's own goes no further.
func TestCalm(t *testing.T) {
	t.Setenv(variable, "50")
	cmd := exec.Command("true")
	if Calm(cmd); cmd.Env != nil {
		t.Errorf("the user's setting is replaced: %v", cmd.Env)
	}
	if err := Own(); err != nil || os.Getenv(variable) != "50" {
		t.Errorf("the user's setting is taken away: %v", err)
	}
	t.Setenv(variable, "")
	if Calm(cmd); !slices.Contains(cmd.Env, calm) {
		t.Errorf("%v has no %s", cmd.Env, calm)
	}
	t.Setenv(given, "1")
	t.Setenv(variable, "400")
	if err := Own(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{variable, given} {
		if v, is := os.LookupEnv(name); is {
			t.Errorf("%s=%s is left for others", name, v)
		}
	}
}
