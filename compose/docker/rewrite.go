package docker

import (
	"fmt"
	"maps"
	"net/netip"
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
// by the engine behind the nemesis's back. It is one file, whatever theirs includes and
// extends. Compose's own way, a second file on top, can only add to lists. With secrets, it
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
	text, err := f.MarshalYAML()
	if err != nil {
		return nil, err
	}
	hide := func(s string) string { return s }
	if !secrets {
		hide = def.Hide
	}
	return plain(text, hide)
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

// plain writes a file that compose-go has written so that docker-compose 1.29 reads it, too:
// it knows fewer of the long forms that everything is in now. What has only a long form it
// does not know at all. Every string of it has its variables put in: what looks like one now is
// none. hide is called for what may hold a secret.
func plain(text []byte, hide func(string) string) ([]byte, error) {
	var f map[string]any
	if err := yaml.Unmarshal(text, &f); err != nil {
		return nil, err
	}
	delete(f, "name")
	for _, section := range []string{"secrets", "configs"} {
		for _, v := range mapping(f[section]) {
			if x := mapping(v); x["external"] == nil {
				delete(x, "name") // that of a project which this is not
			}
		}
	}
	for _, v := range mapping(f["services"]) {
		s := mapping(v)
		for key, short := range map[string]func(any) any{
			"volumes": shortVolume, "extra_hosts": shortHost, "env_file": shortEnvFile, "devices": shortDevice,
		} {
			list, _ := s[key].([]any)
			for i := range list {
				list[i] = short(list[i])
			}
		}
		shortDependencies(s)
	}
	var literal func(key string, v any) any
	literal = func(key string, v any) any {
		switch v := v.(type) {
		case string:
			v = strings.ReplaceAll(v, "$", "$$")
			if key != "image" {
				v = hide(v)
			}
			return v
		case []any:
			for i := range v {
				v[i] = literal("", v[i])
			}
		case map[string]any:
			for k := range v {
				v[k] = literal(k, v[k])
			}
		}
		return v
	}
	return yaml.Marshal(literal("", f))
}

func mapping(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

// only says whether a mapping has no other keys than these. One that is an empty mapping
// does not count.
func only(m map[string]any, keys ...string) bool {
	for k, v := range m {
		if inner, ok := v.(map[string]any); ok && len(inner) == 0 {
			continue
		}
		if !slices.Contains(keys, k) {
			return false
		}
	}
	return true
}

func shortVolume(v any) any {
	m := mapping(v)
	kind, source, target := m["type"], fmt.Sprint(m["source"]), fmt.Sprint(m["target"])
	if kind != "bind" && kind != "volume" || !only(m, "type", "source", "target", "read_only") || strings.Contains(source+target, ":") {
		return v
	}
	out := target
	if m["source"] != nil {
		out = source + ":" + target
	}
	if m["read_only"] == true {
		if m["source"] == nil {
			return v
		}
		out += ":ro"
	}
	return out
}

func shortHost(v any) any {
	s, ok := v.(string)
	if !ok {
		return v
	}
	return strings.Replace(s, "=", ":", 1)
}

func shortEnvFile(v any) any {
	if m := mapping(v); m["path"] != nil && only(m, "path") {
		return m["path"]
	}
	return v
}

func shortDevice(v any) any {
	m := mapping(v)
	if m["source"] == nil || !only(m, "source", "target", "permissions") {
		return v
	}
	out := fmt.Sprint(m["source"])
	for _, k := range []string{"target", "permissions"} {
		if m[k] != nil {
			out += ":" + fmt.Sprint(m[k])
		}
	}
	return out
}

// shortDependencies leaves out what is so anyway.
func shortDependencies(s map[string]any) {
	for _, v := range mapping(s["depends_on"]) {
		if d := mapping(v); d["required"] == true {
			delete(d, "required")
		}
	}
}
