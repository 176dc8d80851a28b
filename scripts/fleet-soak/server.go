package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"
)

// natsServer is a NATS server that is killed and started again. Its files stay on disk.
type natsServer struct {
	ctx               context.Context //nolint:containedctx // of the soak
	path, listen, url string
	cmd               *exec.Cmd
}

func newServer(ctx context.Context) (*natsServer, error) {
	s := &natsServer{ctx: ctx, path: filepath.Join(*out, "nats-server")}
	build := exec.CommandContext(ctx, "go", "build", "-o", s.path, "github.com/nats-io/nats-server/v2")
	if text, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the NATS server: %w: %s", err, text)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("find a port: %w", err)
	}
	s.listen = l.Addr().String()
	s.url = "nats://" + s.listen
	return s, l.Close()
}

func (s *natsServer) start() error {
	_, port, err := net.SplitHostPort(s.listen)
	if err != nil {
		return err
	}
	s.cmd = exec.CommandContext(s.ctx, s.path, "-js", "-sd", filepath.Join(*out, "nats"), "-a", "127.0.0.1", "-p", port, "-auth", token, "-l", filepath.Join(*out, "nats.log"))
	if err := s.cmd.Start(); err != nil {
		return fmt.Errorf("start the NATS server: %w", err)
	}
	for s.ctx.Err() == nil {
		if c, err := net.Dial("tcp", s.listen); err == nil {
			return c.Close()
		}
		time.Sleep(20 * time.Millisecond)
	}
	return s.ctx.Err()
}

func (s *natsServer) kill() {
	_ = s.cmd.Process.Kill() // it may have ended
	_ = s.cmd.Wait()         // its error is that it was killed
}

// restarted is a worker that starts again whenever it ends.
type restarted struct {
	name, url string
	pid       atomic.Int64
}

func (r *restarted) run(ctx context.Context) error {
	for n := 0; ctx.Err() == nil; n++ {
		c := command(ctx, r.name, "fleet", "worker", "--queue", r.url, "--name", fmt.Sprintf("%s-%d", r.name, n), "--jobs", "2")
		c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
		c.WaitDelay = 30 * time.Second
		if err := c.Start(); err != nil {
			return fmt.Errorf("start %s: %w", r.name, err)
		}
		r.pid.Store(int64(c.Process.Pid))
		_ = c.Wait() // it is killed again and again
	}
	return nil
}

// kill ends only the worker's process. Its children must notice that by themselves.
func (r *restarted) kill() {
	if pid := int(r.pid.Load()); pid > 0 {
		fmt.Println("fleet-soak: kill", r.name)
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
	}
}
