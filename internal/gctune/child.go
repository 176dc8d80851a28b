package gctune

import (
	"os"
	"os/exec"
)

const (
	variable = "GOGC"
	// calm is what a program of picklock's own starts with: its packages set up less than then makes the
	// first collection, which would take half of what such a short life costs.
	calm = variable + "=400"
	// given says that calm is not the user's.
	given = "PICKLOCK_GOGC"
)

// Calm has a program of picklock's own begin without collecting. What the user has set stands.
func Calm(cmd *exec.Cmd) {
	if os.Getenv(variable) != "" {
		return
	}
	if cmd.Env == nil {
		cmd.Env = os.Environ()
	}
	cmd.Env = append(cmd.Env, calm, given+"=1")
}

// Own is called first by a program that Calm was called for: what it starts is not picklock's.
func Own() error {
	if os.Getenv(given) == "" {
		return nil
	}
	if err := os.Unsetenv(variable); err != nil {
		return err
	}
	return os.Unsetenv(given)
}
