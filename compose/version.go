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

// takeVersion has the servers of the definition be of the version that its name has, or that picklock gets if it has none.
func (d *Definition) takeVersion() error {
	name, named, versioned := Version(d.Name)
	for i := range d.Services {
		l := d.Services[i].Spec.Local
		if l == nil || len(l.Command) == 0 || !versioned && l.Gets == "" {
			continue
		}
		version := named
		if !versioned {
			version = l.Gets
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
		if len(l.Version) > 0 && l.Version[0] == l.Command[0] {
			l.Version = append([]string{command[0]}, l.Version[1:]...)
		}
		l.Command = command
		if len(l.Prepare) > 0 {
			if l.Prepare, _, err = server.Instead(l.Prepare); err != nil {
				return fmt.Errorf("cluster %s: %w", d.Name, err)
			}
		}
		// What is needed for the usual server and not to start this one is not.
		l.Needs = slices.DeleteFunc(slices.Clone(l.Needs), func(n Need) bool { return n.Program != command[0] })
		l.Needs = append(l.Needs, Need{File: path, Hint: "picklock lock build --cluster " + d.Name})
		d.server = &server
	}
	if versioned && d.server == nil {
		return fmt.Errorf("cluster %s: the servers of %s are those that this machine or an image has: leave out @%s", d.Name, name, named)
	}
	return nil
}

// Builds says whether picklock gets the servers, which Build does.
func (d *Definition) Builds() bool { return d.server != nil }

// Build gets the servers that are not built in and not this machine's, if that has not been done here, and calls say with
// each step.
func (d *Definition) Build(ctx context.Context, say func(text string)) error {
	if d.server == nil {
		return nil
	}
	return d.server.Build(ctx, say)
}

// Build gets the servers of an embedded cluster, as Definition.Build does. For containers there is nothing to get.
func Build(ctx context.Context, cluster, runtime string, say func(text string)) error {
	if name, _, _ := Version(cluster); !slices.Contains(Names(), name) || runtime == "docker" {
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
	if _, _, versioned := Version(d.Name); !versioned {
		return nil
	}
	return Impossible(fmt.Sprintf("cluster %s: its servers are built for this machine: use --runtime local, or the cluster without a version and an image of that version", d.Name))
}
