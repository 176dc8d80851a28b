package compose

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/compose-spec/compose-go/v2/types"
)

// With returns a copy of the definition that has the one service of another cluster,
// too: under a name and in a role of its own. It is how a run gets a protected resource
// that is a real server, started and looked after like the lock's own servers.
func (d *Definition) With(ctx context.Context, cluster, name string, role Role) (*Definition, error) {
	other, err := Load(ctx, cluster)
	if err != nil {
		return nil, err
	}
	switch p := other.project; {
	case len(other.Services) != 1:
		return nil, fmt.Errorf("%s has %d services: want one, to be the %s", other.File, len(other.Services), role)
	case slices.ContainsFunc(d.Services, func(s Service) bool { return s.Name == name }):
		return nil, fmt.Errorf("%s has a service %s of its own: rename it", d.File, name)
	case len(p.Volumes)+len(p.Configs)+len(p.Secrets) > 0:
		return nil, fmt.Errorf("%s has volumes, configs or secrets: put them into its service", other.File)
	}
	out := *d
	if out.File == "" {
		out.File = other.File
	}
	project := d.project
	if project == nil {
		project = &types.Project{Services: types.Services{}}
	}
	// The transformation that changes nothing makes a copy.
	out.project, err = project.WithServicesTransform(func(_ string, s types.ServiceConfig) (types.ServiceConfig, error) { return s, nil })
	if err != nil {
		return nil, fmt.Errorf("put %s and %s together: %w", d.File, other.File, err)
	}
	added := other.Services[0]
	config := other.project.Services[added.Name]
	added.Name, added.Spec.Role, config.Name = name, role, name
	out.project.Services[name] = config
	out.Services = append(slices.Clone(d.Services), added)
	slices.SortFunc(out.Services, func(a, b Service) int { return compareNatural(a.Name, b.Name) })
	out.Source = slices.Concat(d.Source, []byte("\n"), other.Source)
	out.values = maps.Clone(d.values)
	if out.values == nil {
		out.values = map[string]string{}
	}
	maps.Copy(out.values, other.values)
	return &out, nil
}
