package nemesis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/picklock/picklock/compose"
	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/nemesis/clock"
	"github.com/picklock/picklock/nemesis/packetfault"
)

// fakeCluster has three servers, two clients and a register, and notes what is
// done to it.
type fakeCluster struct {
	compose.Cluster
	mu    sync.Mutex
	nodes []compose.Node
	log   []string
	stays error // what a restart fails with
}

func newFakeCluster() *fakeCluster { return newFake("s1", "s2", "s3", "c1", "c2", "register") }

func newFake(nodes ...string) *fakeCluster {
	c := &fakeCluster{}
	for i, name := range nodes {
		role := compose.Server
		switch name[0] {
		case 'c':
			role = compose.Client
		case 'r':
			role = compose.Register
		}
		c.nodes = append(c.nodes, compose.Node{Name: name, Role: role, Addr: fmt.Sprintf("10.0.0.%d", i+1), PID: 100 + i, NetNS: name})
	}
	return c
}

func (c *fakeCluster) Nodes() []compose.Node {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.nodes)
}

func (c *fakeCluster) note(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.log = append(c.log, fmt.Sprintf(format, args...))
}

func (c *fakeCluster) setPID(name string, pid int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.nodes {
		if c.nodes[i].Name == name {
			c.nodes[i].PID = pid
		}
	}
}

func (c *fakeCluster) AroundStart(func(ctx context.Context, node string, start func() error) error) {}

func (c *fakeCluster) NeedsData(string) string { return "" }

func (c *fakeCluster) Disks() compose.Disks { return nil }

func (c *fakeCluster) Leads(context.Context, string) (bool, error) {
	return false, errors.ErrUnsupported
}

func (c *fakeCluster) CanRefuse(string) bool { return false }

func (c *fakeCluster) Takeover() time.Duration { return 0 }

func (c *fakeCluster) Kill(_ context.Context, name string) error {
	c.note("kill %s", name)
	c.setPID(name, 0)
	return nil
}

func (c *fakeCluster) Restart(_ context.Context, name string, fresh bool) error {
	c.note("restart %s %v", name, fresh)
	if c.stays != nil {
		return c.stays
	}
	c.setPID(name, 999)
	return nil
}

func (c *fakeCluster) Leader(context.Context) (string, error) { return "s2", nil }

// fakeInjector does what it is asked, or nothing if numb.
type fakeInjector struct {
	mu      sync.Mutex
	numb    bool
	quiet   bool // no message is ever sent
	flows   bool // there is a connection on each link
	stopped map[int]bool
	drops   map[string][]string
	barred  map[string][2][]string
	clocks  map[int]clock.Setting
	set     map[int]int64                  // when
	wires   map[string]packetfault.Request // by namespace and address
	counted int                            // how often packets were counted
}

func newFakeInjector() *fakeInjector {
	return &fakeInjector{stopped: map[int]bool{}, drops: map[string][]string{}, barred: map[string][2][]string{}, clocks: map[int]clock.Setting{}, set: map[int]int64{}, wires: map[string]packetfault.Request{}}
}

// Do implements Injector.
func (h *fakeInjector) Do(_ context.Context, op Op) (r Result, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch op.Name {
	case OpSignal:
		h.stopped[op.PID] = op.Signal == syscall.SIGSTOP && !h.numb
	case OpStopped:
		r.Yes = h.stopped[op.PID]
	case OpDrop:
		slices.Sort(op.From)
		h.drops[op.NetNS] = op.From
	case OpBar:
		slices.Sort(op.From)
		slices.Sort(op.To)
		h.barred[op.NetNS] = [2][]string{op.From, op.To}
	case OpDropped:
		r.Dropped = map[string]uint64{}
		for _, from := range h.drops[op.NetNS] {
			r.Dropped[from] = 1
		}
	case OpReach:
		r.Yes = h.numb
	case OpSetClock:
		h.clocks[op.PID], h.set[op.PID] = op.Clock, history.Now()
	case OpReadClock:
		if r.Clock = h.clocks[op.PID]; r.Clock.Rate != 0 && !h.numb {
			r.Clock.Offset += time.Duration(float64(history.Now()-h.set[op.PID]) * (r.Clock.Rate - 1))
		}
	case OpPackets:
		r.Packets, err = h.packets(op.NetNS, op.Packets)
	case OpTryClock:
	default:
		err = errNoOp(op)
	}
	return r, err
}

// packets notes the latest hold or shape of each link, and sees every probe.
func (h *fakeInjector) packets(netns string, o packetfault.Request) (packetfault.Report, error) {
	var r packetfault.Report
	for _, to := range o.To {
		switch key := netns + " " + to; o.Op {
		case packetfault.Hold:
			h.wires[key] = o
		case packetfault.Shaped:
			h.wires[key] = o
			if o.Shape == (packetfault.Shape{}) {
				delete(h.wires, key)
			}
		case packetfault.Deliver, packetfault.Discard, packetfault.Lose:
			if o.N == 0 {
				delete(h.wires, key)
			}
			if !h.quiet {
				r.Messages++
			}
		case packetfault.List, packetfault.Break:
			if !h.flows {
				continue
			}
			r.Flows = append(r.Flows, packetfault.FlowPair{To: to, FromPort: 1, ToPort: 2})
		case packetfault.Ping:
			r.Took = 2 * h.wires[key].Shape.Delay
		case packetfault.Count:
			h.counted++
			r.Lost, r.Down, r.Passed = h.counted, 2*h.counted, 7*h.counted
		}
	}
	if o.Op == packetfault.Probe {
		for _, to := range o.To {
			on := h.wires[netns+" "+to]
			s := on.Shape
			r.Fate = packetfault.Fate{Held: on.Op == packetfault.Hold, Lost: s.Loss > 0, Down: s.Flap > 0, Late: s.Delay, Shape: s}
			if s.Rate > 0 {
				r.Fate.Late += time.Millisecond
			}
		}
	}
	if h.numb && o.Op == packetfault.Probe {
		return r, errors.New("no probe was seen")
	}
	return r, nil
}

// do carries out an operation of which only the error matters.
func do(t *testing.T, i Injector, op Op) error {
	t.Helper()
	_, err := i.Do(t.Context(), op)
	return err
}
