package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	random "math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	image     = "picklock/picklock:debian"
	tidyWith  = 2 * time.Minute
	swarmFile = "soak.yaml"
)

// swarm is a coordinator, workers and a NATS server as services of a Docker Swarm on this
// machine. All that it makes has its name or its label.
type swarm struct {
	name    string
	began   bool   // up made the Swarm
	bridges string // networks of that kind that existed before
	out     string // folder, as an absolute path: the coordinator's results go there
}

// swarmed runs the campaign in a Swarm, and kills workers and server.
func swarmed(ctx context.Context, _ string) (_ *outcome, err error) {
	var drawn [4]byte
	if _, err := rand.Read(drawn[:]); err != nil {
		return nil, fmt.Errorf("draw a name: %w", err)
	}
	s := &swarm{name: "picklock-soak-" + hex.EncodeToString(drawn[:])}
	if s.out, err = filepath.Abs(*out); err != nil {
		return nil, fmt.Errorf("find the folder: %w", err)
	}
	if _, err := docker(ctx, "image", "inspect", image); err != nil {
		return nil, fmt.Errorf("%w: make fleet ARGS=image", err)
	}
	defer func() {
		late, cancel := context.WithTimeout(context.WithoutCancel(ctx), tidyWith)
		defer cancel()
		err = errors.Join(err, s.tidy(late))
	}()
	if err := s.up(ctx); err != nil {
		return nil, err
	}
	began := time.Now()
	g, ctx := errgroup.WithContext(ctx)
	ctx, end := context.WithCancel(ctx)
	defer end()
	g.Go(func() error {
		defer end()
		return s.lead(ctx)
	})
	g.Go(func() error { return strike(ctx, s) })
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return left(filepath.Join(s.out, "many"), time.Since(began))
}

// docker runs the engine's command line.
func docker(ctx context.Context, args ...string) (string, error) {
	c := exec.CommandContext(ctx, "docker", args...)
	b, err := c.CombinedOutput()
	text := strings.TrimSpace(string(b))
	if err != nil {
		return text, fmt.Errorf("docker %s: %w: %s", args[0], err, text)
	}
	return text, nil
}

// up makes the Swarm unless it exists, an image of the server, the network and the services.
func (s *swarm) up(ctx context.Context) error {
	state, err := docker(ctx, "info", "--format", "{{.Swarm.LocalNodeState}}")
	if err != nil {
		return err
	}
	if state != "active" {
		if s.bridges, err = docker(ctx, "network", "ls", "-q", "--filter", "name=docker_gwbridge"); err != nil {
			return err
		}
		if _, err := docker(ctx, "swarm", "init", "--advertise-addr", "127.0.0.1"); err != nil {
			return err
		}
		s.began = true
	}
	if err := s.serverImage(ctx); err != nil {
		return err
	}
	if _, err := docker(ctx, "network", "create", "--driver", "overlay", "--label", s.name, s.name); err != nil {
		return err
	}
	for _, one := range []struct {
		role string
		args []string
	}{
		{"nats", []string{
			"--mount", "type=volume,source=" + s.name + ",target=/data", "--network", "name=" + s.name + ",alias=nats", s.name + ":server",
			"-js", "-sd", "/data", "-a", "0.0.0.0", "-p", "4222", "-auth", token,
		}},
		{"worker", []string{
			"--replicas", fmt.Sprint(*workers), "--cap-drop", "ALL", "--cap-add", "SYS_ADMIN", "--cap-add", "NET_ADMIN", "--cap-add", "SYS_PTRACE",
			"--network", s.name, image, "fleet", "worker", "--queue", "nats://nats:4222", "--jobs", "2",
		}},
		{"coordinator", []string{
			"--restart-condition", "none", "--user", fmt.Sprintf("%d:%d", os.Getuid(), os.Getgid()), "--cap-drop", "ALL",
			"--mount", "type=bind,source=" + s.out + ",target=/soak", "--network", s.name, image,
			"fleet", "run", "/soak/" + swarmFile, "--queue", "nats://nats:4222", "--out", "/soak/many",
		}},
	} {
		args := []string{
			"service", "create", "--detach", "--quiet", "--no-resolve-image", "--name", s.name + "-" + one.role, "--container-label", s.name + "=" + one.role,
			"--endpoint-mode", "dnsrr", "--env", "PICKLOCK_QUEUE_TOKEN=" + token,
		}
		if one.role != "coordinator" {
			args = append(args, "--restart-condition", "any", "--restart-delay", "500ms")
		}
		if _, err := docker(ctx, append(args, one.args...)...); err != nil {
			return err
		}
	}
	return nil
}

// serverImage makes an image of the NATS server that the program is built with.
func (s *swarm) serverImage(ctx context.Context) error {
	dir := filepath.Join(s.out, "nats-image")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make a folder: %w", err)
	}
	build := exec.CommandContext(ctx, "go", "build", "-ldflags=-s -w", "-o", filepath.Join(dir, "nats-server"), "github.com/nats-io/nats-server/v2")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build the NATS server: %w: %s", err, text)
	}
	r, w := io.Pipe()
	pack := exec.CommandContext(ctx, "tar", "-C", dir, "-cf", "-", ".")
	pack.Stdout = w
	load := exec.CommandContext(ctx, "docker", "import", "--change", `ENTRYPOINT ["/nats-server"]`, "-", s.name+":server")
	load.Stdin = r
	var g errgroup.Group
	g.Go(func() error { return w.CloseWithError(pack.Run()) })
	text, err := load.CombinedOutput()
	if err = errors.Join(err, r.Close(), g.Wait()); err != nil {
		return fmt.Errorf("make an image of the NATS server: %w: %s", err, text)
	}
	return nil
}

// containers are the containers of a role.
func (s *swarm) containers(ctx context.Context, role string, options ...string) ([]string, error) {
	text, err := docker(ctx, append([]string{"ps", "-q", "--filter", "label=" + s.name + "=" + role}, options...)...)
	return strings.Fields(text), err
}

// lead waits for the coordinator's end. Exit code 1 says that a job failed.
func (s *swarm) lead(ctx context.Context) error {
	for {
		all, err := s.containers(ctx, "coordinator", "-a")
		if err != nil {
			return err
		}
		if len(all) > 0 {
			state, err := docker(ctx, "inspect", "--format", "{{.State.Status}} {{.State.ExitCode}}", all[0])
			if err != nil {
				return err
			}
			if code, over := strings.CutPrefix(state, "exited "); over {
				return s.ended(ctx, all[0], code)
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the campaign in the Swarm has not ended: %w", ctx.Err())
		case <-time.After(time.Second):
		}
	}
}

func (s *swarm) ended(ctx context.Context, container, code string) error {
	text, err := docker(ctx, "logs", container)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(s.out, "many.log"), []byte(text), 0o644); err != nil {
		return fmt.Errorf("store the coordinator's output: %w", err)
	}
	if code != "0" && code != "1" {
		return fmt.Errorf("the coordinator ended with exit code %s: see many.log in %s", code, s.out)
	}
	return nil
}

// killServer implements prey: the Swarm starts another, with the same files.
func (s *swarm) killServer(ctx context.Context) error {
	return s.kill(ctx, "nats", func(int) int { return 0 })
}

// killWorker implements prey: the Swarm starts another, with another name.
func (s *swarm) killWorker(ctx context.Context, rng *random.Rand) error {
	return s.kill(ctx, "worker", rng.IntN)
}

// kill kills one running container of a role, as soon as there is one.
func (s *swarm) kill(ctx context.Context, role string, choose func(int) int) error {
	for {
		all, err := s.containers(ctx, role)
		if err != nil {
			return err
		}
		if len(all) > 0 {
			one := all[choose(len(all))]
			if _, err := docker(ctx, "kill", "--signal", "KILL", one); err == nil {
				fmt.Println("fleet-soak: killed", role, one)
				return nil
			} // the container may have ended meanwhile
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// tidy removes all that up made.
func (s *swarm) tidy(ctx context.Context) error {
	var wrong []error
	try := func(args ...string) {
		if _, err := docker(ctx, args...); err != nil {
			wrong = append(wrong, err)
		}
	}
	for _, role := range []string{"coordinator", "worker", "nats"} {
		if text, err := docker(ctx, "service", "ls", "-q", "--filter", "name="+s.name+"-"+role); err == nil && text != "" {
			try("service", "rm", s.name+"-"+role)
		}
	}
	for ctx.Err() == nil {
		text, err := docker(ctx, "ps", "-aq", "--filter", "label="+s.name)
		if err != nil || text == "" {
			break
		}
		time.Sleep(500 * time.Millisecond)
	}
	for _, one := range []struct{ list, remove []string }{
		{[]string{"network", "ls", "-q", "--filter", "name=" + s.name}, []string{"network", "rm"}},
		{[]string{"volume", "ls", "-q", "--filter", "name=" + s.name}, []string{"volume", "rm"}},
		{[]string{"image", "ls", "-q", s.name}, []string{"image", "rm"}},
	} {
		if text, err := docker(ctx, one.list...); err == nil && text != "" {
			try(append(one.remove, strings.Fields(text)...)...)
		}
	}
	if s.began {
		try("swarm", "leave", "--force")
		if s.bridges == "" {
			try("network", "rm", "docker_gwbridge")
		}
	}
	return errors.Join(wrong...)
}
