package docker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/client"
)

// sdk is the engine behind github.com/docker/docker, the one file that knows it.
type sdk struct{ c *client.Client }

const defaultHost = client.DefaultDockerHost

func dial(a access) (engine, error) {
	opts := []client.Opt{client.FromEnv, client.WithAPIVersionNegotiation(), client.WithHost(a.host)}
	if a.crt != "" {
		opts = append(opts, client.WithTLSClientConfig(a.ca, a.crt, a.key))
	}
	c, err := client.NewClientWithOpts(opts...)
	if err != nil {
		return nil, fmt.Errorf("reach the Docker engine at %s: %w", a.host, err)
	}
	return sdk{c}, nil
}

func (s sdk) close() error { return s.c.Close() }

func (s sdk) info(ctx context.Context) (info, error) {
	i, err := s.c.Info(ctx)
	if err != nil {
		return info{}, explain(s.c.DaemonHost(), err)
	}
	v, err := s.c.ServerVersion(ctx)
	if err != nil {
		return info{}, explain(s.c.DaemonHost(), err)
	}
	now, err := time.Parse(time.RFC3339Nano, i.SystemTime)
	if err != nil {
		now = time.Now()
	}
	return info{
		Version: i.ServerVersion, OS: i.OSType, Arch: v.Arch, Name: i.Name, CPUs: i.NCPU, Now: now,
		AppArmor: slices.ContainsFunc(i.SecurityOptions, func(o string) bool { return strings.Contains(o, "apparmor") }),
	}, nil
}

// explain turns the client's error into one line with a remedy.
func explain(host string, err error) error {
	switch {
	case strings.Contains(err.Error(), "permission denied"):
		return fmt.Errorf("the Docker engine at %s does not let you in: join its group (sudo usermod -aG docker \"$USER\", then log in again) or run as root", host)
	case client.IsErrConnectionFailed(err), errors.Is(err, context.DeadlineExceeded), isNetError(err):
		return fmt.Errorf("no Docker engine answers at %s: start it or set DOCKER_HOST; --runtime local needs none", host)
	}
	return fmt.Errorf("ask the Docker engine at %s: %w", host, err)
}

func isNetError(err error) bool {
	var n net.Error
	return errors.As(err, &n)
}

// gone forgives that what was to be removed is not there.
func gone(err error) error {
	if errdefs.IsNotFound(err) {
		return nil
	}
	return err
}

// inUse says that something cannot be removed because something else needs it.
func inUse(err error) bool { return errdefs.IsConflict(err) }
