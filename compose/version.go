package compose

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/picklock/picklock/compose/servers"
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

// takeVersion has the servers of the definition be of the version that its name has, if it has one.
func (d *Definition) takeVersion() error {
	name, version, ok := Version(d.Name)
	if !ok {
		return nil
	}
	for i := range d.Services {
		l := d.Services[i].Spec.Local
		if l == nil || len(l.Command) == 0 {
			continue
		}
		server, known, err := servers.Find(l.Command, version)
		if err == nil && !known && l.Command[0] == "{self}" && len(l.Command) > 2 {
			err = fmt.Errorf("picklock gets no other version of %s: it has those of %s", l.Command[2], strings.Join(servers.Names(), ", "))
		}
		if err != nil {
			return fmt.Errorf("cluster %s: %w", d.Name, err)
		}
		if !known {
			continue
		}
		command, path, err := server.Instead(l.Command)
		if err != nil {
			return fmt.Errorf("cluster %s: %w", d.Name, err)
		}
		l.Command = command
		// What is needed for the usual server and not to start this one is not.
		l.Needs = slices.DeleteFunc(slices.Clone(l.Needs), func(n Need) bool { return n.Program != command[0] })
		l.Needs = append(l.Needs, Need{File: path, Hint: "picklock lock build --cluster " + d.Name})
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
