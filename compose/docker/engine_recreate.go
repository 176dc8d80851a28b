package docker

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/docker/docker/api/types/mount"
	"github.com/docker/docker/api/types/network"
	"github.com/docker/docker/api/types/volume"
)

var anonymous = regexp.MustCompile(`^[0-9a-f]{64}$`)

// recreate makes the container anew, without the data that it had, and returns its new id.
func (e engine) recreate(ctx context.Context, id string) (string, error) {
	c, err := e.c.ContainerInspect(ctx, id)
	if err != nil {
		return "", err
	}
	var named []volume.Volume
	for _, m := range c.Mounts {
		if m.Type == mount.TypeBind && m.RW {
			return "", fmt.Errorf("it keeps data in %s on the engine's machine, which a wipe must not empty: use a volume", m.Source)
		}
		if m.Type == mount.TypeVolume && m.RW && !anonymous.MatchString(m.Name) {
			v, err := e.c.VolumeInspect(ctx, m.Name)
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
	if err := e.removeContainer(ctx, c.ID); err != nil {
		return "", err
	}
	for _, v := range named {
		if err := e.c.VolumeRemove(ctx, v.Name, false); err != nil {
			return "", fmt.Errorf("empty its volume: %w", err)
		}
		if _, err := e.c.VolumeCreate(ctx, volume.CreateOptions{Name: v.Name, Driver: v.Driver, DriverOpts: v.Options, Labels: v.Labels}); err != nil {
			return "", fmt.Errorf("make its volume anew: %w", err)
		}
	}
	made, err := e.c.ContainerCreate(ctx, c.Config, c.HostConfig, &network.NetworkingConfig{EndpointsConfig: nets}, nil, strings.TrimPrefix(c.Name, "/"))
	return made.ID, err
}
