// Package packetfault keeps, slows and loses what a node sends to others, at the sender's own
// output: the kernel passes each packet that leaves the node's network namespace to this
// process, which decides when it goes on. A packet that waits there is not lost for the
// sender's TCP, which therefore does not send it again. It works on network namespaces and
// addresses and does not depend on nodes. If this process ends, everything flows.
package packetfault

import (
	"errors"
	"fmt"
	"net/netip"
	"time"
)

// Op names an operation.
type Op string

const (
	// Hold makes packets to the addresses wait, in order, until they are delivered.
	Hold Op = "hold"
	// Deliver releases everything that waits, and holds no more. With N, it releases the next
	// N messages, waits for those that have not arrived yet, and goes on holding.
	Deliver Op = "deliver"
	// Discard drops what waits, and holds no more.
	Discard Op = "discard"
	// Lose drops the data that waits, lets go what ends a connection, and holds no more.
	Lose Op = "lose"
	// Await returns when N messages wait.
	Await Op = "await"
	// Shaped makes the link slow or lossy; with an empty Shape it is as it was.
	Shaped Op = "shape"
	// Count reports what waits, and what a Shape has done so far.
	Count Op = "count"
	// Probe sends a packet to the first address and returns, with its Fate, when the queue has
	// seen it. It does not get through if it is held or lost.
	Probe Op = "probe"
	// Ping measures the round trip, with the opening of a connection.
	Ping Op = "ping"
	// Break ends the connections with the addresses that there are, all where none are
	// given; see Manner. New ones work.
	Break Op = "break"
	// Mute drops what still comes of the Flows; Unmute lets the ones to the addresses
	// speak again that By has muted, and nobody else.
	Mute   Op = "mute"
	Unmute Op = "unmute"
	// List lists the connections with the addresses.
	List Op = "list"
	// Carried lists the connections with the addresses, and what each has carried.
	Carried Op = "carried"
	// Gate lets N messages to the addresses pass and then nothing that carries data: no
	// more messages there and, if requests at other namespaces name the same gate, none there
	// either. The request says whether its messages count. Opening connections pass.
	Gate Op = "gate"
	// Shut returns when N messages have passed a gate, Passed says at once how many have.
	Shut   Op = "shut"
	Passed Op = "passed"
	// Open opens a gate for good and lets go what waited there.
	Open Op = "open"
	// Try holds and delivers a message in a namespace of its own.
	Try Op = "try"
)

// Manner is how a connection ends.
type Manner string

const (
	// Loudly: both ends learn of it at once.
	Loudly Manner = ""
	// HalfOpen: this end forgets it, and the other does not learn of it.
	HalfOpen Manner = "half-open"
)

// Request is one thing to be done to the packets that leave a namespace.
type Request struct {
	Op     Op         `json:"op"`
	To     []string   `json:"to,omitempty"`     // IPv4 addresses
	Port   int        `json:"port,omitempty"`   // of Probe and Ping
	N      int        `json:"n,omitempty"`      // messages
	Gate   uint64     `json:"gate,omitempty"`   // which one, of Gate, Shut, Passed and Open
	Counts bool       `json:"counts,omitempty"` // of Gate: the messages here are those that count
	Shape  Shape      `json:"shape,omitzero"`   // of Shaped
	Manner Manner     `json:"manner,omitempty"` // of Break
	Flows  []FlowPair `json:"flows,omitempty"`  // of Mute
	By     uint64     `json:"by,omitempty"`     // whose Mute, of Mute, Unmute and a Break that is HalfOpen
}

// Anywhere says that the request is for no one namespace.
func (d Op) Anywhere() bool { return d == Try || d == Shut || d == Passed || d == Open }

// FlowPair is a connection's direction, from one port of this node to one of another.
type FlowPair struct {
	To       string `json:"to"`
	FromPort uint16 `json:"from_port"`
	ToPort   uint16 `json:"to_port"`
}

// Traffic is what a connection has carried so far, in bytes: those of Sent have arrived.
type Traffic struct {
	FlowPair
	Sent     uint64 `json:"sent"`
	Received uint64 `json:"received"`
}

// Shape is how bad a link is.
type Shape struct {
	Delay  time.Duration `json:"delay,omitempty"`
	Jitter time.Duration `json:"jitter,omitempty"` // each packet's delay is up to so much more or less
	Loss   float64       `json:"loss,omitempty"`   // the part of the packets that is lost, 0 to 1
	Rate   int64         `json:"rate,omitempty"`   // bytes a second; 0: as many as there are
	Flap   time.Duration `json:"flap,omitempty"`   // so long up, so long down, from down on
}

// Report is what came of a Request.
type Report struct {
	Messages int           `json:"messages,omitempty"` // that wait, that were let go, or that have passed
	Lost     int           `json:"lost,omitempty"`     // packets that a Shape has lost by chance
	Down     int           `json:"down,omitempty"`     // packets that a Shape has lost while the link was down
	Passed   int           `json:"passed,omitempty"`   // packets that it has let go
	Took     time.Duration `json:"took,omitempty"`     // of a Ping
	Fate     Fate          `json:"fate,omitzero"`      // of a Probe
	Broken   int           `json:"broken,omitempty"`   // connections
	GivenUp  int           `json:"given_up,omitempty"` // connections with held data that their sender no longer has
	Flows    []FlowPair    `json:"flows,omitempty"`    // of List and Break
	Traffic  []Traffic     `json:"traffic,omitempty"`  // of Carried
}

// Fate is what became of a packet at its sender.
type Fate struct {
	Held  bool          `json:"held,omitempty"` // it waits, or was discarded while others wait
	Lost  bool          `json:"lost,omitempty"` // by chance
	Down  bool          `json:"down,omitempty"` // it was lost while the link was down
	Late  time.Duration `json:"late,omitempty"` // so much later than it came it may go on
	Shape Shape         `json:"shape,omitzero"` // of its link then
}

// ErrUnsupported is wrapped by errors that say that this system cannot do it.
var ErrUnsupported = errors.New("packets cannot be held here")

// parseAddrs reads the addresses of a request.
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
