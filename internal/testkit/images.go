package testkit

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Images sees to images of these servers on the Docker engine: where none are named by
// the environment, they are built from this machine's packages (scripts/images), and
// named there. An error says what this machine lacks.
func Images(servers ...string) error {
	if out, err := exec.Command("docker", "version").CombinedOutput(); err != nil {
		return fmt.Errorf("no Docker engine answers (scripts/engine starts one): %s", bytes.TrimSpace(out))
	}
	root, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return fmt.Errorf("find the module: %w", err)
	}
	cmd := exec.Command(filepath.Join(filepath.Dir(strings.TrimSpace(string(root))), "scripts", "images"), servers...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("build images: %w: %s", err, stderr.String())
	}
	for line := range strings.Lines(string(out)) {
		name, value, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "export "), "=")
		if ok && os.Getenv(name) == "" {
			err = errors.Join(err, os.Setenv(name, strings.Trim(value, `'"`)))
		}
	}
	return err
}
