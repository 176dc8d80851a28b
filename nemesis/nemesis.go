// Package nemesis injects faults into a running cluster and heals them: it knows the
// faults, which nodes they hit and when. It sees nodes as process ids and network
// namespaces only, whatever runtime they live in. It does not depend on locks, nor on
// what a fault is meant to show.
package nemesis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/picklock/picklock/compose"
	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/internal/suggest"
	"github.com/picklock/picklock/nemesis/packetfault"
)

// Fault is ready to be injected once into nodes that have been chosen.
type Fault interface {
	// Nodes are the names of the nodes that are hit, for the history.
	Nodes() []string
	// Detail says in a few words what is done: "clock +5s".
	Detail() string
	// Steps are the steps of a scenario that inject the same fault into the same nodes:
	// "clock: redis +5s".
	Steps() []string
	Inject(ctx context.Context) error
	// Verify returns nil once the effect has been observed. A fault whose effect was not
	// observed is not confirmed.
	Verify(ctx context.Context) error
	// Heal ends the fault and returns nil once that has been observed. It must
	// work after a failed Inject, and when a node has died meanwhile.
	Heal(ctx context.Context) error
}

// Effective is a fault of which only its end shows whether it did what it says.
type Effective interface {
	// Effect is asked once the fault was healed; an error says what it did not do.
	Effect() error
}

// Kind is one kind of fault.
type Kind struct {
	Name  string
	About string // one line
	Usage string // the words that may follow the name
	// Plain are the words that the name alone stands for: each injection draws one of
	// them. nil: what Parse makes of no word.
	Plain []string
	// All are the words that follow the name in what --faults all does, aimed at the nodes
	// that matter; "" is the name alone.
	All []string
	// Share is how often the fault hits clients in --faults all for once of the others;
	// 0: once.
	Share int
	// Parse reads the words that follow the name in --faults.
	Parse func(words []string) (Plan, error)
	// Make chooses which nodes a plan hits, and what it leaves open. A nil fault means that
	// there is no node to hit now.
	Make func(ctx context.Context, e *Env, p Plan, c chance) (Fault, error)
	// Lasts is how long a planned fault stays on; nil: it is over at once.
	Lasts func(e *Env, p Plan, rng *rand.Rand) time.Duration
	// Possible says what this machine lacks to do it; nil where all is there.
	Possible func(e *Env) error
	// Servers: it hits servers only.
	Servers bool
	// Disks: the servers need picklock's own disks for it, if this machine can mount them.
	Disks bool
	// Overlaps: the same node may be hit twice at a time.
	Overlaps bool
	// Single: of two on one node at a time, the end of the first would end the second, too.
	Single bool
	// Restarts: what it hits is started again, as another process.
	Restarts bool
}

// Env is what faults work on.
type Env struct {
	Cluster  compose.Cluster
	Injector Injector
	// Isolated: every node has a network of its own.
	Isolated bool
	TTL      time.Duration
	// Respawn starts a killed client again.
	Respawn func(ctx context.Context, client string) error
	// Now reads the monotonic clock of the nodes' kernel in ns; nil where that is
	// this machine's.
	Now func() int64
	// Asks: the register asks the lock's servers, as a client does. A fault that cuts a server
	// off then cuts it off from the register, too.
	Asks bool
	// Holds: clients do nothing under the lock but hold it. A client is then a holder once it
	// was granted the lock, and no write shows that a fault has been on for long enough.
	Holds bool
	// Scope tells the packet filters of this Env from those of others that work on the same nodes.
	Scope  string
	net    *network
	starts *starts
	watch  *watch
	// replaced is called when a node that was killed runs again, as another process.
	replaced func(ctx context.Context, node string) error
}

// Spec is one entry of --faults: "pause:holder".
type Spec struct {
	Text string
	Kind Kind
	Plan Plan
	// OneOf: each injection is drawn from these; Kind and Plan mean nothing then. Of None it
	// is empty and not nil.
	OneOf []Spec
}

// ParseList reads --faults: None beside other entries contradicts them.
func ParseList(texts []string) ([]Spec, error) {
	var out []Spec
	for _, text := range texts {
		switch {
		case text == "":
			return nil, errors.New("a fault without a name: remove the comma beside it")
		case text == None && len(texts) > 1:
			return nil, fmt.Errorf("%s stands alone: leave it out, or the other faults", None)
		case text == None:
			continue
		}
		s, err := Parse(text)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

// Parse reads one entry of --faults.
func Parse(text string) (Spec, error) {
	name, rest, _ := strings.Cut(text, ":")
	switch text {
	case All:
		return parseAll()
	case None:
		return Spec{Text: None, OneOf: []Spec{}}, nil
	}
	k, ok := lookup(name)
	if !ok {
		if name == All || name == None {
			return Spec{}, fmt.Errorf("fault %s: nothing follows %s", text, name)
		}
		var names []string
		for _, k := range kinds {
			names = append(names, k.Name)
		}
		return Spec{}, suggest.Unknown("fault", name, append(names, All))
	}
	words := split(rest)
	if strings.HasSuffix(text, ":") && rest == "" {
		words = []string{""}
	}
	if k.Plain != nil && (len(words) == 0 || len(words) == 1 && words[0] == held) {
		of, err := k.parseEach(k.Plain)
		if len(words) == 1 {
			for i := range of {
				of[i].Text, of[i].Plan.held = of[i].Text+":"+held, true
			}
		}
		return Spec{Text: text, OneOf: of}, err
	}
	return parseOne(k, text, words)
}

// split gives the words that follow a fault's name.
func split(rest string) []string {
	if rest == "" {
		return nil
	}
	return strings.Split(rest, ":")
}

func parseOne(k Kind, text string, words []string) (Spec, error) {
	words, onlyHeld := without(words, held)
	plan, err := k.Parse(words)
	if err != nil {
		return Spec{}, fmt.Errorf("fault %s: %w; want %s%s", text, err, k.Name, k.Usage)
	}
	plan.Kind, plan.held = k.Name, onlyHeld
	return Spec{Text: text, Kind: k, Plan: plan}, nil
}

// held is the word with which any fault is triggered only while a client holds the lock.
const held = "held"

// node finds a node as it is now.
func (e *Env) node(name string) (compose.Node, bool) {
	for _, n := range e.Cluster.Nodes() {
		if n.Name == name {
			return n, true
		}
	}
	return compose.Node{}, false
}

func (e *Env) nodeNames() []string {
	var out []string
	for _, n := range e.Cluster.Nodes() {
		out = append(out, n.Name)
	}
	return out
}

// packets does something to the packets that leave a network namespace.
func (e *Env) packets(ctx context.Context, netns string, o packetfault.Request) (packetfault.Report, error) {
	r, err := e.Injector.Do(ctx, Op{Name: OpPackets, NetNS: netns, Packets: o})
	return r.Packets, err
}

func (e *Env) now() int64 {
	if e.Now == nil {
		return history.Now()
	}
	return e.Now()
}

// between is a random duration from lo to hi TTLs.
func between(rng *rand.Rand, ttl time.Duration, lo, hi float64) time.Duration {
	return time.Duration(float64(ttl) * (lo + rng.Float64()*(hi-lo)))
}
