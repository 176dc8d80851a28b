package compose

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/picklock/picklock/internal/access"
)

// Servers that run already: a cluster of forwarders, one for each of them, so that clients
// reach them from networks of their own. It is written as a cluster's name,
// "endpoint:HOST:PORT,HOST:PORT", or as a file that has servers instead of services.

// EndpointPrefix begins the name of such a cluster.
const EndpointPrefix = "endpoint:"

// OwnVariable is the environment variable by which a user says that servers which are not
// on this machine's loopback are theirs to test.
const OwnVariable = "PICKLOCK_I_OWN_THIS_SERVICE"

// CleanVariable is the environment variable that names the service of an exec lock's servers,
// so that what its program leaves there can be found and removed.
const CleanVariable = "PICKLOCK_CLEAN_AS"

// externalFile is a file that names servers that run already.
type externalFile struct {
	Servers []string `yaml:"servers"`
	// Owned says what OwnVariable does.
	Owned bool `yaml:"i_own_this_service"`

	access.Access `yaml:",inline"`
}

// endpoints is the definition of a cluster of forwarders to these addresses.
func endpoints(list string) ([]byte, error) {
	servers := strings.Split(list, ",")
	for i, addr := range servers {
		servers[i] = strings.TrimSpace(addr)
	}
	return yaml.Marshal(map[string]any{"servers": servers})
}

// expand puts services in place of servers that run already. A file that names none stays
// as it is.
func (d *Definition) expand() error {
	var whole map[string]any
	if err := yaml.Unmarshal(d.Source, &whole); err != nil || whole["servers"] == nil {
		return nil //nolint:nilerr // what is wrong with it, its reader says better
	}
	if whole["services"] != nil {
		return errors.New("it has both services, which are started, and servers, which run already: want one of them")
	}
	var f externalFile
	dec := yaml.NewDecoder(bytes.NewReader(d.Source))
	dec.KnownFields(true)
	if err := dec.Decode(&f); err != nil {
		return fmt.Errorf("read its servers: %w", err)
	}
	services := map[string]any{}
	for i, addr := range f.Servers {
		if _, _, err := splitExternal(addr); err != nil {
			return err // "" would be a server that is started
		}
		if slices.Contains(f.Servers[:i], addr) {
			return fmt.Errorf("server %q is named twice: a lock on a majority of servers would count it twice", addr)
		}
		services[fmt.Sprintf("server%d", i+1)] = map[string]any{
			"image":      "external",
			"x-picklock": map[string]any{"role": string(Server), "external": addr},
		}
	}
	env, err := access.FromEnv()
	if err != nil {
		return err
	}
	if d.Access = f.Access; f.Access == (access.Access{}) {
		d.Access = env // what a file says, it says alone
	}
	if err := d.Access.Check(); err != nil {
		return err
	}
	d.Source, err = yaml.Marshal(map[string]any{"services": services, "x-picklock": map[string]any{"i_own_this_service": f.Owned}})
	return err
}

func splitExternal(addr string) (host string, port int, err error) {
	if strings.ContainsAny(addr, "@/ ") {
		return "", 0, errors.New("a server that runs already is named by HOST:PORT alone: no scheme, no path, and no password, which processes' command lines would show")
	}
	host, text, err := net.SplitHostPort(addr)
	if err == nil && host == "" {
		err = errors.New("it has no host")
	}
	if err != nil {
		return "", 0, fmt.Errorf("server %q: want HOST:PORT: %w", addr, err)
	}
	port, err = strconv.Atoi(text)
	if err != nil || port < 1 || port > 65535 {
		return "", 0, fmt.Errorf("server %q: %q is not a port", addr, text)
	}
	return host, port, nil
}

// loopbackHost says whether only this machine can be meant.
func loopbackHost(host string) bool {
	addr, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && addr.Unmap().IsLoopback()
}

// fillExternal completes a service that stands for a server which runs already: what is
// started is a forwarder. owned: the file says what OwnVariable does.
func (s *Service) fillExternal(owned bool) error {
	if s.Spec.External == "" {
		return nil
	}
	if s.Spec.Role != Server {
		return fmt.Errorf("x-picklock: external: only a server can run already, not a %s", s.Spec.Role)
	}
	if s.Spec.Local != nil {
		return errors.New("x-picklock: external and local: it runs already, or it is started")
	}
	host, port, err := splitExternal(s.Spec.External)
	if err != nil {
		return err
	}
	if !owned && !loopbackHost(host) && os.Getenv(OwnVariable) == "" {
		return Impossible(s.Spec.External + " is not on this machine's loopback: a run sends it many requests, keeps keys there and deletes them. If it is yours to test, say --i-own-this-service")
	}
	s.Spec.Ports = []int{port}
	s.Spec.Local = &Local{Command: []string{"{self}", "forward", "--listen", "{addr}:{port}", "--to", s.Spec.External}}
	return nil
}

// External lists the addresses of the servers that run already, in the order of the
// cluster's servers.
func (d *Definition) External() []string {
	var out []string
	for _, s := range d.Servers() {
		if s.Spec.External != "" {
			out = append(out, s.Spec.External)
		}
	}
	return out
}

// Flags are what names a cluster on the command line; none for "".
func Flags(name string) []string {
	list, external := strings.CutPrefix(name, EndpointPrefix)
	switch {
	case name == "":
		return nil
	case !external:
		return []string{"--cluster", name}
	}
	flags := []string{"--endpoint", list}
	if as := os.Getenv(CleanVariable); as != "" {
		flags = append(flags, "--clean-as", as)
	}
	for _, addr := range strings.Split(list, ",") {
		if host, _, err := splitExternal(addr); err == nil && !loopbackHost(host) {
			return append(flags, "--i-own-this-service")
		}
	}
	return flags
}
