package docker

import (
	"fmt"
	"maps"
	"net/netip"
	"reflect"
	"slices"
	"strings"

	"github.com/compose-spec/compose-go/v2/types"
	"go.yaml.in/yaml/v3"

	"github.com/picklock/picklock/compose"
)

// plan is what a run needs changed in a Compose file.
type plan struct {
	network string            // which exists already
	addrs   map[string]string // by service
	hosts   []string          // "name:address" of all services
	labels  map[string]string
}

// newPlan gives every service an address of its own: the subnet's first is the
// gateway's. It returns the first address that is left.
func newPlan(def *compose.Definition, network string, subnet netip.Prefix, labels map[string]string) (plan, netip.Addr) {
	p := plan{network: network, addrs: map[string]string{}, labels: labels}
	next := subnet.Masked().Addr().Next().Next()
	for _, s := range def.Services {
		p.addrs[s.Name] = next.String()
		p.hosts = append(p.hosts, s.Name+":"+next.String())
		next = next.Next()
	}
	return p, next
}

// ownNetwork is what the run's network is called in the file.
const ownNetwork = "picklock"

// rewrite returns the Compose file for one run: every service labelled, on the run's
// network with an address that it keeps, with no port published and never restarted
// by the engine while the nemesis keeps it down. It is one file, whatever the user's file
// includes and extends. A second file on top, as Compose has it, can only add to lists. With secrets, it
// is what Compose is given: without, it is the run's record of it, with the names of
// variables instead of their values.
func rewrite(def *compose.Definition, p plan, secrets bool) ([]byte, error) {
	f, err := def.Project(secrets)
	if err != nil {
		return nil, err
	}
	roles := map[string]compose.Role{}
	for _, s := range def.Services {
		roles[s.Name] = s.Spec.Role
	}
	f.Extensions = nil
	f.Networks = types.Networks{ownNetwork: {Name: p.network, External: true}}
	for name, s := range f.Services {
		if f.Services[name], err = p.service(name, s, roles[name]); err != nil {
			return nil, fmt.Errorf("service %s: %w", name, err)
		}
	}
	for name, v := range f.Volumes {
		if !v.External {
			// Two runs at once must not share their data.
			v.Name, v.Labels = "", withLabels(v.Labels, p.labels)
			f.Volumes[name] = v
		}
	}
	hide := func(s string) string { return s }
	if !secrets {
		hide = def.Hide
	}
	return marshal(f, hide)
}

func (p plan) service(name string, s types.ServiceConfig, role compose.Role) (types.ServiceConfig, error) {
	s.Extensions, s.Profiles, s.Ports, s.ContainerName, s.Scale = nil, nil, nil, "", nil
	if s.Deploy != nil {
		s.Deploy.RestartPolicy, s.Deploy.Replicas = nil, nil
	}
	s.Restart = "no"
	labels := maps.Clone(p.labels)
	labels[labelNode] = name
	if role != "" {
		labels[labelRole] = string(role)
	}
	s.Labels = withLabels(s.Labels, labels)
	if s.NetworkMode != "" {
		if role != "" {
			return s, fmt.Errorf("network_mode %v: a server needs a network of its own, which the partition fault cuts", s.NetworkMode)
		}
		return s, nil
	}
	s.Networks = map[string]*types.ServiceNetworkConfig{ownNetwork: {Ipv4Address: p.addrs[name], Aliases: aliases(s.Networks)}}
	// Names are looked up in a file: the engine's name server forgets a container
	// that is down, and Java remembers for long that it did.
	hosts := maps.Clone(s.ExtraHosts)
	if hosts == nil {
		hosts = types.HostsList{}
	}
	for _, h := range p.hosts {
		host, addr, _ := strings.Cut(h, ":")
		hosts[host] = []string{addr}
	}
	s.ExtraHosts = hosts
	return s, nil
}

// aliases gathers a service's further names on all its networks.
func aliases(networks map[string]*types.ServiceNetworkConfig) []string {
	var out []string
	for _, n := range networks {
		if n != nil {
			out = append(out, n.Aliases...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func withLabels(l types.Labels, more map[string]string) types.Labels {
	out := maps.Clone(l)
	if out == nil {
		out = types.Labels{}
	}
	maps.Copy(out, more)
	return out
}

// marshal writes a project so that docker-compose 1.29 reads it, too: what it knows in a short
// form only is in that. A file of the project has its variables put in, so that every "$" in it
// stands for itself. hide is called for every text that may hold a secret.
func marshal(f *types.Project, hide func(string) string) ([]byte, error) {
	text, err := f.MarshalYAML()
	if err != nil {
		return nil, err
	}
	var whole map[string]any
	if err := yaml.Unmarshal(text, &whole); err != nil {
		return nil, err
	}
	delete(whole, "name")
	for _, section := range []string{"secrets", "configs"} {
		for _, v := range mapping(whole[section]) {
			if x := mapping(v); x["external"] == nil {
				delete(x, "name") // that of a project which this is not
			}
		}
	}
	for name, v := range mapping(whole["services"]) {
		shorten(mapping(v), f.Services[name])
	}
	return yaml.Marshal(literal("", whole, hide))
}

// shorten puts the short forms of a service into what it is written as.
func shorten(written map[string]any, s types.ServiceConfig) {
	for _, d := range mapping(written["depends_on"]) {
		if d := mapping(d); d["required"] == true {
			delete(d, "required") // it is anyway
		}
	}
	if len(s.ExtraHosts) > 0 {
		written["extra_hosts"] = slices.Sorted(slices.Values(s.ExtraHosts.AsList(":")))
	}
	devices, _ := written["devices"].([]any)
	for i, d := range s.Devices {
		devices[i] = strings.Trim(strings.Join([]string{d.Source, d.Target, d.Permissions}, ":"), ":")
	}
	volumes, _ := written["volumes"].([]any)
	for i, v := range s.Volumes {
		// In the long form, old Compose does not make a folder that is not there.
		plain := types.ServiceVolumeConfig{Type: v.Type, Source: v.Source, Target: v.Target, ReadOnly: v.ReadOnly, Bind: v.Bind, Volume: v.Volume}
		switch {
		case v.Type == types.VolumeTypeBind && reflect.DeepEqual(v.Bind, &types.ServiceVolumeBind{CreateHostPath: true}):
		case v.Type == types.VolumeTypeVolume && (v.Volume == nil || reflect.DeepEqual(v.Volume, &types.ServiceVolumeVolume{})):
		default:
			continue
		}
		if !reflect.DeepEqual(v, plain) || strings.Contains(v.Source+v.Target, ":") || v.Source == "" && v.ReadOnly {
			continue
		}
		short := strings.TrimPrefix(v.Source+":"+v.Target, ":")
		if v.ReadOnly {
			short += ":ro"
		}
		volumes[i] = short
	}
}

// literal escapes every "$", and hides what is secret.
func literal(key string, v any, hide func(string) string) any {
	switch v := v.(type) {
	case string:
		v = strings.ReplaceAll(v, "$", "$$")
		if key != "image" {
			v = hide(v)
		}
		return v
	case []string:
		for i := range v {
			v[i] = literal("", v[i], hide).(string)
		}
	case []any:
		for i := range v {
			v[i] = literal("", v[i], hide)
		}
	case map[string]any:
		for k := range v {
			v[k] = literal(k, v[k], hide)
		}
	}
	return v
}

func mapping(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}
