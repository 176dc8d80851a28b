package docker

import (
	"bufio"
	"context"
	"io"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/network"
	"github.com/docker/docker/pkg/stdcopy"
)

// create makes a container and returns its id.
func (e engine) create(ctx context.Context, x spec) (string, error) {
	c := &container.Config{
		Image: x.Image, Cmd: x.Args, Env: x.Env, Labels: x.Labels,
		OpenStdin: true, StdinOnce: true, AttachStdin: true, AttachStdout: true, AttachStderr: true,
	}
	h := &container.HostConfig{
		NetworkMode: container.NetworkMode(x.Network), ExtraHosts: x.Hosts,
		// What it writes is read at once; a second copy in the engine has no use.
		LogConfig:   container.LogConfig{Type: "none"},
		SecurityOpt: []string{"no-new-privileges"},
	}
	if x.Volume != "" {
		h.Binds = []string{x.Volume + ":" + sharedDirectory}
	}
	if x.Caps != nil {
		h.PidMode, h.UsernsMode, h.CgroupnsMode = "host", "host", "host"
		h.CapDrop, h.CapAdd = []string{"ALL"}, x.Caps
		h.SecurityOpt = append(h.SecurityOpt, "seccomp=unconfined")
		if x.AppArmor {
			h.SecurityOpt = append(h.SecurityOpt, "apparmor=unconfined")
		}
		h.ReadonlyRootfs = true
	}
	var n *network.NetworkingConfig
	if x.Addr != "" {
		n = &network.NetworkingConfig{EndpointsConfig: map[string]*network.EndpointSettings{x.Network: {
			IPAMConfig: &network.EndpointIPAMConfig{IPv4Address: x.Addr}, Aliases: []string{x.Alias},
		}}}
	}
	made, err := e.c.ContainerCreate(ctx, c, h, n, nil, x.Name)
	return made.ID, err
}

// attach connects to a container's standard streams, before it is started.
func (e engine) attach(ctx context.Context, id string) (*streams, error) {
	a, err := e.c.ContainerAttach(ctx, id, container.AttachOptions{Stream: true, Stdin: true, Stdout: true, Stderr: true})
	if err != nil {
		return nil, err
	}
	return &streams{
		stdin: stdin{a.Conn, a.CloseWrite},
		copy: func(stdout, stderr io.Writer) error {
			_, err := stdcopy.StdCopy(stdout, stderr, bufio.NewReaderSize(a.Reader, 64<<10))
			return err
		},
		close: a.Close,
	}, nil
}

type stdin struct {
	io.Writer
	end func() error
}

func (s stdin) Close() error { return s.end() }
