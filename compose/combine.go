package compose

import (
	"context"
	"fmt"
	"maps"

	"go.yaml.in/yaml/v3"
)

// With returns a copy of the definition that has the one service of another cluster,
// too: under a name and in a role of its own. It is how a run gets a protected resource
// that is a real server, started and looked after like the lock's own servers.
func (d *Definition) With(ctx context.Context, cluster, name string, role Role) (*Definition, error) {
	other, err := Load(ctx, cluster)
	if err != nil {
		return nil, err
	}
	if len(other.Services) != 1 {
		return nil, fmt.Errorf("%s has %d services: want one, to be the %s", other.File, len(other.Services), role)
	}
	whole, services, err := d.tree()
	if err != nil {
		return nil, err
	}
	if services[name] != nil {
		return nil, fmt.Errorf("%s has a service %s of its own: call it something else", d.File, name)
	}
	parts, its, err := other.tree()
	if err != nil {
		return nil, err
	}
	for section := range parts {
		if section != "services" {
			return nil, fmt.Errorf("%s has a section %s: what it has to say must be in its service", other.File, section)
		}
	}
	service, _ := its[other.Services[0].Name].(map[string]any)
	spec, _ := service["x-picklock"].(map[string]any)
	spec = maps.Clone(spec)
	if spec == nil {
		return nil, fmt.Errorf("%s: its service has no x-picklock", other.File)
	}
	spec["role"] = string(role)
	service["x-picklock"] = spec
	services[name] = service
	whole["services"] = services
	out := &Definition{Name: d.Name, File: d.File, Access: d.Access}
	if out.File == "" {
		out.File = other.File
	}
	if out.Source, err = yaml.Marshal(whole); err != nil {
		return nil, fmt.Errorf("put %s and %s together: %w", d.File, other.File, err)
	}
	return out, out.parse(ctx)
}

// tree is the file as it is written, without anchors, and its services.
func (d *Definition) tree() (whole, services map[string]any, err error) {
	if err := yaml.Unmarshal(d.Source, &whole); err != nil {
		return nil, nil, fmt.Errorf("read %s: %w", d.File, err)
	}
	if whole == nil {
		whole = map[string]any{}
	}
	services, _ = whole["services"].(map[string]any)
	if services == nil {
		services = map[string]any{}
	}
	return whole, services, nil
}
