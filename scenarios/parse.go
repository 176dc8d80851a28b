package scenarios

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/picklock/picklock/clients/register"
	"github.com/picklock/picklock/internal/suggest"
)

// Error is a mistake in a scenario's file.
type Error struct {
	File string
	Line int
	Text string
}

func (e *Error) Error() string { return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Text) }

// parser reads one file. The first mistake ends it.
type parser struct {
	file string
	s    *Scenario
	seen map[string]int // field -> line
	late []func() error // what can only be checked when all has been read
}

// check has something checked when all has been read.
func (p *parser) check(f func() error) { p.late = append(p.late, f) }

func (p *parser) errorf(n *yaml.Node, format string, args ...any) error {
	return &Error{p.file, n.Line, fmt.Sprintf(format, args...)}
}

// pattern compiles a form when it is first used: most starts of the program read no scenario.
func pattern(form string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(form) })
}

var yamlLine = pattern(`line (\d+): (.*)`)

// Parse reads a scenario; file stands for it in errors, each of which names the
// line and, where it can be guessed, what was meant.
func Parse(file string, text []byte) (*Scenario, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		e := &Error{File: file, Line: 1, Text: strings.TrimPrefix(err.Error(), "yaml: ")}
		if m := yamlLine().FindStringSubmatch(err.Error()); m != nil {
			e.Line, _ = strconv.Atoi(m[1]) // the form has digits only
			e.Text = "not YAML: " + m[2]
		}
		return nil, e
	}
	p := &parser{file: file, seen: map[string]int{}, s: &Scenario{File: file, Text: text, TTL: time.Second, Extra: map[string]string{}}}
	if len(doc.Content) == 0 || doc.Content[0].Kind != yaml.MappingNode {
		return nil, &Error{file, 1, "a scenario is a mapping: name, about, locks, clients, faults, expect"}
	}
	root := doc.Content[0]
	for _, late := range []bool{false, true} {
		for i := 0; i+1 < len(root.Content); i += 2 {
			key, value := root.Content[i], root.Content[i+1]
			if late != slices.Contains(lateFields, key.Value) {
				continue
			}
			if err := p.field(key, value); err != nil {
				return nil, err
			}
		}
	}
	return p.s, p.whole(root)
}

var (
	fields = []string{"name", "about", "source", "locks", "fencing", "cluster", "folder", "runtime", "options", "needs", "clients", "ttl", "lease", "bound", "timeout", "ignore-lost", "run", "faults", "count", "replay", "expect"}
	// lateFields speak of what the others name.
	lateFields = []string{"faults", "count", "expect"}
)

func (p *parser) field(key, v *yaml.Node) (err error) {
	if line, twice := p.seen[key.Value]; twice {
		return p.errorf(key, "%q again: it is given in line %d already", key.Value, line)
	}
	p.seen[key.Value] = key.Line
	s := p.s
	switch key.Value {
	case "name":
		s.Name, err = p.text(v)
		if err == nil && !nameForm().MatchString(s.Name) {
			err = p.errorf(v, "name %q: want small letters, digits and dashes", s.Name)
		}
	case "about":
		s.About, err = p.text(v)
		s.About = strings.Join(strings.Fields(s.About), " ")
	case "source":
		s.Source, err = p.text(v)
	case "cluster":
		s.Cluster, err = p.text(v)
	case "folder":
		s.Folder, err = p.text(v)
	case "runtime":
		if s.Runtime, err = p.text(v); err == nil && s.Runtime != "local" && s.Runtime != "docker" {
			err = p.errorf(v, "unknown runtime %q (have local, docker)", s.Runtime)
		}
	case "locks":
		s.Locks, err = p.words(v)
	case "fencing":
		if s.Fencing, err = p.words(v); err == nil {
			err = p.disciplines(v)
		}
	case "options":
		err = v.Decode(&s.Extra)
		if err != nil {
			err = p.errorf(v, "options: want a mapping of texts")
		}
	case "needs":
		err = p.needed(v)
	case "clients":
		err = p.programs(v)
	case "ttl":
		s.TTL, err = p.duration(v)
	case "lease":
		s.Lease, err = p.duration(v)
	case "bound":
		s.Bound, err = p.duration(v)
	case "timeout":
		s.Timeout, err = p.duration(v)
	case "ignore-lost":
		if v.Decode(&s.IgnoreLost) != nil {
			err = p.errorf(v, "ignore-lost: want true or false, not %q", v.Value)
		}
	case "run":
		err = p.run(v)
	case "faults":
		s.TriggeredFaults, err = p.track(v, key.Value, faultWords())
	case "count":
		s.Counts, err = p.track(v, key.Value, []string{"what"})
	case "replay":
		s.Replay, err = p.text(v)
	case "expect":
		err = p.expect(v)
	default:
		err = p.errorf(key, "unknown field %q%s (have %s)", key.Value, suggest.Word(key.Value, fields), strings.Join(fields, ", "))
	}
	return err
}

var (
	nameForm   = pattern(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	clientForm = pattern(`^[A-Z][A-Z0-9]{0,3}$`)
)

// whole checks what can only be known when all has been read.
func (p *parser) whole(root *yaml.Node) error {
	s := p.s
	switch {
	case s.Name == "":
		return p.errorf(root, "the scenario has no name")
	case s.About == "":
		return p.errorf(root, "scenario %s does not say what it is about", s.Name)
	case len(s.Locks) == 0:
		return p.errorf(root, "scenario %s names no locks to be run on", s.Name)
	case s.Programs != nil && s.Run != nil:
		return p.errorf(root, "scenario %s has both clients that carry out programs and a run: leave out one of them", s.Name)
	case s.Programs == nil && s.Run == nil:
		return p.errorf(root, "scenario %s has neither clients that carry out programs nor a run", s.Name)
	case s.Programs == nil && len(s.Expect) == 0:
		return p.errorf(root, "scenario %s expects nothing", s.Name)
	}
	for _, check := range p.late {
		if err := check(); err != nil {
			return err
		}
	}
	for _, e := range s.Expect {
		for _, name := range sortedKeys(e.Counts) {
			if !slices.ContainsFunc(s.Counts, func(c TriggeredFault) bool { return c.Fault.Word == name }) {
				return &Error{p.file, p.seen["expect"], fmt.Sprintf("counts: %q is not counted: name it under count", name)}
			}
		}
	}
	if len(s.Fencing) == 0 {
		s.Fencing = []string{"none"}
	}
	if len(s.Expect) == 0 {
		return nil // a schedule: whatever comes of it
	}
	for _, lock := range s.Locks {
		for _, fencing := range s.Fencing {
			if s.Expected(lock, fencing) == nil {
				return &Error{p.file, p.seen["expect"], fmt.Sprintf("nothing is expected of lock %s with fencing %s: name it, or give \"*\"", lock, fencing)}
			}
		}
	}
	return nil
}

func (p *parser) text(n *yaml.Node) (string, error) {
	if n.Kind != yaml.ScalarNode || n.Value == "" {
		return "", p.errorf(n, "want a text")
	}
	return n.Value, nil
}

// words reads a list, or one text as a list of one.
func (p *parser) words(n *yaml.Node) ([]string, error) {
	if n.Kind == yaml.ScalarNode && n.Value != "" {
		return []string{n.Value}, nil
	}
	if n.Kind != yaml.SequenceNode {
		return nil, p.errorf(n, "want a list")
	}
	var out []string
	for _, c := range n.Content {
		w, err := p.text(c)
		if err != nil {
			return nil, err
		}
		if slices.Contains(out, w) {
			return nil, p.errorf(c, "%q is in the list twice", w)
		}
		out = append(out, w)
	}
	return out, nil
}

func (p *parser) duration(n *yaml.Node) (time.Duration, error) {
	d, err := time.ParseDuration(n.Value)
	if err != nil || d <= 0 {
		return 0, p.errorf(n, "%q is no length of time: want one like 500ms or 2s", n.Value)
	}
	return d, nil
}

func (p *parser) disciplines(n *yaml.Node) error {
	for i, name := range p.s.Fencing {
		if err := p.discipline(at(n, i), name); err != nil {
			return err
		}
	}
	return nil
}

func (p *parser) discipline(n *yaml.Node, name string) error {
	var names []string
	for _, d := range register.FencingModes() {
		names = append(names, d.Name)
	}
	if !slices.Contains(names, name) {
		return p.errorf(n, "unknown fencing %q%s (have %s)", name, suggest.Word(name, names), strings.Join(names, ", "))
	}
	return nil
}

// at is the i-th element of a list, or the text that stands for it.
func at(n *yaml.Node, i int) *yaml.Node {
	if i < len(n.Content) {
		return n.Content[i]
	}
	return n
}

func (p *parser) clientNames(n *yaml.Node) error {
	for i, c := range p.s.Clients {
		if !clientForm().MatchString(c) {
			return p.errorf(n.Content[2*i], "client %q: want a capital letter or a short word of them, as A, B, W1", c)
		}
	}
	return nil
}

func (p *parser) run(n *yaml.Node) error {
	var r struct {
		Clients    int           `yaml:"clients"`
		Keys       int           `yaml:"keys"`
		Workload   string        `yaml:"workload"`
		Faults     []string      `yaml:"faults"`
		Limit      time.Duration `yaml:"duration"`
		WorkTime   time.Duration `yaml:"work-time"`
		IgnoreLost bool          `yaml:"ignore-lost"`
	}
	known := []string{"clients", "keys", "workload", "faults", "duration", "work-time", "ignore-lost"}
	if n.Kind != yaml.MappingNode {
		return p.errorf(n, "run: want a mapping of %s", strings.Join(known, ", "))
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if k := n.Content[i]; !slices.Contains(known, k.Value) {
			return p.errorf(k, "unknown field %q of run%s (have %s)", k.Value, suggest.Word(k.Value, known), strings.Join(known, ", "))
		}
	}
	if err := n.Decode(&r); err != nil {
		return p.errorf(n, "run: %v", err)
	}
	if r.Limit <= 0 {
		return p.errorf(n, "run: it needs a duration")
	}
	p.s.Run = &Run{r.Clients, r.Keys, r.Workload, r.Faults, r.Limit, r.WorkTime, r.IgnoreLost}
	return nil
}
