package compose

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/compose-spec/compose-go/v2/types"

	"github.com/picklock/picklock/compose/servers"
	"github.com/picklock/picklock/internal/access"
	"github.com/picklock/picklock/internal/suggest"
)

//go:embed *.yml
var files embed.FS

// Definition is one cluster as its Compose file defines it.
type Definition struct {
	Name     string
	File     string // as given, or the embedded file's name
	Source   []byte // the file itself; With appends the other file
	Services []Service
	// Directory is the volume that all clients share (x-picklock: {directory: NAME} of
	// the whole file), "" for none. A cluster that has one needs no server.
	Directory string
	// Access is how servers that run already are reached.
	Access access.Access

	server  *servers.Server // what picklock gets for it; nil if its servers are built in or this machine's
	project *types.Project
	values  map[string]string // of the variables that the file names and the environment has
}

// NamesLease says that the servers are told how long a lease is, by {ttl_ms}.
func (d *Definition) NamesLease() bool { return bytes.Contains(d.Source, []byte("{ttl_ms}")) }

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
	// a connection is proof enough, or no server leads.
	Ready  *Probe `mapstructure:"ready"`
	Leader *Probe `mapstructure:"leader"`
	// Takeover is how long the others may need to replace this server when it leads
	// and is gone, by their own settings ("4s"); "" if none does.
	Takeover string `mapstructure:"takeover"`
	// ShortestLease is the shortest lease or session that the server keeps ("1s"): a request for a shorter one is rounded up
	// or refused. "" if it keeps any.
	ShortestLease string `mapstructure:"shortest_lease"`
	// Promote makes a replica the one that leads, and Follow makes a server the
	// replica of the one at {addr} and {port}; nil where there are no replicas.
	Promote *Probe `mapstructure:"promote"`
	Follow  *Probe `mapstructure:"follow"`
	// Refuse is how the server is made to refuse writes; nil where nothing says how.
	Refuse *Refusal `mapstructure:"refuse"`
	// Forgets says that a server which is started again has the role of its command line, and
	// not the one that a failover gave it. It has to be given that again.
	Forgets bool `mapstructure:"forgets"`
	// NeedsData says why a server that has lost its data cannot join the others again; ""
	// where it can, or where it is alone.
	NeedsData string `mapstructure:"needs_data"`
	// Version asks a server what it is: the expression's first group is the answer.
	Version *Probe `mapstructure:"version"`
	Log     *Log   `mapstructure:"log"`
	// Emulator names the program that stands in for the service, where the image is not
	// the service itself.
	Emulator string `mapstructure:"emulator"`
	// External is the HOST:PORT of a server that runs already and that picklock may inject
	// no fault into: what is started is a forwarder to it. "" for a server that is started.
	External string `mapstructure:"external"`
	Local    *Local `mapstructure:"local"`
}

// Log is where a server writes what has to survive a crash.
type Log struct {
	Files string `mapstructure:"files"` // below the data directory, a pattern
	// Dir is where the data directory is in the server's container; "" for the
	// directory that it works in.
	Dir string `mapstructure:"dir"`
	// Unsynced is how old a write may be, by the server's own settings, that is not
	// on the disk yet: what a machine loses that loses its power ("1s"; "0s" for
	// nothing).
	Unsynced string `mapstructure:"unsynced"`
	// Written asks a server whether all that it has answered is in its log; nil for one
	// that writes before it answers.
	Written *Probe `mapstructure:"written"`
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
	// Prepare is a command that makes what the server needs in its empty folder, if it needs anything. Its outcome
	// must depend on nothing but the programs: it is kept, and copied before every fresh start.
	Prepare []string `mapstructure:"prepare"`
	Needs   []Need   `mapstructure:"needs"`
	// Path lists folders, as patterns, in which programs are looked for besides PATH:
	// some packages keep theirs off it.
	Path []string `mapstructure:"path"`
	// User is the user id to run as where that would be 0, which some servers refuse;
	// 0 where any will do.
	User int `mapstructure:"user"`
	// Namespaces says why the server cannot share loopback with the others; "" where it
	// can.
	Namespaces string `mapstructure:"namespaces"`
	// NoDisk says why the server cannot run on picklock's own disk (see Disks); "" where it can.
	NoDisk string `mapstructure:"no_disk"`
	// Emulator names the program that stands in for the service here.
	Emulator string `mapstructure:"emulator"`
	// Version is a command that prints the server's version, where it cannot be asked.
	Version []string `mapstructure:"version"`
	// Gets is the version of the server that picklock gets (compose/servers) where the cluster's name has none; "" for a
	// server that this machine has, or picklock itself.
	Gets string `mapstructure:"gets"`
}

// Need is a file or program that must be there, and the package that has it.
type Need struct {
	Program string `mapstructure:"program"`
	File    string `mapstructure:"file"`
	Package string `mapstructure:"package"`
	Hint    string `mapstructure:"hint"` // what to do if no package has it
}

// Folders lists what Path stands for on this machine, the latest version first.
func (l *Local) Folders() []string {
	var out []string
	for _, pattern := range l.Path {
		found, _ := filepath.Glob(pattern) // a bad pattern finds nothing
		slices.SortFunc(found, func(a, b string) int { return compareNatural(filepath.Dir(b), filepath.Dir(a)) })
		out = append(out, found...)
	}
	return out
}

// Find is exec.LookPath that looks into Folders too.
func (l *Local) Find(program string) (string, error) {
	path, err := exec.LookPath(program)
	for _, dir := range l.Folders() {
		if err == nil {
			break
		}
		path, err = exec.LookPath(filepath.Join(dir, program))
	}
	return path, err
}

// Impossible is an error for a cluster that cannot run here until the user does
// something about it; nothing was started.
type Impossible string

func (i Impossible) Error() string { return string(i) }

// Missing says what this machine lacks to run the server, and what to do about it.
func (l *Local) Missing() error {
	for _, n := range l.Needs {
		var err error
		what := n.Program
		if n.Program != "" {
			_, err = l.Find(n.Program)
		} else {
			what = n.File
			_, err = os.Stat(n.File)
		}
		if err != nil && n.Hint != "" {
			return Impossible(fmt.Sprintf("%s is not installed: %s", what, n.Hint))
		}
		if err != nil {
			return Impossible(fmt.Sprintf("%s is not installed: apt-get install %s (its service need not run)", what, n.Package))
		}
	}
	return nil
}

// Probe is one question to a server: what to send and what its answer must match.
type Probe struct {
	Send   string `mapstructure:"send"`
	Expect string `mapstructure:"expect"`
	// TLS asks through TLS, whatever certificate the server has.
	TLS bool `mapstructure:"tls"`
	// Names, of a leader probe: the answer's first group holds the address and the
	// port of the server that leads, which another than the one asked may be.
	Names bool `mapstructure:"names"`
	// SQL is a query to send instead, to a server that speaks Postgres's protocol.
	SQL string `mapstructure:"sql"`
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

// Load reads an embedded cluster by name, or a Compose file by path; "endpoint:HOST:PORT,.."
// is one of servers that run already. NAME@VERSION is an embedded cluster with servers of another
// version, which Definition.Build has to build first.
func Load(ctx context.Context, nameOrFile string) (*Definition, error) {
	d := &Definition{Name: nameOrFile, File: nameOrFile}
	var err error
	name, _, _ := Version(nameOrFile)
	switch {
	case strings.HasPrefix(nameOrFile, EndpointPrefix):
		d.Source, err = endpoints(strings.TrimPrefix(nameOrFile, EndpointPrefix))
	case slices.Contains(Names(), name):
		d.File = name + ".yml"
		d.Source, err = files.ReadFile(d.File)
	case strings.ContainsAny(nameOrFile, "./"):
		d.Name = strings.TrimSuffix(filepath.Base(nameOrFile), filepath.Ext(nameOrFile))
		d.Source, err = os.ReadFile(nameOrFile)
	default:
		return nil, suggest.Unknown("cluster", nameOrFile, append(Names(), "none"), "or the path of a Compose file")
	}
	if err != nil {
		return nil, fmt.Errorf("read cluster definition: %w", err)
	}
	if err := d.expand(); err != nil {
		return nil, fmt.Errorf("load %s: %w", d.File, err)
	}
	if err := d.parse(ctx); err != nil {
		return nil, err
	}
	if err := d.takeVersion(); err != nil {
		return nil, err
	}
	for _, s := range d.with(Register) {
		return nil, fmt.Errorf("load %s: service %s: x-picklock: unknown role %q: want server", d.File, s.Name, s.Spec.Role)
	}
	return d, nil
}

func (d *Definition) parse(ctx context.Context) error {
	project, err := d.load(ctx)
	if err != nil {
		return fmt.Errorf("load %s: %w", d.File, err)
	}
	var whole struct {
		Directory string `mapstructure:"directory"`
		Owned     bool   `mapstructure:"i_own_this_service"`
	}
	fields := reflect.TypeOf(whole)
	if members, _ := project.Extensions["x-picklock"].(map[string]any); members["role"] != nil {
		fields = reflect.TypeFor[Spec]() // what the services share, by a YAML anchor
	}
	if err := unknownKeys(project.Extensions["x-picklock"], fields, "x-picklock"); err != nil {
		return fmt.Errorf("load %s: %w", d.File, err)
	}
	if _, err := project.Extensions.Get("x-picklock", &whole); err != nil {
		return fmt.Errorf("load %s: x-picklock: %w", d.File, err)
	}
	d.Directory = whole.Directory
	for _, name := range project.ServiceNames() {
		sc := project.Services[name]
		s := Service{Name: name, Image: sc.Image}
		if err := unknownKeys(sc.Extensions["x-picklock"], reflect.TypeOf(s.Spec), "x-picklock"); err != nil {
			return fmt.Errorf("load %s: service %s: %w", d.File, name, err)
		}
		if _, err := sc.Extensions.Get("x-picklock", &s.Spec); err != nil {
			return fmt.Errorf("load %s: service %s: x-picklock: want numbers as in ports: [6379], and commands as lists, as in command: [redis-server, --port, \"{port}\"]: %w", d.File, name, err)
		}
		if s.Spec.Role == "" {
			s.Spec.Role = Role(sc.Labels["picklock.role"])
		}
		if port := sc.Labels["picklock.port"]; port != "" && len(s.Spec.Ports) == 0 {
			if s.Spec.Ports, err = parsePorts(port); err != nil {
				return fmt.Errorf("load %s: service %s: label picklock.port: %w", d.File, name, err)
			}
		}
		if err := s.fillExternal(whole.Owned); err != nil {
			return fmt.Errorf("load %s: %w", d.File, err)
		}
		if err := s.check(); err != nil {
			return fmt.Errorf("load %s: service %s: %w", d.File, name, err)
		}
		d.Services = append(d.Services, s)
	}
	slices.SortFunc(d.Services, func(a, b Service) int { return compareNatural(a.Name, b.Name) })
	if len(d.Members()) == 0 && d.Directory == "" {
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
	case Server, Register:
		if len(s.Spec.Ports) == 0 {
			return fmt.Errorf("x-picklock: a server needs ports, the first of which its clients dial")
		}
		for _, p := range s.Spec.Ports {
			if p < 1 || p > 65535 {
				return fmt.Errorf("x-picklock: %d is not a port", p)
			}
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
	if err := s.Spec.checkLengths(); err != nil {
		return err
	}
	if err := s.Spec.Refuse.check(); err != nil {
		return err
	}
	if err := s.Spec.Local.check(); err != nil {
		return err
	}
	probes := append([]*Probe{s.Spec.Ready, s.Spec.Leader, s.Spec.Promote, s.Spec.Follow, s.Spec.Version}, s.Spec.Refuse.probes()...)
	if s.Spec.Log != nil {
		probes = append(probes, s.Spec.Log.Written)
	}
	for _, p := range probes {
		if p == nil {
			continue
		}
		if err := p.fill(); err != nil {
			return err
		}
		if _, err := regexp.Compile(p.Expect); err != nil {
			return fmt.Errorf("x-picklock: expect: %w", err)
		}
	}
	return nil
}

// Servers lists the services with the role server, in natural order of their
// names.
func (d *Definition) Servers() []Service { return d.with(Server) }

// Members lists the services that are nodes of the experiment: the servers, and then
// the protected resource, where that is a server, too.
func (d *Definition) Members() []Service { return append(d.with(Server), d.with(Register)...) }

func (d *Definition) with(role Role) []Service {
	var out []Service
	for _, s := range d.Services {
		if s.Spec.Role == role {
			out = append(out, s)
		}
	}
	return out
}

func hostPort(addr string, port int) string { return net.JoinHostPort(addr, strconv.Itoa(port)) }
