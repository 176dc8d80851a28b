package nemesis

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/picklock/picklock/compose"
	"github.com/picklock/picklock/nemesis/packetfault"
)

// GateRequest asks for a gate that counts what a client sends to some nodes, or what they
// answer, from now on.
type GateRequest struct {
	Client   string
	To       []string // the others; none: servers and the register, all that are up
	Answered bool     // count the answers
	N        int      // after how many the gate shuts
}

// Gate lets so many messages pass and then nothing more between the client and the others,
// in neither direction, until it is opened: a fault that is injected when it has shut comes
// before anyone has heard of the last message.
type Gate struct {
	env    *Env
	number uint64
	shut   chan struct{}
	wait   context.CancelFunc
	waited chan error

	mu     sync.Mutex
	opened bool
	passed int // when it was opened
}

// gates numbers them: several nemeses can share an injector.
var gates atomic.Uint64

// Gate sets one up; it must be opened in the end. It is no fault in the history: it
// delays messages by milliseconds only.
func (n *Nemesis) Gate(ctx context.Context, r GateRequest) (*Gate, error) {
	if !n.env.Isolated {
		return nil, errNotIsolated
	}
	count, back, err := r.links(n.env)
	if err != nil {
		return nil, err
	}
	if r.Answered {
		count, back = back, count
	}
	g := &Gate{env: n.env, number: gates.Add(1), shut: make(chan struct{}), waited: make(chan error, 1)}
	o := packetfault.Request{Op: packetfault.Gate, Gate: g.number, N: r.N}
	// The links that do not count come first, so that the gate shuts everywhere.
	for _, counts := range []bool{false, true} {
		o.Counts = counts
		some := back
		if counts {
			some = count
		}
		if _, err = n.env.net.orderAll(ctx, some, o); err != nil {
			_, oerr := n.env.packets(context.WithoutCancel(ctx), "", packetfault.Request{Op: packetfault.Open, Gate: g.number})
			return nil, errors.Join(fmt.Errorf("count messages of %s: %w", r.Client, err), oerr)
		}
	}
	waiting, cancel := context.WithCancel(context.WithoutCancel(ctx)) // until the gate is opened
	g.wait = cancel
	go func() { g.waited <- g.await(waiting) }()
	return g, nil
}

// links are those from the client to the others, and those back.
func (r GateRequest) links(e *Env) (there, back []directedLink, err error) {
	client, err := e.named([]string{r.Client})
	if err != nil {
		return nil, nil, err
	}
	var others []compose.Node
	if len(r.To) > 0 {
		if others, err = e.named(r.To); err != nil {
			return nil, nil, err
		}
	} else {
		for _, n := range e.Cluster.Nodes() {
			if (n.Role == compose.Server || n.Role == compose.Register) && !down(n) {
				others = append(others, n)
			}
		}
	}
	if len(others) == 0 {
		return nil, nil, errors.New("no server is up")
	}
	if there, err = linksBetween(client, others, false); err != nil {
		return nil, nil, err
	}
	back, err = linksBetween(others, client, false)
	return there, back, err
}

// await closes shut when the gate has.
func (g *Gate) await(ctx context.Context) error {
	_, err := g.env.packets(ctx, "", packetfault.Request{Op: packetfault.Shut, Gate: g.number})
	if err == nil {
		close(g.shut)
	}
	if ctx.Err() == nil { // else Open has ended the wait
		return err
	}
	return nil
}

// Shut is closed when the last of the messages has passed and nothing more does.
func (g *Gate) Shut() <-chan struct{} { return g.shut }

// Passed counts the messages that have passed so far, or had when the gate was opened.
func (g *Gate) Passed(ctx context.Context) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.opened {
		return g.passed, nil
	}
	r, err := g.env.packets(ctx, "", packetfault.Request{Op: packetfault.Passed, Gate: g.number})
	return r.Messages, err
}

// Open releases what has waited since the gate shut, and ends the count. Once it has
// succeeded it does nothing any more.
func (g *Gate) Open(ctx context.Context) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.opened {
		return nil
	}
	g.wait()
	werr := <-g.waited
	g.waited <- nil
	r, err := g.env.packets(ctx, "", packetfault.Request{Op: packetfault.Open, Gate: g.number})
	if err == nil {
		g.opened, g.passed = true, r.Messages
	}
	return errors.Join(werr, err)
}
