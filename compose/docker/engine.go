package docker

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/build"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/api/types/mount"
	"github.com/docker/docker/api/types/network"
	"github.com/docker/docker/api/types/volume"
	"github.com/docker/docker/client"
	"github.com/docker/docker/pkg/stdcopy"
)

// engine is all that this package asks of a Docker Engine. Everything that is found
// is found by label.
type engine interface {
	info(ctx context.Context) (info, error)

	// image returns the id of an image, "" if it is not there.
	image(ctx context.Context, ref string) (string, error)
	images(ctx context.Context, label string) ([]thing, error)
	// build makes an image out of a tar archive with a Dockerfile.
	build(ctx context.Context, files io.Reader, ref string, labels map[string]string) error
	removeImage(ctx context.Context, ref string) error

	create(ctx context.Context, s spec) (id string, err error)
	// attach connects to a container's standard streams, before it is started.
	attach(ctx context.Context, id string) (*streams, error)
	start(ctx context.Context, id string) error
	kill(ctx context.Context, id string) error
	inspect(ctx context.Context, id string) (instance, error)
	// await returns a function that waits for the container's end: for the next one,
	// or for any that has come already.
	await(ctx context.Context, id string, next bool) func() (code int64, err error)
	// logs copies what a container writes, from a moment on until it ends.
	logs(ctx context.Context, id string, since time.Time, to io.Writer) error
	// renew makes the container anew, without the data that it had.
	renew(ctx context.Context, id string) (newID string, err error)
	containers(ctx context.Context, labels ...string) ([]thing, error)
	removeContainer(ctx context.Context, id string) error

	// network makes a network on a free subnet.
	network(ctx context.Context, name string, labels map[string]string) (netip.Prefix, error)
	networks(ctx context.Context, label string) ([]thing, error)
	removeNetwork(ctx context.Context, id string) error

	volumes(ctx context.Context, label string) ([]thing, error)
	removeVolume(ctx context.Context, name string) error

	close() error
}

// info is what there is to know of the engine itself.
type info struct {
	Version, OS, Arch, Name string
	AppArmor                bool
	Now                     time.Time
}

// thing is a container, an image, a network or a volume in a list.
type thing struct {
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
	Started         time.Time
	Labels          map[string]string
	NetworkMode     string
	Addrs           map[string]string // by network
	Image           string
}

// streams are a container's standard streams.
type streams struct {
	stdin io.WriteCloser
	// copy splits the output until it ends.
	copy  func(stdout, stderr io.Writer) error
	close func()
}

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
		Version: i.ServerVersion, OS: i.OSType, Arch: v.Arch, Name: i.Name, Now: now,
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

func (s sdk) image(ctx context.Context, ref string) (string, error) {
	i, err := s.c.ImageInspect(ctx, ref)
	if errdefs.IsNotFound(err) {
		return "", nil
	}
	return i.ID, err
}

func (s sdk) images(ctx context.Context, label string) ([]thing, error) {
	list, err := s.c.ImageList(ctx, image.ListOptions{Filters: filters.NewArgs(filters.Arg("label", label))})
	var out []thing
	for _, i := range list {
		tags := slices.DeleteFunc(i.RepoTags, func(tag string) bool { return strings.HasPrefix(tag, "<none>") })
		if len(tags) == 0 {
			tags = []string{i.ID} // two runs that built it at once: one has lost the name
		}
		for _, tag := range tags {
			out = append(out, thing{ID: i.ID, Name: tag, Labels: i.Labels})
		}
	}
	return out, err
}

func (s sdk) build(ctx context.Context, files io.Reader, ref string, labels map[string]string) error {
	r, err := s.c.ImageBuild(ctx, files, build.ImageBuildOptions{
		Tags: []string{ref}, Labels: labels, Remove: true, ForceRemove: true, Version: build.BuilderV1,
	})
	if err != nil {
		return err
	}
	defer r.Body.Close()
	lines := json.NewDecoder(r.Body)
	for {
		var m struct{ Error string }
		if err := lines.Decode(&m); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if m.Error != "" {
			return errors.New(m.Error)
		}
	}
}

func (s sdk) removeImage(ctx context.Context, ref string) error {
	_, err := s.c.ImageRemove(ctx, ref, image.RemoveOptions{PruneChildren: true})
	return gone(err)
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

func (s sdk) create(ctx context.Context, x spec) (string, error) {
	c := &container.Config{
		Image: x.Image, Cmd: x.Args, Env: x.Env, Labels: x.Labels,
		OpenStdin: true, StdinOnce: true, AttachStdin: true, AttachStdout: true, AttachStderr: true,
	}
	h := &container.HostConfig{
		NetworkMode: container.NetworkMode(x.Network), ExtraHosts: x.Hosts,
		// What it writes is read at once; a second copy in the engine helps nobody.
		LogConfig: container.LogConfig{Type: "none"},
	}
	if x.Caps != nil {
		h.PidMode, h.UsernsMode, h.CgroupnsMode = "host", "host", "host"
		h.CapDrop, h.CapAdd = []string{"ALL"}, x.Caps
		h.SecurityOpt = []string{"seccomp=unconfined"}
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
	made, err := s.c.ContainerCreate(ctx, c, h, n, nil, x.Name)
	return made.ID, err
}

func (s sdk) attach(ctx context.Context, id string) (*streams, error) {
	a, err := s.c.ContainerAttach(ctx, id, container.AttachOptions{Stream: true, Stdin: true, Stdout: true, Stderr: true})
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

func (s sdk) start(ctx context.Context, id string) error {
	return s.c.ContainerStart(ctx, id, container.StartOptions{})
}

func (s sdk) kill(ctx context.Context, id string) error {
	err := s.c.ContainerKill(ctx, id, "KILL")
	if errdefs.IsConflict(err) {
		return nil // it is not running
	}
	return gone(err)
}

func (s sdk) inspect(ctx context.Context, id string) (instance, error) {
	c, err := s.c.ContainerInspect(ctx, id)
	if err != nil {
		return instance{}, err
	}
	out := instance{
		ID: c.ID, Name: strings.TrimPrefix(c.Name, "/"), State: c.State.Status, PID: c.State.Pid, Code: c.State.ExitCode,
		Error: c.State.Error, Labels: c.Config.Labels, NetworkMode: string(c.HostConfig.NetworkMode), Addrs: map[string]string{}, Image: c.Image,
	}
	out.Started, _ = time.Parse(time.RFC3339Nano, c.State.StartedAt) // zero: all logs
	for name, e := range c.NetworkSettings.Networks {
		out.Addrs[name] = e.IPAddress
	}
	return out, nil
}

func (s sdk) await(ctx context.Context, id string, next bool) func() (int64, error) {
	condition := container.WaitConditionNotRunning
	if next {
		condition = container.WaitConditionNextExit
	}
	ended, errs := s.c.ContainerWait(ctx, id, condition)
	return func() (int64, error) {
		select {
		case e := <-ended:
			if e.Error != nil {
				return e.StatusCode, errors.New(e.Error.Message)
			}
			return e.StatusCode, nil
		case err := <-errs:
			return 0, err
		}
	}
}

func (s sdk) logs(ctx context.Context, id string, since time.Time, to io.Writer) error {
	c, err := s.c.ContainerInspect(ctx, id)
	if err != nil {
		return err
	}
	o := container.LogsOptions{ShowStdout: true, ShowStderr: true, Follow: true}
	if !since.IsZero() {
		o.Since = fmt.Sprintf("%d.%09d", since.Unix(), since.Nanosecond())
	}
	r, err := s.c.ContainerLogs(ctx, id, o)
	if err != nil {
		return err
	}
	defer r.Close()
	if c.Config.Tty {
		_, err = io.Copy(to, r)
	} else {
		_, err = stdcopy.StdCopy(to, to, r)
	}
	return err
}

var anonymous = regexp.MustCompile(`^[0-9a-f]{64}$`)

func (s sdk) renew(ctx context.Context, id string) (string, error) {
	c, err := s.c.ContainerInspect(ctx, id)
	if err != nil {
		return "", err
	}
	var named []volume.Volume
	for _, m := range c.Mounts {
		if m.Type == mount.TypeBind && m.RW {
			return "", fmt.Errorf("it keeps data in %s on the engine's machine, which a wipe must not empty: use a volume", m.Source)
		}
		if m.Type == mount.TypeVolume && m.RW && !anonymous.MatchString(m.Name) {
			v, err := s.c.VolumeInspect(ctx, m.Name)
			if err != nil {
				return "", err
			}
			named = append(named, v)
		}
	}
	nets := map[string]*network.EndpointSettings{}
	for name, e := range c.NetworkSettings.Networks {
		aliases := slices.DeleteFunc(slices.Clone(e.Aliases), func(a string) bool { return strings.HasPrefix(c.ID, a) })
		nets[name] = &network.EndpointSettings{IPAMConfig: e.IPAMConfig, Aliases: aliases}
	}
	if strings.HasPrefix(c.ID, c.Config.Hostname) {
		c.Config.Hostname = ""
	}
	// An anonymous volume is bound by name once a container has it: let go of it.
	c.HostConfig.Binds = slices.DeleteFunc(c.HostConfig.Binds, func(b string) bool {
		source, _, _ := strings.Cut(b, ":")
		return anonymous.MatchString(source)
	})
	if err := s.removeContainer(ctx, c.ID); err != nil {
		return "", err
	}
	for _, v := range named {
		if err := s.c.VolumeRemove(ctx, v.Name, false); err != nil {
			return "", fmt.Errorf("empty its volume: %w", err)
		}
		if _, err := s.c.VolumeCreate(ctx, volume.CreateOptions{Name: v.Name, Driver: v.Driver, DriverOpts: v.Options, Labels: v.Labels}); err != nil {
			return "", fmt.Errorf("make its volume anew: %w", err)
		}
	}
	made, err := s.c.ContainerCreate(ctx, c.Config, c.HostConfig, &network.NetworkingConfig{EndpointsConfig: nets}, nil, strings.TrimPrefix(c.Name, "/"))
	return made.ID, err
}

func (s sdk) containers(ctx context.Context, labels ...string) ([]thing, error) {
	f := filters.NewArgs()
	for _, l := range labels {
		f.Add("label", l)
	}
	list, err := s.c.ContainerList(ctx, container.ListOptions{All: true, Filters: f})
	var out []thing
	for _, c := range list {
		out = append(out, thing{c.ID, strings.TrimPrefix(strings.Join(c.Names, ","), "/"), c.State, c.Labels, time.Unix(c.Created, 0)})
	}
	return out, err
}

func (s sdk) removeContainer(ctx context.Context, id string) error {
	err := s.c.ContainerRemove(ctx, id, container.RemoveOptions{Force: true, RemoveVolumes: true})
	if err != nil && strings.Contains(err.Error(), "is already in progress") {
		return nil
	}
	if err != nil && strings.Contains(err.Error(), "paused") {
		if err := s.c.ContainerUnpause(ctx, id); err != nil {
			return err
		}
		err = s.c.ContainerRemove(ctx, id, container.RemoveOptions{Force: true, RemoveVolumes: true})
	}
	return gone(err)
}

func (s sdk) network(ctx context.Context, name string, labels map[string]string) (netip.Prefix, error) {
	// An address stays a node's own only on a subnet that was asked for; which one is
	// free, the engine knows best: take the one that it chooses.
	var last error
	for range 20 {
		n, err := s.c.NetworkCreate(ctx, name, network.CreateOptions{Driver: "bridge", Labels: labels})
		if err != nil {
			return netip.Prefix{}, fmt.Errorf("make network %s: %w", name, err)
		}
		i, err := s.c.NetworkInspect(ctx, n.ID, network.InspectOptions{})
		if rerr := s.c.NetworkRemove(ctx, n.ID); err == nil {
			err = rerr
		}
		if err != nil {
			return netip.Prefix{}, fmt.Errorf("find a subnet for network %s: %w", name, err)
		}
		for _, c := range i.IPAM.Config {
			subnet, err := netip.ParsePrefix(c.Subnet)
			if err != nil || !subnet.Addr().Is4() {
				continue
			}
			_, last = s.c.NetworkCreate(ctx, name, network.CreateOptions{
				Driver: "bridge", Labels: labels, IPAM: &network.IPAM{Config: []network.IPAMConfig{{Subnet: c.Subnet}}},
			})
			if last == nil {
				return subnet, nil
			}
		}
		if last != nil && !strings.Contains(last.Error(), "overlaps") {
			break
		}
	}
	if last == nil {
		last = errors.New("the engine gives no IPv4 subnet")
	}
	return netip.Prefix{}, fmt.Errorf("make network %s: %w", name, last)
}

func (s sdk) networks(ctx context.Context, label string) ([]thing, error) {
	list, err := s.c.NetworkList(ctx, network.ListOptions{Filters: filters.NewArgs(filters.Arg("label", label))})
	var out []thing
	for _, n := range list {
		out = append(out, thing{ID: n.ID, Name: n.Name, Labels: n.Labels, Created: n.Created})
	}
	return out, err
}

func (s sdk) removeNetwork(ctx context.Context, id string) error {
	return gone(s.c.NetworkRemove(ctx, id))
}

func (s sdk) volumes(ctx context.Context, label string) ([]thing, error) {
	list, err := s.c.VolumeList(ctx, volume.ListOptions{Filters: filters.NewArgs(filters.Arg("label", label))})
	var out []thing
	for _, v := range list.Volumes {
		out = append(out, thing{ID: v.Name, Name: v.Name, Labels: v.Labels})
	}
	return out, err
}

func (s sdk) removeVolume(ctx context.Context, name string) error {
	return gone(s.c.VolumeRemove(ctx, name, true))
}
