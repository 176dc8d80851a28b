package scenarios

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/internal/meant"
	"github.com/picklock/picklock/workloads"
)

// Step is one line of a script.
type Step struct {
	Line int
	Text string // as written: "A: acquire &"
	Word string // "act", or one of stepWords

	Client     string // of an act
	Acts       []string
	Background bool // started, not waited for

	Nodes, Peers []string // whom a fault hits; of a cut, the two sides
	Both         bool     // a cut both ways
	By           time.Duration
	Wipe         bool
	Await        *Await
	Count        string
}

// Await is what a step waits for. Every wait is for an event; a time is only ever
// given from an event on, or as the limit of a wait for what may not come.
type Await struct {
	What string // granted, waiting, ..., lease, after, key, gone, request, queued, fewer, quiet

	Client  string
	Servers []string
	N       int           // of queued, fewer and request
	For     time.Duration // of after and quiet
	Since   string        // of after: granted, asked or lease over
	Or      time.Duration // go on after this time even if it has not come; 0: it must come
	Within  time.Duration // of only if: the script is not for this lock if it has not come by then
	Reason  string        // of only if: why it should come
}

var stepWords = []string{
	"pause", "resume", "kill", "start", "cut", "heal", "clock", "failover", "powerloss", "mark", "await", "only if", "count", "counted",
}

// clientWords are what can be awaited of a client.
var clientWords = []string{"granted", "waiting", "done", "lost", "failed", "refused"}

var clockForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(\S+)\s+([+-]\S+|right)$`) })

// steps reads the script and checks that its order is possible.
func (p *parser) steps(n *yaml.Node) error {
	if n.Kind != yaml.SequenceNode {
		return p.errorf(n, "steps: want a list")
	}
	order := newOrder(p)
	for _, item := range n.Content {
		st, err := p.step(item)
		if err != nil {
			return err
		}
		if err := order.next(item, st); err != nil {
			return err
		}
		p.s.Steps = append(p.s.Steps, *st)
	}
	return order.end(n)
}

func (p *parser) step(n *yaml.Node) (*Step, error) {
	word, rest := n.Value, ""
	switch {
	case n.Kind == yaml.ScalarNode && n.Value != "":
	case n.Kind == yaml.MappingNode && len(n.Content) == 2 && n.Content[1].Kind == yaml.ScalarNode:
		word, rest = n.Content[0].Value, strings.TrimSpace(n.Content[1].Value)
	default:
		return nil, p.errorf(n, `a step is one line, as "A: acquire" or "pause: A"`)
	}
	st := &Step{Line: n.Line, Word: word, Text: strings.TrimSuffix(word+": "+rest, ": ")}
	switch {
	case slices.Contains(p.s.Clients, word):
		return st, p.act(n, st, word, rest)
	case slices.Contains(stepWords, word):
		return st, p.fill(n, st, rest)
	case clientForm.MatchString(word):
		return nil, p.errorf(n, "client %s is not among the scenario's clients%s (%s)", word, meant.Word(word, p.s.Clients), listed(p.s.Clients))
	}
	return nil, p.errorf(n, "unknown step %q%s (have %s, or a client's name)", word, meant.Word(word, stepWords), strings.Join(stepWords, ", "))
}

func listed(names []string) string {
	if len(names) == 0 {
		return "there are none: give clients: [A, B]"
	}
	return strings.Join(names, ", ")
}

func (p *parser) act(n *yaml.Node, st *Step, client, rest string) error {
	st.Word, st.Client = "act", client
	rest, st.Background = strings.CutSuffix(rest, "&")
	for _, a := range strings.Split(rest, ",") {
		a = strings.TrimSpace(a)
		word, _, err := workloads.ParseAct(a)
		if errors.Is(err, workloads.ErrNoAct) {
			err = fmt.Errorf("unknown step %q%s (a client can %s)", a, meant.Word(a, workloads.Acts()), strings.Join(workloads.Acts(), ", "))
		}
		if err != nil {
			return p.errorf(n, "%v", err)
		}
		if i := len(st.Acts); i > 0 && (word == history.Acquire || st.Acts[i-1] == history.Release) {
			return p.errorf(n, "%s: %s cannot follow %s in one step: give it a line of its own", client, a, st.Acts[i-1])
		}
		st.Acts = append(st.Acts, a)
	}
	return nil
}

// fill reads what follows the word of a step that is no client's.
func (p *parser) fill(n *yaml.Node, st *Step, rest string) (err error) {
	switch st.Word {
	case "await":
		st.Await, err = p.await(n, rest)
		return err
	case "only if":
		return p.only(n, st, rest)
	case "count", "counted":
		if rest != WakeUps {
			return p.errorf(n, "%s: what can be counted is %s, not %q%s", st.Word, WakeUps, rest, meant.Word(rest, []string{WakeUps}))
		}
		st.Count = rest
		return nil
	case "heal":
		if rest != "" {
			return p.cut(n, st, rest)
		}
		return nil
	case "cut":
		return p.cut(n, st, rest)
	case "clock":
		m := clockForm().FindStringSubmatch(rest)
		if m == nil {
			return p.errorf(n, "clock: want a node and a jump, as redis3 +5s, or right to set it right again")
		}
		rest = m[1]
		if m[2] != "right" {
			if st.By, err = time.ParseDuration(m[2]); err != nil || st.By == 0 {
				return p.errorf(n, "clock: %q is no jump: want one like +5s or -1m", m[2])
			}
		}
	case "kill":
		if before, ok := strings.CutSuffix(rest, "without data"); ok {
			rest, st.Wipe = strings.TrimRight(before, " ,"), true
		}
	}
	st.Nodes, err = p.targets(n, st.Word, rest)
	if err == nil && len(st.Nodes) != 1 && slices.Contains([]string{"failover", "powerloss", "mark"}, st.Word) {
		err = p.errorf(n, "%s: want one server", st.Word)
	}
	return err
}

// cut reads "A from redis4, redis5" (both ways) or "A to redis4" (one way).
func (p *parser) cut(n *yaml.Node, st *Step, rest string) (err error) {
	left, right, ok := strings.Cut(rest, " from ")
	st.Both = ok
	if !ok {
		if left, right, ok = strings.Cut(rest, " to "); !ok {
			return p.errorf(n, "%s: want two sides, as A from redis4, redis5 (both ways) or A to redis4 (what A sends is lost)", st.Word)
		}
	}
	if st.Nodes, err = p.targets(n, st.Word, left); err != nil {
		return err
	}
	st.Peers, err = p.targets(n, st.Word, right)
	return err
}

// Servers stands for all servers where nodes are named.
const Servers = "servers"

// WakeUps is what can be counted: how often the service told a waiting client that
// something changed.
const WakeUps = "wake-ups"

var nodeForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9_-]*$`) })

func (p *parser) targets(n *yaml.Node, word, text string) ([]string, error) {
	var out []string
	for _, t := range strings.Split(text, ",") {
		t = strings.TrimSpace(t)
		switch {
		case !nodeForm().MatchString(t):
			return nil, p.errorf(n, "%s: want the names of nodes, not %q", word, t)
		case clientForm.MatchString(t) && !slices.Contains(p.s.Clients, t):
			return nil, p.errorf(n, "client %s is not among the scenario's clients%s (%s)", t, meant.Word(t, p.s.Clients), listed(p.s.Clients))
		}
		out = append(out, t)
	}
	return out, nil
}

var (
	orForm     = regexp.MustCompile(`^(.*\S)\s+or\s+(\S+)$`)
	leaseForm  = regexp.MustCompile(`^lease of (\S+) over$`)
	afterForm  = regexp.MustCompile(`^(\S+) after (\S+) (granted|asked)$`)
	laterForm  = regexp.MustCompile(`^(\S+) after lease of (\S+) over$`)
	soonForm   = regexp.MustCompile(`^(\S+) before lease of (\S+) over$`)
	keyForm    = regexp.MustCompile(`^key (gone )?on (.+)$`)
	askForm    = regexp.MustCompile(`^(?:request|(\d+) requests) at (.+)$`)
	queueForm  = regexp.MustCompile(`^(?:at most )?(\d+) queued$`)
	quietForm  = regexp.MustCompile(`^quiet (\S+)$`)
	personForm = regexp.MustCompile(`^([A-Z]\S*) ([a-z]+)$`)
)

// await reads what a step waits for.
func (p *parser) await(n *yaml.Node, text string) (_ *Await, err error) {
	a := &Await{}
	if m := orForm.FindStringSubmatch(text); m != nil {
		text = m[1]
		if a.Or, err = time.ParseDuration(m[2]); err != nil || a.Or <= 0 {
			return nil, p.errorf(n, "await: %q is no length of time", m[2])
		}
	}
	number := ""
	length := func(s string) bool {
		a.For, err = time.ParseDuration(s)
		return err == nil && a.For > 0
	}
	if _, err := time.ParseDuration(text); err == nil {
		return nil, p.errorf(n, "await: a time alone is no event: say from when on, as %s after A granted", text)
	}
	switch {
	case match(leaseForm, text, &a.Client):
		a.What = "lease"
	case match(afterForm, text, &number, &a.Client, &a.Since):
		a.What = "after"
		if !length(number) {
			return nil, p.errorf(n, "await: %q is no length of time", number)
		}
	case match(laterForm, text, &number, &a.Client):
		a.What, a.Since = "after", "lease over"
		if !length(number) {
			return nil, p.errorf(n, "await: %q is no length of time", number)
		}
	case match(soonForm, text, &number, &a.Client):
		a.What, a.Since = "after", "lease over"
		if !length(number) {
			return nil, p.errorf(n, "await: %q is no length of time", number)
		}
		a.For = -a.For
	case match(queueForm, text, &number):
		a.What = "queued"
		if strings.HasPrefix(text, "at most") {
			a.What = "fewer"
		}
		if a.N, err = strconv.Atoi(number); err != nil {
			return nil, p.errorf(n, "await: %q is no number of clients", number)
		}
	case match(quietForm, text, &number):
		a.What = "quiet"
		if !length(number) {
			return nil, p.errorf(n, "await: %q is no length of time", number)
		}
	case keyForm.MatchString(text):
		m := keyForm.FindStringSubmatch(text)
		a.What = map[bool]string{true: "gone", false: "key"}[m[1] != ""]
		a.Servers, err = p.targets(n, "await", m[2])
		return a, err
	case askForm.MatchString(text):
		m := askForm.FindStringSubmatch(text)
		a.What, a.N = "request", 1
		if m[1] != "" {
			if a.N, err = strconv.Atoi(m[1]); err != nil || a.N < 1 {
				return nil, p.errorf(n, "await: %q is no number of requests", m[1])
			}
		}
		a.Servers, err = p.targets(n, "await", m[2])
		return a, err
	case match(personForm, text, &a.Client, &a.What):
		if !slices.Contains(clientWords, a.What) {
			return nil, p.errorf(n, "await: %q%s (of a client one can await %s)", a.What, meant.Word(a.What, clientWords), strings.Join(clientWords, ", "))
		}
	default:
		return nil, p.errorf(n, "await: %q is nothing that can be awaited: have A granted (or %s), lease of A over, 700ms after A granted, 200ms before lease of A over, key on S, key gone on S, request at S, 2 requests at S, 2 queued, at most 1 queued, quiet 200ms", text, strings.Join(clientWords[1:], ", "))
	}
	if a.Client != "" && !slices.Contains(p.s.Clients, a.Client) {
		return nil, p.errorf(n, "client %s is not among the scenario's clients%s (%s)", a.Client, meant.Word(a.Client, p.s.Clients), listed(p.s.Clients))
	}
	return a, nil
}

// match puts the form's groups into words.
func match(form *regexp.Regexp, text string, words ...*string) bool {
	m := form.FindStringSubmatch(text)
	if m == nil {
		return false
	}
	for i, w := range words {
		*w = m[i+1]
	}
	return true
}

func (a *Await) String() string {
	text := map[string]string{
		"lease": "the end of " + a.Client + "'s lease", "after": fmt.Sprintf("%v after %s %s", a.For, a.Client, a.Since),
		"key": "the key on " + strings.Join(a.Servers, ", "), "gone": "the end of the key on " + strings.Join(a.Servers, ", "),
		"request": fmt.Sprintf("%s at %s", map[bool]string{true: "a request", false: fmt.Sprintf("%d requests", a.N)}[a.N == 1], strings.Join(a.Servers, ", ")), "queued": fmt.Sprintf("%d in line", a.N), "fewer": fmt.Sprintf("at most %d in line", a.N), "quiet": fmt.Sprintf("%v of quiet", a.For),
	}[a.What]
	if a.For < 0 {
		text = fmt.Sprintf("%v before the end of %s's lease", -a.For, a.Client)
	}
	if text == "" {
		text = a.Client + " " + a.What
	}
	return text
}
