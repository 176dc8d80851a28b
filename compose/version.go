package compose

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/picklock/picklock/compose/modules"
)

// Version splits the name of an embedded cluster whose servers are of another version than the usual one: etcd@3.5.21.
// ok is false if it is none.
func Version(cluster string) (name, version string, ok bool) {
	name, version, ok = strings.Cut(cluster, "@")
	if !ok || !slices.Contains(Names(), name) {
		return cluster, "", false
	}
	return name, version, true
}

// takeVersion has the built-in servers of the definition be of the version that its name has, if it has one.
func (d *Definition) takeVersion() error {
	name, version, ok := Version(d.Name)
	if !ok {
		return nil
	}
	for i := range d.Services {
		l := d.Services[i].Spec.Local
		if l == nil || len(l.Command) < 3 || l.Command[0] != "{self}" || l.Command[1] != "server" {
			continue
		}
		server, err := modules.Find(l.Command[2], version)
		if err != nil {
			return fmt.Errorf("cluster %s: %w", d.Name, err)
		}
		path, err := server.Program()
		if err != nil {
			return fmt.Errorf("cluster %s: %w", d.Name, err)
		}
		l.Command = append([]string{path}, l.Command[3:]...)
		l.Needs = append(slices.Clone(l.Needs), Need{File: path, Hint: "picklock lock build --cluster " + d.Name})
		d.server = &server
	}
	if d.server == nil {
		return fmt.Errorf("cluster %s: the servers of %s are those that this machine or an image has: leave out @%s", d.Name, name, version)
	}
	return nil
}

// Build builds the servers of another version than the usual one, if that has not been done on this machine, and calls
// say with each step.
func (d *Definition) Build(ctx context.Context, say func(text string)) error {
	if d.server == nil {
		return nil
	}
	return d.server.Build(ctx, say)
}

// Build builds the servers of a cluster that is named with a version, as Definition.Build does; of any other cluster,
// and for containers, there is nothing to build.
func Build(ctx context.Context, cluster, runtime string, say func(text string)) error {
	if _, _, ok := Version(cluster); !ok || runtime == "docker" {
		return nil
	}
	d, err := Load(ctx, cluster)
	if err != nil {
		return err
	}
	return d.Build(ctx, say)
}

// LocalOnly says why the cluster cannot run in containers; nil if it can.
func (d *Definition) LocalOnly() error {
	if d.server == nil {
		return nil
	}
	return Impossible(fmt.Sprintf("cluster %s: its servers are built for this machine: use --runtime local, or the cluster without a version and an image of that version", d.Name))
}
