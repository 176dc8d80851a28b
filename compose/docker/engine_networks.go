package docker

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/network"
	"github.com/docker/docker/api/types/volume"
)

// network makes a network on a free subnet.
func (e engine) network(ctx context.Context, name string, labels map[string]string) (netip.Prefix, error) {
	// An address stays a node's own only on a subnet that was asked for; which one is
	// free, the engine knows best: take the one that it chooses.
	var last error
	for range 20 {
		n, err := e.c.NetworkCreate(ctx, name, network.CreateOptions{Driver: "bridge", Labels: labels})
		if err != nil {
			return netip.Prefix{}, fmt.Errorf("make network %s: %w", name, err)
		}
		i, err := e.c.NetworkInspect(ctx, n.ID, network.InspectOptions{})
		if rerr := e.c.NetworkRemove(ctx, n.ID); err == nil {
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
			_, last = e.c.NetworkCreate(ctx, name, network.CreateOptions{
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

func (e engine) networks(ctx context.Context, label string) ([]object, error) {
	list, err := e.c.NetworkList(ctx, network.ListOptions{Filters: filters.NewArgs(filters.Arg("label", label))})
	var out []object
	for _, n := range list {
		out = append(out, object{ID: n.ID, Name: n.Name, Labels: n.Labels, Created: n.Created})
	}
	return out, err
}

// errKept says that the engine keeps a network although nothing is connected to it: it
// has miscounted its ends, as engines of version 20.10 do when many come and go at once.
// Only the engine's restart makes it count anew.
var errKept = errors.New("the engine has miscounted what is connected to it, and nothing is: restart the engine to be rid of it")

func (e engine) removeNetwork(ctx context.Context, id string) error {
	err := gone(e.c.NetworkRemove(ctx, id))
	if err != nil && strings.Contains(err.Error(), "active endpoints") {
		if derr := e.disconnectGone(ctx, id); derr != nil {
			return errors.Join(err, derr)
		}
		err = gone(e.c.NetworkRemove(ctx, id))
		if err != nil && strings.Contains(err.Error(), "active endpoints") {
			if n, ierr := e.c.NetworkInspect(ctx, id, network.InspectOptions{}); ierr == nil && len(n.Containers) == 0 {
				return fmt.Errorf("%w: %w", errKept, err)
			}
		}
	}
	return err
}

// disconnectGone has the engine forget a network's ends that it kept although their
// containers are gone. Those of containers that are there stay.
func (e engine) disconnectGone(ctx context.Context, id string) error {
	n, err := e.c.NetworkInspect(ctx, id, network.InspectOptions{})
	if err != nil {
		return fmt.Errorf("look at its ends: %w", err)
	}
	for container, end := range n.Containers {
		if _, err := e.c.ContainerInspect(ctx, container); !errdefs.IsNotFound(err) {
			continue
		}
		// By its name: an end without a container is in the list under an id of its own.
		if err := gone(e.c.NetworkDisconnect(ctx, id, end.Name, true)); err != nil {
			return fmt.Errorf("disconnect %s, which is gone: %w", end.Name, err)
		}
	}
	return nil
}

func (e engine) volume(ctx context.Context, name string, labels map[string]string) error {
	_, err := e.c.VolumeCreate(ctx, volume.CreateOptions{Name: name, Labels: labels})
	return err
}

func (e engine) volumes(ctx context.Context, label string) ([]object, error) {
	list, err := e.c.VolumeList(ctx, volume.ListOptions{Filters: filters.NewArgs(filters.Arg("label", label))})
	var out []object
	for _, v := range list.Volumes {
		out = append(out, object{ID: v.Name, Name: v.Name, Labels: v.Labels})
	}
	return out, err
}

func (e engine) removeVolume(ctx context.Context, name string) error {
	return gone(e.c.VolumeRemove(ctx, name, true))
}
