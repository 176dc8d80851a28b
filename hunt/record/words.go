package record

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/internal/link"
)

// detailForm is how the nemesis writes down what it did, and how a scenario asks for that.
type detailForm struct {
	kind string
	form *regexp.Regexp
	step func(r Run, w sides, m []string) ([]string, error)
}

// detailForms are tried in their order. A test asks the nemesis for every fault that it can
// draw and reads what it says of it.
var detailForms = []detailForm{
	{"pause", form(`stopped`), each("pause: %s")},
	{"kill", form(`killed, data wiped`), each("kill: %s without data")},
	{"kill", form(`killed`), each("kill: %s")},
	{"powerloss", form(`killed, and .* torn write`), each("powerloss: %s torn")},
	{"powerloss", form(`killed.*`), each("powerloss: %s")},
	{"failover", form(`\S+ promoted`), one("failover: %s")},
	{"disk", form(`disk full`), one("disk: %s full")},
	{"disk", form(`disk fails`), one("disk: %s eio")},
	{"disk", form(`every sync hangs`), one("disk: %s stall")},
	{"disk", form(`every sync takes (\S+)`), func(r Run, w sides, m []string) ([]string, error) {
		d, err := r.length(m[1])
		return w.one("disk: %s stall " + d), err
	}},
	{"clock", form(`wall clock ([+-]\S+?)(?:, measured.*)?`), func(r Run, w sides, m []string) ([]string, error) {
		d, err := r.length(m[1])
		return w.one("clock: %s " + d), err
	}},
	{"clock", form(`wall clock (x\S+?)(?:, measured.*)?`), func(_ Run, w sides, m []string) ([]string, error) {
		return w.one("clock: %s " + m[1]), nil
	}},
	{"clock", form(`wall clock strobe (\S+?)(?:, measured.*)?`), func(r Run, w sides, m []string) ([]string, error) {
		d, err := r.length(m[1])
		return w.one("clock: %s strobe " + strings.TrimPrefix(d, "+")), err
	}},
	{"partition", form(`each hears only .* in the ring (.+)`), func(_ Run, w sides, m []string) ([]string, error) { return w.ring(m) }},
	{"partition", form(`(.+) cut off from (.+?)(?:; .* hears both)?`), between("cut: %s from %s")},
	{"partition", form(`(.+) hears nothing from (.+?)(?:; .* hears both)?`), back("cut: %s to %s")},
	{"partition", form(`(.+?)(?: is)? not heard by (.+?)(?:; .* hears both)?`), between("cut: %s to %s")},
	{"flap", form(`(.+?) and (.+) cut and healed every ([^,]+).*`), flapping("flap: %s from %s")},
	{"flap", form(`(.+) to (.+) cut and healed every ([^,]+).*`), flapping("flap: %s to %s")},
	{"hold", form(`messages between (.+) and (.+) held`), between("hold: %s from %s")},
	{"hold", form(`messages from (.+) to (.+) held`), between("hold: %s to %s")},
	{"reset", form(`\d+ connections between (.+) and (.+) broken silently.*`), between("reset: %s to %s silently")},
	{"reset", form(`\d+ connections between (.+) and (.+) forgotten by .* only.*`), between("reset: %s to %s half-open")},
	{"reset", form(`\d+ connections between (.+) and (.+) reset.*`), between("reset: %s to %s")},
	{"slow", form(`(.+?) and (.+) slowed ([^,]+).*`), slowed("slow: %s from %s")},
	{"slow", form(`(.+) to (.+) slowed ([^,]+).*`), slowed("slow: %s to %s")},
	{"loss", form(`(.+?) and (.+) lose (\S+) % of their packets.*`), lossy("loss: %s from %s")},
	{"loss", form(`(.+) to (.+) lose (\S+) % of their packets.*`), lossy("loss: %s to %s")},
}

func form(text string) *regexp.Regexp { return regexp.MustCompile(`^` + text + `$`) }

// words are the faults of a schedule that do what an event says was done to those who take
// part, which may be nothing. names are what the processes that take part are called in it.
func (r Run) words(e history.Event, names map[string]string) ([]string, error) {
	w := sides{r, names, e.Nodes}
	for _, f := range detailForms {
		if f.kind != e.F {
			continue
		}
		if m := f.form.FindStringSubmatch(e.Detail); m != nil {
			return f.step(r, w, m)
		}
	}
	return nil, fmt.Errorf("no fault of a schedule is %q", e.Detail)
}

// sides turns the nodes of a run into those of a schedule.
type sides struct {
	run   Run
	names map[string]string
	nodes []string
}

// named are those of some nodes that take part, by their names in the schedule.
func (w sides) named(nodes []string) []string {
	var out []string
	for _, n := range nodes {
		switch name, client := w.names[n]; {
		case client:
			out = append(out, name)
		case slices.Contains(w.run.Servers, n) || n == register:
			out = append(out, n)
		}
	}
	return out
}

const register = "register"

// group are the nodes that a word of a detail stands for, without those of the other side.
func (w sides) group(word string, without []string) []string {
	var all []string
	clients := func() {
		for process := range w.names {
			all = append(all, process)
		}
		slices.Sort(all[len(all)-len(w.names):])
	}
	switch word {
	case "servers", "server":
		all = slices.Clone(w.run.Servers)
	case "clients", "client":
		clients()
	case "servers and clients":
		all = slices.Clone(w.run.Servers)
		clients()
	default:
		return strings.Split(word, ", ")
	}
	return slices.DeleteFunc(all, func(n string) bool { return slices.Contains(without, n) })
}

// link fills in both sides of a link; nothing, where nobody on one of them takes part.
func (w sides) link(step, left, right string) []string {
	a := w.group(left, nil)
	b := w.group(right, a)
	if w.isGroup(left) {
		b = w.group(right, nil)
		a = w.group(left, b)
	}
	l, r := w.named(a), w.named(b)
	if len(l) == 0 || len(r) == 0 {
		return nil
	}
	return []string{fmt.Sprintf(step, strings.Join(l, ", "), strings.Join(r, ", "))}
}

func (w sides) isGroup(word string) bool {
	return slices.Contains([]string{"server", "servers", "client", "clients", "servers and clients"}, word)
}

// one gives each node that takes part a fault of its own.
func (w sides) one(step string) []string {
	var out []string
	for _, n := range w.named(w.nodes) {
		out = append(out, fmt.Sprintf(step, n))
	}
	return out
}

type stepsOf = func(r Run, w sides, m []string) ([]string, error)

func one(step string) stepsOf {
	return func(_ Run, w sides, _ []string) ([]string, error) { return w.one(step), nil }
}

// each strikes all nodes that take part at once.
func each(step string) stepsOf {
	return func(_ Run, w sides, _ []string) ([]string, error) {
		if n := w.named(w.nodes); len(n) > 0 {
			return []string{fmt.Sprintf(step, strings.Join(n, ", "))}, nil
		}
		return nil, nil
	}
}

func between(step string) stepsOf {
	return func(_ Run, w sides, m []string) ([]string, error) { return w.link(step, m[1], m[2]), nil }
}

func back(step string) stepsOf {
	return func(_ Run, w sides, m []string) ([]string, error) { return w.link(step, m[2], m[1]), nil }
}

func flapping(step string) stepsOf {
	return func(r Run, w sides, m []string) ([]string, error) {
		each, err := r.length(m[3])
		return w.link(step+" "+each, m[1], m[2]), err
	}
}

func lossy(step string) stepsOf {
	return func(_ Run, w sides, m []string) ([]string, error) {
		return w.link(step+" "+m[3]+"%%", m[1], m[2]), nil
	}
}

func slowed(step string) stepsOf {
	return func(r Run, w sides, m []string) ([]string, error) {
		text := step
		for _, part := range strings.Split(m[3], " and ") {
			how, value, _ := strings.Cut(part, " ")
			if value = strings.ReplaceAll(value, " ", ""); how == "by" {
				var s link.Slow
				if err := s.Read(value); err != nil {
					return nil, err
				}
				value = r.scaled(s.Delay).String()
				if s.Jitter > 0 {
					value += "±" + min(r.scaled(s.Jitter), r.scaled(s.Delay)).String()
				}
			}
			text += " " + value
		}
		return w.link(text, m[1], m[2]), nil
	}
}

// length is a time of a fault, in the schedule's leases, with its sign.
func (r Run) length(text string) (string, error) {
	d, err := time.ParseDuration(text)
	if err != nil {
		return "", err
	}
	out := r.scaled(d).String()
	if strings.HasPrefix(text, "+") {
		out = "+" + out
	}
	return out, nil
}

var ringNeighbours = regexp.MustCompile(`its (\d+ )?neighbours`)

// ring cuts the servers that do not hear each other in a ring of them.
func (w sides) ring(m []string) ([]string, error) {
	servers := w.named(strings.Split(m[1], ", "))
	n, reach := len(servers), 0
	if near := ringNeighbours.FindStringSubmatch(m[0]); near != nil {
		reach = 1
		if near[1] != "" {
			var err error
			if reach, err = strconv.Atoi(strings.TrimSpace(near[1])); err != nil {
				return nil, err
			}
		}
	}
	var out []string
	for i := range servers {
		if reach == 0 {
			out = append(out, fmt.Sprintf("cut: %s to %s", servers[i], servers[(i+1)%n]))
			continue
		}
		for j := i + 1; j < n; j++ {
			if min(j-i, n-j+i) > reach {
				out = append(out, fmt.Sprintf("cut: %s from %s", servers[i], servers[j]))
			}
		}
	}
	return out, nil
}
