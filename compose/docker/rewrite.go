package docker

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

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

// rewrite returns the Compose file for one run: every service labelled, on the run's
// network with an address that it keeps, with no port published and never restarted
// by the engine behind the nemesis's back. Compose's own way, a second file on top,
// can only add to lists, and old versions of it accept less than what is written
// here: plain YAML without anchors, names or versions.
func rewrite(def *compose.Definition, p plan) ([]byte, error) {
	var f map[string]any
	if err := yaml.Unmarshal(def.Source, &f); err != nil {
		return nil, err
	}
	for k := range f {
		if strings.HasPrefix(k, "x-") {
			delete(f, k)
		}
	}
	delete(f, "version")
	delete(f, "name")
	f["networks"] = map[string]any{"picklock": map[string]any{"external": true, "name": p.network}}
	services, ok := f["services"].(map[string]any)
	if !ok {
		return nil, errors.New("it has no services")
	}
	roles := map[string]compose.Role{}
	for _, s := range def.Services {
		roles[s.Name] = s.Spec.Role
	}
	for name, v := range services {
		s, ok := v.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("service %s is not a mapping", name)
		}
		if err := p.service(name, s, roles[name]); err != nil {
			return nil, fmt.Errorf("service %s: %w", name, err)
		}
	}
	if volumes, ok := f["volumes"].(map[string]any); ok {
		for name, v := range volumes {
			if v == nil {
				v = map[string]any{}
				volumes[name] = v
			}
			if s, ok := v.(map[string]any); ok && s["external"] == nil {
				// Two runs at once must not share their data.
				delete(s, "name")
				s["labels"] = withLabels(s["labels"], p.labels)
			}
		}
	}
	return yaml.Marshal(f)
}

func (p plan) service(name string, s map[string]any, role compose.Role) error {
	for k := range s {
		if strings.HasPrefix(k, "x-") {
			delete(s, k)
		}
	}
	for _, k := range []string{"ports", "container_name", "scale"} {
		delete(s, k)
	}
	if deploy, ok := s["deploy"].(map[string]any); ok {
		delete(deploy, "restart_policy")
		delete(deploy, "replicas")
	}
	s["restart"] = "no"
	labels := maps.Clone(p.labels)
	labels[labelNode] = name
	if role != "" {
		labels[labelRole] = string(role)
	}
	s["labels"] = withLabels(s["labels"], labels)
	if mode, ok := s["network_mode"]; ok {
		if role != "" {
			return fmt.Errorf("network_mode %v: a server needs a network of its own, which the partition fault cuts", mode)
		}
		return nil
	}
	s["networks"] = map[string]any{"picklock": map[string]any{
		"ipv4_address": p.addrs[name], "aliases": aliases(s["networks"]),
	}}
	// Names are looked up in a file: the engine's name server forgets a container
	// that is down, and Java remembers for long that it did.
	s["extra_hosts"] = append(list(s["extra_hosts"], ":"), p.hosts...)
	return nil
}

// aliases gathers a service's further names on all its networks.
func aliases(networks any) []string {
	out := []string{}
	m, _ := networks.(map[string]any)
	for _, v := range m {
		n, _ := v.(map[string]any)
		l, _ := n["aliases"].([]any)
		for _, a := range l {
			out = append(out, fmt.Sprint(a))
		}
	}
	slices.Sort(out)
	return out
}

// list turns Compose's two ways to write pairs into one.
func list(v any, sep string) []string {
	var out []string
	switch v := v.(type) {
	case []any:
		for _, x := range v {
			out = append(out, fmt.Sprint(x))
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			out = append(out, fmt.Sprint(k, sep, v[k]))
		}
	}
	return out
}

func withLabels(v any, more map[string]string) map[string]string {
	out := map[string]string{}
	for _, l := range list(v, "=") {
		k, x, _ := strings.Cut(l, "=")
		out[k] = x
	}
	maps.Copy(out, more)
	return out
}
