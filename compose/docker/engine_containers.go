package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/mount"
	"github.com/docker/docker/pkg/stdcopy"
)

func (e engine) start(ctx context.Context, id string) error {
	return e.c.ContainerStart(ctx, id, container.StartOptions{})
}

func (e engine) kill(ctx context.Context, id string) error {
	err := e.c.ContainerKill(ctx, id, "KILL")
	if errdefs.IsConflict(err) {
		return nil // it is not running
	}
	return gone(err)
}

func (e engine) inspect(ctx context.Context, id string) (instance, error) {
	c, err := e.c.ContainerInspect(ctx, id)
	if err != nil {
		return instance{}, err
	}
	out := instance{
		ID: c.ID, Name: strings.TrimPrefix(c.Name, "/"), State: c.State.Status, PID: c.State.Pid, Code: c.State.ExitCode,
		Error: c.State.Error, Labels: c.Config.Labels, NetworkMode: string(c.HostConfig.NetworkMode), Addrs: map[string]string{}, Image: c.Image,
		WorkDir: c.Config.WorkingDir,
	}
	for _, m := range c.Mounts {
		if m.Type == mount.TypeBind {
			out.Binds = append(out.Binds, m.Destination)
		}
	}
	out.Finished, _ = time.Parse(time.RFC3339Nano, c.State.FinishedAt) // zero: all logs
	for name, e := range c.NetworkSettings.Networks {
		out.Addrs[name] = e.IPAddress
	}
	return out, nil
}

// await returns a function that waits for the container's end: for the next one, or for any
// that has come already.
func (e engine) await(ctx context.Context, id string, next bool) func() (int64, error) {
	condition := container.WaitConditionNotRunning
	if next {
		condition = container.WaitConditionNextExit
	}
	ended, errs := e.c.ContainerWait(ctx, id, condition)
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

// logs copies what a container writes, from a moment on until it ends.
func (e engine) logs(ctx context.Context, id string, since time.Time, to io.Writer) error {
	c, err := e.c.ContainerInspect(ctx, id)
	if err != nil {
		return err
	}
	o := container.LogsOptions{ShowStdout: true, ShowStderr: true, Follow: true}
	if !since.IsZero() {
		o.Since = fmt.Sprintf("%d.%09d", since.Unix(), since.Nanosecond())
	}
	r, err := e.c.ContainerLogs(ctx, id, o)
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

func (e engine) containers(ctx context.Context, labels ...string) ([]object, error) {
	f := filters.NewArgs()
	for _, l := range labels {
		f.Add("label", l)
	}
	list, err := e.c.ContainerList(ctx, container.ListOptions{All: true, Filters: f})
	var out []object
	for _, c := range list {
		out = append(out, object{c.ID, strings.TrimPrefix(strings.Join(c.Names, ","), "/"), c.State, c.Labels, time.Unix(c.Created, 0)})
	}
	return out, err
}

func (e engine) removeContainer(ctx context.Context, id string) error {
	err := e.c.ContainerRemove(ctx, id, container.RemoveOptions{Force: true, RemoveVolumes: true})
	if err != nil && strings.Contains(err.Error(), "is already in progress") {
		return nil
	}
	if err != nil && strings.Contains(err.Error(), "paused") {
		if err := e.c.ContainerUnpause(ctx, id); err != nil {
			return err
		}
		err = e.c.ContainerRemove(ctx, id, container.RemoveOptions{Force: true, RemoveVolumes: true})
	}
	return gone(err)
}

// files reads a folder of a container, which need not run, as a tar archive. The names in it
// begin with the folder's own.
func (e engine) files(ctx context.Context, id, dir string) (io.ReadCloser, error) {
	r, _, err := e.c.CopyFromContainer(ctx, id, dir)
	return r, err
}

// put unpacks a tar archive into a folder of a container, which need not run.
func (e engine) put(ctx context.Context, id, dir string, archive io.Reader) error {
	return e.c.CopyToContainer(ctx, id, dir, archive, container.CopyToContainerOptions{})
}
