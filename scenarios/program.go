package scenarios

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/internal/suggest"
	"github.com/picklock/picklock/workloads"
)

// Program is what one client carries out by itself, move after move. One that makes no
// sense when its turn comes (a write without a grant) is passed over.
type Program []Move

// Move is one line of a program.
type Move struct {
	// Do is an act of workloads, or Work, or Wait.
	Do     string
	Shared bool // of an acquire: together with others who share the lock
	Again  bool // of a release: of what the client has released since it last asked for the lock
	Other  bool // of an acquire or a release: of the key that the client does not hold, beside the one that it holds
	Second bool // of an acquire: of the second key, whose name begins with that of the first
	Span   Span // of Work: how long; of an acquire: how long it may wait, 0 for any time; of a renew: for how long it is repeated
	// Cancelled: the client cancels the acquire when Span is over, see workloads.Act.
	Cancelled bool
	Await     *Await // of Wait
}

// What a client can do besides the single operations.
const (
	Work = "work"  // goes on in the critical section for a while, and sends nothing
	Wait = "await" // for an event that another client or a fault brings about
)

func (m Move) String() string {
	switch {
	case m.Do == Work:
		return Work + " " + m.Span.String()
	case m.Do == Wait:
		return Wait + " " + m.Await.written()
	case m.Span != Span{}:
		return m.words() + m.act().SpanWord() + m.Span.String()
	}
	return m.words()
}

// act is a move of one operation without its time.
func (m Move) act() workloads.Act {
	return workloads.Act{Do: m.Do, Mode: m.mode(), Second: m.Second, Cancelled: m.Cancelled}
}

// words are those of act.
func (m Move) words() string { return m.act().String() }

// mode is that of the act, as workloads.Act has it.
func (m Move) mode() string {
	switch {
	case m.Shared:
		return history.Shared
	case m.Again:
		return workloads.Again
	case m.Other:
		return workloads.Other
	}
	return ""
}

func (p Program) String() string {
	n, times := p.Repeated()
	var words []string
	for _, m := range p[:n] {
		words = append(words, m.String())
	}
	if times > 1 {
		words = append(words, fmt.Sprintf("%s %d times", again, times-1))
	}
	for _, m := range p[n*times:] {
		words = append(words, m.String())
	}
	return strings.Join(words, ", ")
}

// Repeated is how many of its first moves a program repeats, and how often it does them in all: once if it does so
// less than three times.
func (p Program) Repeated() (n, times int) {
	n, times = len(p), 1
	for k := 1; 3*k <= len(p); k++ {
		i := k
		for i+k <= len(p) && slices.Equal(p[i:i+k].words(), p[:k].words()) {
			i += k
		}
		if m := i / k; m >= 3 && (m-1)*k > n*(times-1) {
			n, times = k, m
		}
	}
	return n, times
}

func (p Program) words() []string {
	words := make([]string, len(p))
	for i, m := range p {
		words[i] = m.String()
	}
	return words
}

// again repeats what a program has done until then.
const again = "again"

var againTimes = regexp.MustCompile(`^` + again + ` (\d+) times$`)

// longestProgram bounds what a program repeats.
const longestProgram = 1000

// repeat is what a move that repeats the moves before it stands for; ok is false if it is none.
func (p *parser) repeat(n *yaml.Node, before Program, word string) (_ Program, ok bool, err error) {
	if word != again && !strings.HasPrefix(word, again+" ") {
		return nil, false, nil
	}
	groups := againTimes.FindStringSubmatch(word)
	if groups == nil || len(before) == 0 {
		return nil, true, p.errorf(n, "%q: want moves, and then how often they are done again, as in acquire, release, again 9 times", word)
	}
	times, err := strconv.Atoi(groups[1])
	if err != nil || times < 1 || times >= longestProgram || len(before)*(times+1) > longestProgram {
		return nil, true, p.errorf(n, "%s: a program has %d moves at most", word, longestProgram)
	}
	return slices.Repeat(before, times+1), true, nil
}

// programs reads the clients of a scenario whose clients carry out programs.
func (p *parser) programs(n *yaml.Node) error {
	if n.Kind != yaml.MappingNode {
		return p.errorf(n, "clients: want a mapping of names to programs, as A: acquire, read, write, release")
	}
	p.s.Programs = map[string]Program{}
	if len(n.Content) == 0 {
		return p.errorf(n, "clients: want at least one, as A: acquire, read, write, release")
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		name := n.Content[i].Value
		if _, twice := p.s.Programs[name]; twice {
			return p.errorf(n.Content[i], "client %s again", name)
		}
		p.s.Clients, p.s.Programs[name] = append(p.s.Clients, name), nil
	}
	if err := p.clientNames(n); err != nil {
		return err
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		program, err := p.program(n.Content[i+1])
		if err != nil {
			return err
		}
		p.s.Programs[n.Content[i].Value] = program
	}
	return nil
}

func (p *parser) program(n *yaml.Node) (Program, error) {
	text, err := p.text(n)
	if err != nil {
		return nil, err
	}
	var out Program
	asks := false
	for word := range strings.SplitSeq(text, ",") {
		word = strings.TrimSpace(word)
		if all, ok, err := p.repeat(n, out, word); err != nil {
			return nil, err
		} else if ok {
			out = all
			continue
		}
		m, err := p.move(n, word)
		if err != nil {
			return nil, err
		}
		asks = asks || m.Do == history.Acquire
		out = append(out, m)
	}
	if !asks {
		return nil, p.errorf(n, "this client never asks for the lock: give it an acquire")
	}
	return out, nil
}

func (p *parser) move(n *yaml.Node, text string) (m Move, err error) {
	if rest, ok := strings.CutPrefix(text, Work+" "); ok {
		m.Do = Work
		if m.Span, err = parseSpan(rest); err != nil {
			err = p.errorf(n, "work: %v", err)
		}
		return m, err
	}
	if rest, ok := strings.CutPrefix(text, Wait+" "); ok {
		m.Do = Wait
		m.Await, err = p.event(n, rest)
		return m, err
	}
	name := text
	for _, w := range workloads.SpanWords {
		act, limit, spans := strings.Cut(text, w.Word)
		if !spans || act != w.Do && !strings.HasPrefix(act, w.Do+" ") {
			continue
		}
		if m.Span, err = parseSpan(limit); err != nil {
			return m, p.errorf(n, "%s%s: %v", act, strings.TrimSuffix(w.Word, " "), err)
		}
		text, name, m.Cancelled = act, act, w.Cancelled
	}
	act, err := workloads.ParseAct(text)
	if m.Do, m.Shared, m.Again, m.Other, m.Second = act.Do, act.Mode == history.Shared, act.Mode == workloads.Again, act.Mode == workloads.Other, act.Second; act.Mode == history.Nested {
		err = fmt.Errorf("%q: say acquire: who holds a reentrant lock enters it once more by that", text)
	}
	if errors.Is(err, workloads.ErrNoAct) {
		have := append(workloads.Acts(), history.Acquire+" key 2", "work 1.3 leases", "await B granted", "again 9 times")
		err = fmt.Errorf("unknown move %q%s (a client can %s)", text, suggest.Word(name, slices.Concat(workloads.Acts(), []string{Work, Wait, again})), strings.Join(have, ", "))
	}
	if err != nil {
		return m, p.errorf(n, "%v", err)
	}
	return m, nil
}

// ParseProgram reads a program that speaks of clients.
func ParseProgram(text string, clients []string) (Program, error) {
	p := &parser{file: "a program", s: &Scenario{Clients: clients}}
	return p.program(&yaml.Node{Kind: yaml.ScalarNode, Value: text})
}

// MustProgram is ParseProgram of a text that is a part of this program.
func MustProgram(text string, clients []string) Program {
	p, err := ParseProgram(text, clients)
	if err != nil {
		panic(err)
	}
	return p
}
