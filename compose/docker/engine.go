package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/client"
)

// engine is what this package asks of a Docker Engine, through github.com/docker/docker. Only the
// files with its methods import that. Everything that is found is found by label.
type engine struct{ c *client.Client }

const defaultHost = client.DefaultDockerHost

func dial(a access) (engine, error) {
	opts := []client.Opt{client.FromEnv, client.WithAPIVersionNegotiation(), client.WithHost(a.host)}
	if a.crt != "" {
		opts = append(opts, client.WithTLSClientConfig(a.ca, a.crt, a.key))
	}
	c, err := client.NewClientWithOpts(opts...)
	if err != nil {
		return engine{}, fmt.Errorf("reach the Docker engine at %s: %w", a.host, err)
	}
	return engine{c}, nil
}

func (e engine) close() error { return e.c.Close() }

func (e engine) info(ctx context.Context) (info, error) {
	i, err := e.c.Info(ctx)
	if err != nil {
		return info{}, explain(e.c.DaemonHost(), err)
	}
	v, err := e.c.ServerVersion(ctx)
	if err != nil {
		return info{}, explain(e.c.DaemonHost(), err)
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

// info is what there is to know of the engine itself.
type info struct {
	Version, OS, Arch, Name string
	CPUs                    int
	AppArmor                bool
	Now                     time.Time
}

// object is a container, an image, a network or a volume in a list.
type object struct {
	ID, Name, State string
	Labels          map[string]string
	Created         time.Time
}

// spec is a container to make.
type spec struct {
	Name, Image string
	Args        []string
	Env         []string
	Labels      map[string]string
	Network     string // "none" for none
	Addr, Alias string
	Hosts       []string // "name:address"
	Volume      string   // to be mounted at sharedDirectory; "" for none
	// Caps makes it the agent: it sees the host's processes and has these
	// capabilities and no other.
	Caps     []string
	AppArmor bool // the engine has it, and it has to be off
}

// instance is one container as it is now.
type instance struct {
	ID, Name, State string
	PID             int
	Code            int
	Error           string
	Finished        time.Time // when it ended last; zero if never
	Labels          map[string]string
	NetworkMode     string
	Addrs           map[string]string // by network
	Image           string
	WorkDir         string
	Binds           []string // its folders that are folders of the engine's machine
}

// streams are a container's standard streams.
type streams struct {
	stdin io.WriteCloser
	// copy splits the output until it ends.
	copy  func(stdout, stderr io.Writer) error
	close func()
}

// explain turns the client's error into one line that says what to do.
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
