package docker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// findCompose finds `docker compose`, else `docker-compose`.
func findCompose(ctx context.Context) ([]string, error) {
	if docker, err := exec.LookPath("docker"); err == nil {
		// The plugin is asked for its own option: without it, docker itself answers.
		if exec.CommandContext(ctx, docker, "compose", "version").Run() == nil {
			return []string{docker, "compose"}, nil
		}
	}
	if c, err := exec.LookPath("docker-compose"); err == nil {
		return []string{c}, nil
	}
	return nil, errors.New("neither `docker compose` nor docker-compose is installed: apt-get install docker-compose, or see https://docs.docker.com/compose/install")
}

// Compose finds Compose and tells its version.
func (e *Engine) Compose(ctx context.Context) (string, error) {
	c, err := findCompose(ctx)
	if err != nil {
		return "", err
	}
	out, err := exec.CommandContext(ctx, c[0], append(c[1:], "version", "--short")...).Output()
	if err != nil {
		return "", fmt.Errorf("%s version: %w", strings.Join(c, " "), err)
	}
	return filepath.Base(c[0]) + " " + strings.Join(append(c[1:], strings.TrimSpace(string(out))), " "), nil
}

// up runs `compose up` on a file's text, which is in no file because it may hold secrets,
// and returns when all containers were started.
func (e *Engine) up(ctx context.Context, project string, text []byte, dir, log string) error {
	args := append(append([]string(nil), e.compose[1:]...),
		"--ansi", "never", "--project-name", project, "--project-directory", dir, "--file", "-", "up", "--detach")
	cmd := exec.CommandContext(ctx, e.compose[0], args...)
	cmd.Env = append(os.Environ(), e.access.environ()...)
	cmd.Stdin = bytes.NewReader(text)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	// It finishes what it has begun, so that nothing is made after we have cleaned up.
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	// A Ctrl-C on the terminal is for us to pass on.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	err := cmd.Run()
	if werr := os.WriteFile(log, out.Bytes(), 0o644); werr != nil && err == nil {
		return fmt.Errorf("keep what compose said: %w", werr)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("%w: %s", err, lastOutput(out.String()))
	}
	return nil
}

// lastOutput is the last line that says something.
func lastOutput(out string) string {
	lines := strings.Split(strings.TrimSpace(out), "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		l := strings.TrimSpace(lines[i])
		if l != "" && !strings.HasPrefix(l, "Creating ") && !strings.HasPrefix(l, "Encountered errors") {
			return l
		}
	}
	return "it said nothing"
}
