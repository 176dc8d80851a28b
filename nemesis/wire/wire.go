// Package wire keeps, slows and loses what a node sends to others, at the sender's own
// door: the kernel hands each packet that leaves the node's network namespace to this
// process, which says when it may go on. What waits there is not lost for the sender's
// TCP, which therefore does not send it again. It works on network namespaces and
// addresses and knows nothing of nodes. Where this process ends, everything flows.
package wire

import (
	"errors"
	"fmt"
	"net/netip"
	"time"
)

// Do is what an Order wants done.
type Do string

const (
	// Hold makes what goes to the addresses wait, in order, until it is delivered.
	Hold Do = "hold"
	// Deliver lets everything that waits go, and holds no more. With N, it lets the
	// next N messages go, for which it waits where they have not come yet, and goes on
	// holding.
	Deliver Do = "deliver"
	// Discard throws away what waits, and holds no more.
	Discard Do = "discard"
	// Await returns when N messages wait.
	Await Do = "await"
	// Shaped makes the way slow or lossy; with an empty Shape it is as it was.
	Shaped Do = "shape"
	// Count tells what waits, and what a Shape has done so far.
	Count Do = "count"
	// Probe sends a packet to the first address and returns, with its Fate, when the door has
	// seen it. One that is held, or whose way is lossy, it does not get through.
	Probe Do = "probe"
	// Ping measures the way there and back, with the opening of a connection.
	Ping Do = "ping"
	// Break ends the connections with the addresses that there are, all where none are
	// given; see Manner. New ones work.
	Break Do = "break"
	// Mute drops what still comes of the Flows; Unmute lets the ones to the addresses
	// speak again.
	Mute   Do = "mute"
	Unmute Do = "unmute"
	// List lists the connections with the addresses.
	List Do = "list"
	// Gate lets N messages to the addresses pass and then nothing that carries data: no
	// more messages there and, where orders at other doors name the same gate, none there
	// either. Which of the doors' messages count, the order says. Opening connections pass.
	Gate Do = "gate"
	// Shut returns when N messages have passed a gate, Passed says at once how many have.
	Shut   Do = "shut"
	Passed Do = "passed"
	// Open opens a gate for good and lets go what waited there.
	Open Do = "open"
	// Try holds and delivers a message in a namespace of its own.
	Try Do = "try"
)

// Manner is how a connection ends.
type Manner string

const (
	// Loudly: both ends are told at once.
	Loudly Manner = ""
	// HalfOpen: this end forgets it, and the other is not told.
	HalfOpen Manner = "half-open"
)

// Order is one thing to be done at a namespace's door.
type Order struct {
	Do     Do         `json:"do"`
	To     []string   `json:"to,omitempty"`     // IPv4 addresses
	Port   int        `json:"port,omitempty"`   // of Probe and Ping
	N      int        `json:"n,omitempty"`      // messages
	Gate   uint64     `json:"gate,omitempty"`   // which one, of Gate, Shut, Passed and Open
	Counts bool       `json:"counts,omitempty"` // of Gate: the messages here are those that count
	Shape  Shape      `json:"shape,omitzero"`   // of Shaped
	Manner Manner     `json:"manner,omitempty"` // of Break
	Flows  []FlowPair `json:"flows,omitempty"`  // of Mute
}

// Anywhere says that the order is for no one namespace's door.
func (d Do) Anywhere() bool { return d == Try || d == Shut || d == Passed || d == Open }

// FlowPair is a connection's direction, from one port of this node to one of another.
type FlowPair struct {
	To       string `json:"to"`
	FromPort uint16 `json:"from_port"`
	ToPort   uint16 `json:"to_port"`
}

// Shape is how bad a way is.
type Shape struct {
	Delay  time.Duration `json:"delay,omitempty"`
	Jitter time.Duration `json:"jitter,omitempty"` // each packet's delay is up to so much more or less
	Loss   float64       `json:"loss,omitempty"`   // the part of the packets that is lost, 0 to 1
	Rate   int64         `json:"rate,omitempty"`   // bytes a second; 0: as many as there are
	Flap   time.Duration `json:"flap,omitempty"`   // so long up, so long down, from down on
}

// Report is what came of an Order.
type Report struct {
	Messages int           `json:"messages,omitempty"` // that wait, that were let go, or that have passed
	Lost     int           `json:"lost,omitempty"`     // packets that a Shape has lost
	Passed   int           `json:"passed,omitempty"`   // packets that it has let go
	Took     time.Duration `json:"took,omitempty"`     // of a Ping
	Fate     Fate          `json:"fate,omitzero"`      // of a Probe
	Broken   int           `json:"broken,omitempty"`   // connections
	GivenUp  int           `json:"given_up,omitempty"` // connections with held data that their sender no longer has
	Flows    []FlowPair    `json:"flows,omitempty"`    // of List and Break
}

// Fate is what became of a packet at its sender's door.
type Fate struct {
	Held  bool          `json:"held,omitempty"` // it waits, or was thrown away where others wait
	Lost  bool          `json:"lost,omitempty"` // by chance
	Down  bool          `json:"down,omitempty"` // it was lost while the way was down
	Late  time.Duration `json:"late,omitempty"` // so much later than it came it may go on
	Shape Shape         `json:"shape,omitzero"` // of its way then
}

// ErrUnsupported is wrapped by errors that say that this system cannot do it.
var ErrUnsupported = errors.New("packets cannot be held here")

// parseAddrs reads the addresses of an order.
func parseAddrs(texts []string) ([]netip.Addr, error) {
	var out []netip.Addr
	for _, t := range texts {
		a, err := netip.ParseAddr(t)
		if err != nil || !a.Is4() {
			return nil, fmt.Errorf("address %q: want an IPv4 address", t)
		}
		out = append(out, a)
	}
	return out, nil
}
