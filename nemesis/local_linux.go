package nemesis

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"

	"github.com/picklock/picklock/internal/proc"
	"github.com/picklock/picklock/nemesis/clock"
	"github.com/picklock/picklock/nemesis/packetfault"
)

// LocalInjector works on this machine's own processes and namespaces.
type LocalInjector struct{ queues *packetfault.Queues }

// NewLocalInjector is one that can work on packets, too.
func NewLocalInjector() LocalInjector { return LocalInjector{packetfault.NewQueues()} }

// Do implements Injector.
func (l LocalInjector) Do(ctx context.Context, op Op) (r Result, err error) {
	switch op.Name {
	case OpSignal:
		err = signalNode(op.PID, op.Signal)
	case OpStopped:
		r.Yes, err = stoppedNode(op.PID)
	case OpRest:
		r.Yes, r.Stopped, err = proc.AtRest(op.PIDs...)
	case OpDrop:
		err = drop(op.NetNS, op.Scope, op.From)
	case OpDropped:
		r.Dropped, err = dropped(op.NetNS, op.Scope)
	case OpBar:
		err = bars(op.NetNS, op.From, op.To)
	case OpReach:
		r.Yes, err = reach(ctx, op.NetNS, op.Addr)
	case OpPackets:
		r.Packets, err = l.packets(ctx, op.NetNS, op.Packets)
	case OpSetClock:
		_, err = setClocks(ctx, op.Clock, func() ([]int, error) { return treePIDs(op.PID) })
	case OpReadClock:
		var pids []int
		if pids, err = treePIDs(op.PID); err == nil {
			r.Clock, err = commonClock(pids)
		}
	case OpTryClock:
		err = clock.Supported()
	case OpTryDisk:
		err = tryDisk()
	case OpSockets:
		r.Text, err = socketTables(op.PID)
	case OpProbe:
		nerr := inSpace(op.NetNS, func() { r.Text, r.Yes, err = op.Probe.Answer(ctx, op.Addr) })
		err = errors.Join(nerr, err)
	default:
		err = errNoOp(op)
	}
	return r, err
}

// socketTables is what a process's network has for IPv4 and for IPv6. A server in Java or Go may
// have sockets of IPv6 for addresses of IPv4.
func socketTables(pid int) (string, error) {
	four, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/tcp", pid))
	if err != nil {
		return "", err
	}
	six, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/tcp6", pid))
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // a kernel without IPv6
		return "", err
	}
	return string(four) + string(six), nil
}

// signalNode reaches all processes of a node, whatever groups they made.
func signalNode(pid int, sig syscall.Signal) error {
	if pid <= 1 {
		return fmt.Errorf("signal process group %d: not a node of this run", pid)
	}
	// The group alone is nearly always all there is; it gets the signal before the
	// others are looked for.
	if err := syscall.Kill(-pid, sig); err != nil {
		return fmt.Errorf("send %s to process group %d: %w", unix.SignalName(sig), pid, err)
	}
	if err := signalOthers(pid, sig); err != nil {
		return fmt.Errorf("send %s to the processes of %d: %w", unix.SignalName(sig), pid, err)
	}
	return nil
}

func stoppedNode(pid int) (bool, error) {
	tree, err := proc.Living(pid)
	if err != nil {
		return false, err
	}
	return !slices.ContainsFunc(tree, func(p proc.Process) bool { return !p.Stopped() }), nil
}

const (
	tableName = "picklock"
	barsName  = "picklock-bars"
	// Offsets of addresses in an IPv4 header.
	sourceOffset      = 12
	destinationOffset = 16
)

var errNoNetNS = errors.New("the nodes share one network: partitions and held packets need namespaces (see picklock doctor)")

func drop(netns, scope string, from []string) error {
	return inNetNS(netns, func(c *nftables.Conn) error {
		// The table and its chain stay: when a chain goes, the kernel drops what waits in
		// the namespace's queues (see package packetfault).
		table := c.AddTable(&nftables.Table{Name: tableName + scope, Family: nftables.TableFamilyIPv4})
		chain := c.AddChain(&nftables.Chain{
			Name: "input", Table: table, Type: nftables.ChainTypeFilter,
			Hooknum: nftables.ChainHookInput, Priority: nftables.ChainPriorityFilter,
		})
		c.FlushChain(chain)
		if err := dropAll(c, chain, sourceOffset, from); err != nil {
			return err
		}
		if err := c.Flush(); err != nil {
			return fmt.Errorf("set packet filter: %w", err)
		}
		return nil
	})
}

// dropAll adds a rule for every address to a chain.
func dropAll(c *nftables.Conn, chain *nftables.Chain, offset uint32, addrs []string) error {
	for _, addr := range addrs {
		ip, err := netip.ParseAddr(addr)
		if err != nil || !ip.Is4() {
			return fmt.Errorf("drop packets of %q: want an IPv4 address", addr)
		}
		c.AddRule(&nftables.Rule{Table: chain.Table, Chain: chain, Exprs: []expr.Any{
			&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseNetworkHeader, Offset: offset, Len: 4},
			&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: ip.AsSlice()},
			&expr.Counter{},
			&expr.Verdict{Kind: expr.VerdictDrop},
		}})
	}
	return nil
}

func bars(netns string, from, to []string) error {
	return inNetNS(netns, func(c *nftables.Conn) error {
		table := c.AddTable(&nftables.Table{Name: barsName, Family: nftables.TableFamilyIPv4})
		for _, x := range []struct {
			name   string
			hook   *nftables.ChainHook
			offset uint32
			addrs  []string
		}{
			{"input", nftables.ChainHookInput, sourceOffset, from},
			{"output", nftables.ChainHookOutput, destinationOffset, to},
		} {
			// Emptied, not removed, for the reason that drop gives.
			chain := c.AddChain(&nftables.Chain{
				Name: x.name, Table: table, Type: nftables.ChainTypeFilter, Hooknum: x.hook, Priority: nftables.ChainPriorityRaw,
			})
			c.FlushChain(chain)
			if err := dropAll(c, chain, x.offset, x.addrs); err != nil {
				return err
			}
		}
		if err := c.Flush(); err != nil {
			return fmt.Errorf("set packet filter: %w", err)
		}
		return nil
	})
}

func dropped(netns, scope string) (map[string]uint64, error) {
	out := map[string]uint64{}
	err := inNetNS(netns, func(c *nftables.Conn) error {
		tables, err := c.ListTablesOfFamily(nftables.TableFamilyIPv4)
		if err != nil {
			return fmt.Errorf("read packet filter: %w", err)
		}
		for _, table := range tables {
			if table.Name != tableName+scope {
				continue
			}
			rules, err := c.GetRules(table, &nftables.Chain{Name: "input", Table: table})
			if err != nil {
				return fmt.Errorf("read packet filter: %w", err)
			}
			for _, rule := range rules {
				addr, count := readRule(rule)
				out[addr] = count
			}
		}
		return nil
	})
	return out, err
}

func readRule(r *nftables.Rule) (addr string, count uint64) {
	for _, e := range r.Exprs {
		switch e := e.(type) {
		case *expr.Cmp:
			if ip, ok := netip.AddrFromSlice(e.Data); ok {
				addr = ip.String()
			}
		case *expr.Counter:
			count = e.Packets
		}
	}
	return addr, count
}

func inNetNS(netns string, f func(*nftables.Conn) error) error {
	if netns == "" {
		return errNoNetNS
	}
	ns, err := os.Open(netns)
	if err != nil {
		return fmt.Errorf("open network namespace: %w", err)
	}
	defer ns.Close()
	c, err := nftables.New(nftables.WithNetNSFd(int(ns.Fd())))
	if err != nil {
		return fmt.Errorf("talk to nftables: %w", err)
	}
	return f(c)
}

// reachWithin is how long a connection attempt inside one machine may take. The
// kernel sends the first packet at once and the next one after a second, so that
// waiting much longer would show no more.
const reachWithin = 300 * time.Millisecond

func reach(ctx context.Context, netns, addr string) (reached bool, err error) {
	err = inSpace(netns, func() {
		d := net.Dialer{Timeout: reachWithin}
		conn, err := d.DialContext(ctx, "tcp4", addr)
		if err == nil {
			conn.Close()
		}
		reached = err == nil || errors.Is(err, syscall.ECONNREFUSED)
	})
	return reached, err
}

// inSpace calls f inside a network namespace.
func inSpace(netns string, f func()) error {
	ns, err := os.Open(netns)
	if err != nil {
		return fmt.Errorf("open network namespace: %w", err)
	}
	defer ns.Close()
	return proc.InNetNS(ns, f)
}

func (l LocalInjector) packets(ctx context.Context, netns string, o packetfault.Request) (packetfault.Report, error) {
	switch {
	case l.queues == nil && o.Op == packetfault.Try:
		return packetfault.NewQueues().Do(ctx, netns, o)
	case l.queues == nil:
		return packetfault.Report{}, packetfault.ErrUnsupported
	case netns == "" && !o.Op.Anywhere():
		return packetfault.Report{}, errNoNetNS
	}
	return l.queues.Do(ctx, netns, o)
}
