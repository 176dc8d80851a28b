package nemesis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"

	"github.com/picklock/picklock/compose"
	"github.com/picklock/picklock/nemesis/clock"
	"github.com/picklock/picklock/nemesis/packetfault"
)

// What a new fault adds to, besides its own file: the kinds, and the operations.

// kinds is the one table of the faults, by name: a new fault is its file and its line here.
var kinds = []Kind{
	clockKind,
	diskKind,
	failoverKind,
	flapKind,
	holdKind,
	killKind,
	lossKind,
	partitionKind,
	pauseKind,
	powerLossKind,
	refuseKind,
	resetKind,
	slowKind,
	withholdKind,
}

// Kinds lists the faults by name.
func Kinds() []Kind { return slices.Clone(kinds) }

func lookup(name string) (Kind, bool) {
	i := slices.IndexFunc(kinds, func(k Kind) bool { return k.Name == name })
	if i < 0 {
		return Kind{}, false
	}
	return kinds[i], true
}

// Injector carries out operations where the nodes are. It is the part of the nemesis that needs
// privileges. It knows processes and network namespaces, not nodes, and can run on another
// machine. An operation that it does not have is an error that wraps errors.ErrUnsupported.
type Injector interface {
	Do(ctx context.Context, op Op) (Result, error)
}

// OpName names an operation. A new one is a name here, the fields that it needs, and a case of
// LocalInjector; the agent passes it on.
type OpName string

const (
	// OpSignal sends Signal to all processes of the node whose first process is PID.
	OpSignal OpName = "signal"
	// OpStopped: Yes says that every process of PID's node is stopped.
	OpStopped OpName = "stopped"
	// OpRest: Yes says that all that the nodes PIDs run waits: for others, for a time, or because it was
	// stopped. Then Stopped are those of them of which all was.
	OpRest OpName = "rest"
	// OpDrop makes NetNS drop every packet that arrives from the addresses From. It replaces
	// the addresses of the OpDrop before; none: drop nothing.
	OpDrop OpName = "drop"
	// OpDropped counts the packets dropped since OpDrop, by address.
	OpDropped OpName = "dropped"
	// OpBar makes NetNS drop every packet that arrives from the addresses From or leaves for
	// the addresses To, besides those of OpDrop. It replaces the addresses of the OpBar before.
	OpBar OpName = "bar"
	// OpReach: Yes says that a connection from NetNS to Addr was answered, be it by a refusal.
	OpReach OpName = "reach"
	// OpPackets does Packets to packets that leave NetNS.
	OpPackets OpName = "packets"
	// OpSetClock makes the wall clocks of PID's node go wrong as Clock says; the zero Setting
	// sets them right.
	OpSetClock OpName = "set-clock"
	// OpReadClock reads Clock back.
	OpReadClock OpName = "read-clock"
	// OpTryClock fails if a process's clock cannot be set here.
	OpTryClock OpName = "try-clock"
	// OpTryDisk fails if picklock's own disk cannot be mounted here.
	OpTryDisk OpName = "try-disk"
	// OpSockets: Text is the tables of TCP sockets of PID's network, /proc/PID/net/tcp and tcp6.
	OpSockets OpName = "sockets"
	// OpProbe puts the question of Probe to Addr from inside NetNS; see compose.Probe.Answer.
	OpProbe OpName = "probe"

	// Only an agent has these two. OpAllow lets it touch the processes of Container, the
	// first of which is PID.
	OpAllow OpName = "allow"
	// OpNow reads the monotonic clock of the nodes' kernel.
	OpNow OpName = "now"
)

// Op is one operation: its name, and the arguments that it needs.
type Op struct {
	Name      OpName              `json:"-"` // the method of the agent's protocol
	PID       int                 `json:"pid,omitempty"`
	PIDs      []int               `json:"pids,omitempty"`
	Container string              `json:"container,omitempty"`
	Signal    syscall.Signal      `json:"signal,omitempty"`
	NetNS     string              `json:"netns,omitempty"` // a path
	From      []string            `json:"from,omitempty"`  // IP addresses
	To        []string            `json:"to,omitempty"`    // IP addresses
	Scope     string              `json:"scope,omitempty"` // whose OpDrop: those of others stay
	Addr      string              `json:"addr,omitempty"`
	Clock     clock.Setting       `json:"clock,omitzero"`
	Probe     *compose.Probe      `json:"probe,omitempty"` // nil: only whether the port opens
	Packets   packetfault.Request `json:"packets,omitzero"`
}

// Result is what came of an operation.
type Result struct {
	Yes     bool               `json:"yes,omitempty"`
	Stopped []int              `json:"stopped,omitempty"`
	Text    string             `json:"text,omitempty"`
	Dropped map[string]uint64  `json:"dropped,omitempty"`
	Clock   clock.Setting      `json:"clock,omitzero"`
	Packets packetfault.Report `json:"packets,omitzero"`
	Now     int64              `json:"now,omitempty"`  // ns
	Boot    string             `json:"boot,omitempty"` // see bootID
}

// errNoOp says that an injector does not have an operation.
func errNoOp(op Op) error {
	return fmt.Errorf("no operation %q here: %w", op.Name, errors.ErrUnsupported)
}
