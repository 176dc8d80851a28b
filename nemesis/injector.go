package nemesis

import (
	"context"
	"syscall"

	"github.com/picklock/picklock/nemesis/clock"
	"github.com/picklock/picklock/nemesis/wire"
)

// Injector is the part of the nemesis that needs rights: it works on a process
// group or a network namespace, knows nothing of nodes, and can run elsewhere
// than the rest.
type Injector interface {
	// Signal sends a signal to all processes of pid's group.
	Signal(ctx context.Context, pid int, sig syscall.Signal) error
	// Stopped says whether every process of pid's group is stopped.
	Stopped(ctx context.Context, pid int) (bool, error)
	// Drop makes the namespace drop every packet that arrives from these IP
	// addresses, instead of those that it dropped before; none: drop nothing.
	Drop(ctx context.Context, netns string, from []string) error
	// Dropped counts the packets dropped since, by address.
	Dropped(ctx context.Context, netns string) (map[string]uint64, error)
	// Bar makes the namespace drop every packet that arrives from some IP addresses, and
	// every one that leaves for some, besides what Drop makes it drop, and instead of those
	// that it barred before.
	Bar(ctx context.Context, netns string, from, to []string) error
	// Reach tries to connect from inside the namespace; true says that something
	// came back, be it a refusal.
	Reach(ctx context.Context, netns, addr string) (bool, error)
	// Wire does something to the packets that leave the namespace; see wire.Order.
	Wire(ctx context.Context, netns string, o wire.Order) (wire.Report, error)
	// SetClock makes pid's wall clock go wrong as the setting says, from now on; the zero
	// setting sets it right.
	SetClock(ctx context.Context, pid int, to clock.Setting) error
	// ReadClock reads back how pid's wall clock is set now.
	ReadClock(ctx context.Context, pid int) (clock.Setting, error)
	// Clock says what stands in the way of setting a process's clock; nil if
	// nothing does.
	Clock(ctx context.Context) error
}
