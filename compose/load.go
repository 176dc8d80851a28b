package compose

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
)

//go:embed *.yml
var files embed.FS

// Definition is one cluster as its Compose file defines it.
type Definition struct {
	Name     string
	File     string // as given, or the embedded file's name
	Source   []byte // the file itself
	Services []Service
}

// Service is one service of the file.
type Service struct {
	Name  string
	Image string
	Spec  Spec
}

// Spec is the x-picklock extension of a service.
type Spec struct {
	Role  Role  `mapstructure:"role"`
	Ports []int `mapstructure:"ports"` // the first is the one that clients dial
	// Ready and Leader ask a running server on its first port; nil where
	// connecting says enough, or nobody leads.
	Ready  *Probe `mapstructure:"ready"`
	Leader *Probe `mapstructure:"leader"`
	// Promote makes a replica the one that leads, and Follow makes a server the
	// replica of the one at {addr} and {port}; nil where there are no replicas.
	Promote *Probe `mapstructure:"promote"`
	Follow  *Probe `mapstructure:"follow"`
	Log     *Log   `mapstructure:"log"`
	Local   *Local `mapstructure:"local"`
}

// Log is where a server writes what has to survive a crash.
type Log struct {
	Files string `mapstructure:"files"` // below the data directory, a pattern
	// Unsynced is how old a write may be, by the server's own settings, that is not
	// on the disk yet: what a machine loses that loses its power ("1s"; "0s" for
	// nothing).
	Unsynced string `mapstructure:"unsynced"`
}

// Window is Unsynced as a duration.
func (l *Log) Window() (time.Duration, error) {
	d, err := time.ParseDuration(l.Unsynced)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("x-picklock: log: unsynced %q: want a length of time, as 1s", l.Unsynced)
	}
	return d, nil
}

// Local is how compose/local runs the same server from this machine's own
// programs. In its texts {name}, {addr}, {port}, {port2}, {dir} and {self} stand
// for the node's name, address, ports, data directory and the picklock program,
// {NODE.addr} and {NODE.port} for another node's, and any run variable for its
// value, such as {ttl_ms}.
type Local struct {
	Command []string          `mapstructure:"command"`
	Env     map[string]string `mapstructure:"env"`
	Files   map[string]string `mapstructure:"files"` // below {dir}, written before every fresh start
	Needs   []Need            `mapstructure:"needs"`
	Version []string          `mapstructure:"version"` // a command that prints the server's version
}

// Need is a file or program that must be there, and the package that brings it.
type Need struct {
	Program string `mapstructure:"program"`
	File    string `mapstructure:"file"`
	Package string `mapstructure:"package"`
}

// Missing says what this machine lacks to run the server, and the remedy.
func (l *Local) Missing() error {
	for _, n := range l.Needs {
		var err error
		what := n.Program
		if n.Program != "" {
			_, err = exec.LookPath(n.Program)
		} else {
			what = n.File
			_, err = os.Stat(n.File)
		}
		if err != nil {
			return fmt.Errorf("%s is not installed: apt-get install %s (its service need not run)", what, n.Package)
		}
	}
	return nil
}

// Probe is one question to a server: what to send and what its answer must match.
type Probe struct {
	Send   string `mapstructure:"send"`
	Expect string `mapstructure:"expect"`
}

// Names lists the embedded clusters.
func Names() []string {
	names, _ := fs.Glob(files, "*.yml") // the pattern is a constant and well-formed
	for i, n := range names {
		names[i] = strings.TrimSuffix(n, ".yml")
	}
	slices.Sort(names)
	return names
}

// Load reads an embedded cluster by name, or a Compose file by path.
func Load(ctx context.Context, nameOrFile string) (*Definition, error) {
	d := &Definition{Name: nameOrFile, File: nameOrFile}
	var err error
	switch {
	case slices.Contains(Names(), nameOrFile):
		d.File = nameOrFile + ".yml"
		d.Source, err = files.ReadFile(d.File)
	case strings.ContainsAny(nameOrFile, "./"):
		d.Name = strings.TrimSuffix(filepath.Base(nameOrFile), filepath.Ext(nameOrFile))
		d.Source, err = os.ReadFile(nameOrFile)
	default:
		return nil, fmt.Errorf("unknown cluster %q: have %s, or the path of a Compose file", nameOrFile, strings.Join(Names(), ", "))
	}
	if err != nil {
		return nil, fmt.Errorf("read cluster definition: %w", err)
	}
	return d, d.parse(ctx)
}

func (d *Definition) parse(ctx context.Context) error {
	env := types.Mapping{}
	for _, kv := range os.Environ() {
		if k, v, ok := strings.Cut(kv, "="); ok {
			env[k] = v
		}
	}
	project, err := loader.LoadWithContext(ctx, types.ConfigDetails{
		WorkingDir:  filepath.Dir(d.File),
		ConfigFiles: []types.ConfigFile{{Filename: d.File, Content: d.Source}},
		Environment: env,
	}, func(o *loader.Options) {
		o.SetProjectName(loader.NormalizeProjectName("picklock-"+d.Name), true)
		o.SkipResolveEnvironment = true
	})
	if err != nil {
		return fmt.Errorf("load %s: %w", d.File, err)
	}
	for _, name := range project.ServiceNames() {
		sc := project.Services[name]
		s := Service{Name: name, Image: sc.Image}
		if _, err := sc.Extensions.Get("x-picklock", &s.Spec); err != nil {
			return fmt.Errorf("load %s: service %s: x-picklock: %w", d.File, name, err)
		}
		if s.Spec.Role == "" {
			s.Spec.Role = Role(sc.Labels["picklock.role"])
		}
		if port := sc.Labels["picklock.port"]; port != "" && len(s.Spec.Ports) == 0 {
			if s.Spec.Ports, err = parsePorts(port); err != nil {
				return fmt.Errorf("load %s: service %s: label picklock.port: %w", d.File, name, err)
			}
		}
		if err := s.check(); err != nil {
			return fmt.Errorf("load %s: service %s: %w", d.File, name, err)
		}
		d.Services = append(d.Services, s)
	}
	slices.SortFunc(d.Services, func(a, b Service) int { return compareNatural(a.Name, b.Name) })
	if len(d.Servers()) == 0 {
		return fmt.Errorf("load %s: no service with the role server: give one `x-picklock: {role: server, ports: [PORT]}` or the labels picklock.role=server and picklock.port=PORT", d.File)
	}
	return nil
}

// parsePorts reads "6379" or "2379,2380".
func parsePorts(text string) ([]int, error) {
	var out []int
	for _, word := range strings.Split(text, ",") {
		p, err := strconv.Atoi(strings.TrimSpace(word))
		if err != nil || p < 1 || p > 65535 {
			return nil, fmt.Errorf("%q is not a port", word)
		}
		out = append(out, p)
	}
	return out, nil
}

func (s *Service) check() error {
	switch s.Spec.Role {
	case Server:
		if len(s.Spec.Ports) == 0 {
			return fmt.Errorf("x-picklock: a server needs ports, the first of which its clients dial")
		}
	case "":
	default:
		return fmt.Errorf("x-picklock: unknown role %q: want server", s.Spec.Role)
	}
	if s.Spec.Log != nil {
		if _, err := s.Spec.Log.Window(); err != nil {
			return err
		}
	}
	for _, p := range []*Probe{s.Spec.Ready, s.Spec.Leader, s.Spec.Promote, s.Spec.Follow} {
		if p == nil {
			continue
		}
		if _, err := regexp.Compile(p.Expect); err != nil {
			return fmt.Errorf("x-picklock: expect: %w", err)
		}
	}
	return nil
}

// Servers lists the services with the role server, in natural order of their
// names.
func (d *Definition) Servers() []Service {
	var out []Service
	for _, s := range d.Services {
		if s.Spec.Role == Server {
			out = append(out, s)
		}
	}
	return out
}

// compareNatural orders redis2 before redis10.
func compareNatural(a, b string) int {
	as, an := splitNumber(a)
	bs, bn := splitNumber(b)
	if as != bs {
		return strings.Compare(as, bs)
	}
	return an - bn
}

func splitNumber(s string) (string, int) {
	i := len(s)
	for i > 0 && s[i-1] >= '0' && s[i-1] <= '9' {
		i--
	}
	n, _ := strconv.Atoi(s[i:]) // no digits: 0
	return s[:i], n
}

func hostPort(addr string, port int) string { return net.JoinHostPort(addr, strconv.Itoa(port)) }
