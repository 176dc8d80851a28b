package nemesis

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/internal/proc"
	"github.com/picklock/picklock/nemesis/clock"
)

// containers is the Injector for nodes that are containers, seen from the PID namespace
// that all of them live in. A node is named by its first process; an operation on it
// reaches all processes of its container. A process is touched only if its control
// group is that of a container which was allowed.
type containers struct {
	local LocalInjector

	mu     sync.Mutex
	nodes  map[int]*containerNode // by the first process's id
	former map[int]bool           // first processes of earlier starts
}

// containerNode is one allowed container, and the operations on it that are still on.
type containerNode struct {
	id      string
	pid     int
	space   uint64        // its network namespace; 0 if that is not its own
	ended   bool          // its first process has ended
	shifted []int         // processes whose clock was set at least once
	undo    map[OpName]Op // heals the operations that are still on
}

func newContainers() agentInjector {
	return &containers{local: NewLocalInjector(), nodes: map[int]*containerNode{}, former: map[int]bool{}}
}

var containerID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9a-f]{64}$`) })

func (c *containers) allow(id string, pid int) error {
	if !containerID().MatchString(id) {
		return fmt.Errorf("allow container %q: not a container's full id", id)
	}
	if pid <= 1 {
		return fmt.Errorf("allow process %d of container %.12s: %w", pid, id, ErrRefused)
	}
	if err := belongs(pid, id); err != nil {
		return fmt.Errorf("allow process %d of container %.12s: %w", pid, id, err)
	}
	space, err := proc.NetNSNumber(fmt.Sprintf("/proc/%d/ns/net", pid))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
		err = os.ErrProcessDone
	}
	if err != nil {
		return fmt.Errorf("look at the network of process %d: %w", pid, err)
	}
	if shared, err := sharedSpace(space, id); err != nil {
		return err
	} else if shared {
		space = 0
	}
	c.mu.Lock()
	gone, alive := map[uint64]bool{}, map[uint64]bool{space: true}
	for old, n := range c.nodes {
		again := n.id == id && old != pid
		switch {
		case n.ended:
		case again || belongs(old, n.id) != nil:
			n.ended, gone[n.space] = true, true
		default:
			alive[n.space] = true
		}
		if again {
			delete(c.nodes, old)
			c.former[old] = true
		}
	}
	var closing []func() error
	for number := range gone {
		if !alive[number] { // else the old one had no faults, and a new one has its number
			closing = append(closing, c.local.queues.Forget(number))
		}
	}
	delete(c.former, pid)
	if c.nodes[pid] == nil || c.nodes[pid].id != id {
		c.nodes[pid] = &containerNode{id: id, pid: pid, space: space, undo: map[OpName]Op{}}
	}
	c.mu.Unlock()
	for _, end := range closing {
		if err := end(); err != nil {
			return fmt.Errorf("let go of the network of a container that has ended: %w", err)
		}
	}
	return nil
}

// node finds an allowed node, whose first process still is one of its container.
func (c *containers) node(pid int) (*containerNode, error) {
	c.mu.Lock()
	n, former := c.nodes[pid], c.former[pid]
	c.mu.Unlock()
	if n == nil {
		if former {
			return nil, fmt.Errorf("process %d: %w", pid, os.ErrProcessDone)
		}
		return nil, fmt.Errorf("process %d: %w", pid, ErrRefused)
	}
	if err := belongs(pid, n.id); err != nil {
		return nil, fmt.Errorf("process %d: %w", pid, err)
	}
	return n, nil
}

// Do implements Injector.
func (c *containers) Do(ctx context.Context, op Op) (r Result, err error) {
	switch op.Name {
	case OpAllow:
		return r, c.allow(op.Container, op.PID)
	case OpNow:
		return Result{Now: history.Now(), Boot: bootID()}, nil
	case OpTryClock:
		return c.local.Do(ctx, op)
	case OpTryDisk:
		return r, errNoOp(op)
	case OpSignal:
		return r, c.signal(op)
	case OpStopped:
		r.Yes, err = c.stopped(op.PID)
		return r, err
	case OpRest:
		r.Yes, r.Stopped, err = c.atRest(op.PIDs)
		return r, err
	case OpSetClock:
		return r, c.setClock(ctx, op)
	case OpReadClock:
		r.Clock, err = c.readClock(op.PID)
		return r, err
	case OpPackets:
		if op.Packets.Op.Anywhere() {
			return c.local.Do(ctx, op)
		}
	}
	if op.PID != 0 {
		if _, err := c.node(op.PID); err != nil {
			return r, err
		}
		if op.NetNS == "" {
			return c.local.Do(ctx, op)
		}
	}
	return c.inSpace(ctx, op)
}

// inSpace carries out an operation on the network namespace of an allowed node.
func (c *containers) inSpace(ctx context.Context, op Op) (Result, error) {
	undo := Op{Name: op.Name, NetNS: op.NetNS}
	n, f, path, err := c.space(op.NetNS)
	if err != nil {
		return Result{}, err
	}
	defer f.Close()
	op.NetNS = path
	if op.Name != OpDrop && op.Name != OpBar {
		return c.local.Do(ctx, op)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	n.undo[op.Name] = undo
	r, err := c.local.Do(ctx, op)
	if err == nil && len(op.From)+len(op.To) == 0 {
		delete(n.undo, op.Name)
	}
	return r, err
}

func (c *containers) signal(op Op) error {
	n, err := c.node(op.PID)
	if err != nil {
		return fmt.Errorf("send %s: %w", unix.SignalName(op.Signal), err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch op.Signal {
	case syscall.SIGSTOP:
		n.undo[OpSignal] = Op{Name: OpSignal, PID: op.PID, Signal: syscall.SIGCONT}
	case syscall.SIGCONT:
		delete(n.undo, OpSignal)
	}
	if err := n.signal(op.Signal); err != nil {
		return fmt.Errorf("send %s to container %.12s: %w", unix.SignalName(op.Signal), n.id, err)
	}
	return nil
}

// signal reaches all processes: again and again until there is none that was born
// meanwhile to one that had not been reached yet.
func (n *containerNode) signal(sig syscall.Signal) error {
	reached := map[int]bool{}
	// The first process alone is nearly always all there is; it gets the signal
	// before the others are looked for.
	if err := send(n.pid, n.id, sig); err == nil {
		reached[n.pid] = true
	} else if !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	const rounds = 100 // a fork bomb is faster
	for range rounds {
		pids, err := n.members()
		if err != nil {
			if len(reached) > 0 && errors.Is(err, os.ErrProcessDone) {
				return nil
			}
			return err
		}
		more := false
		for _, pid := range pids {
			if reached[pid] {
				continue
			}
			if err := send(pid, n.id, sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
				return err
			}
			reached[pid], more = true, true
		}
		if !more {
			return nil
		}
	}
	return errors.New("it makes new processes faster than they can be signalled")
}

// send signals one process. The descriptor holds on to the process while its
// membership is looked up: a number could be another's by then.
func send(pid int, id string, sig syscall.Signal) error {
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return os.ErrProcessDone
	}
	if err != nil {
		return fmt.Errorf("open process %d: %w", pid, err)
	}
	defer unix.Close(fd)
	if err := belongs(pid, id); err != nil {
		return fmt.Errorf("process %d: %w", pid, err)
	}
	if err := unix.PidfdSendSignal(fd, sig, nil, 0); errors.Is(err, unix.ESRCH) {
		return os.ErrProcessDone
	} else if err != nil {
		return fmt.Errorf("process %d: %w", pid, err)
	}
	return nil
}

func (c *containers) stopped(pid int) (bool, error) {
	n, err := c.node(pid)
	if err != nil {
		return false, err
	}
	pids, err := n.members()
	if err != nil {
		return false, err
	}
	for _, p := range pids {
		if now, ok := proc.Find(p); ok && !now.Stopped() && !now.Ended() {
			return false, nil
		}
	}
	return true, nil
}

// atRest looks at all processes of containers.
func (c *containers) atRest(nodes []int) (rest bool, stopped []int, err error) {
	for _, pid := range nodes {
		n, err := c.node(pid)
		if err != nil {
			return false, nil, err
		}
		pids, err := n.members()
		if err != nil {
			return false, nil, err
		}
		var some []proc.Process
		for _, p := range pids {
			if now, ok := proc.Find(p); ok {
				some = append(some, now)
			}
		}
		rest, still, err := proc.AllAtRest(some)
		if err != nil || !rest {
			return false, nil, err
		}
		if still {
			stopped = append(stopped, pid)
		}
	}
	return true, stopped, nil
}

var netnsPath = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^/proc/([0-9]{1,9})/ns/net$`) })

// space opens the network namespace of an allowed node and returns a path to it
// that cannot become another's.
func (c *containers) space(netns string) (*containerNode, *os.File, string, error) {
	m := netnsPath().FindStringSubmatch(netns)
	if m == nil {
		return nil, nil, "", fmt.Errorf("network namespace %q: %w", netns, ErrRefused)
	}
	pid, _ := strconv.Atoi(m[1]) // digits only
	f, err := os.Open(netns)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
		err = os.ErrProcessDone
	}
	n, nerr := c.node(pid)
	if nerr != nil {
		err = nerr
	}
	var st unix.Stat_t
	if err == nil {
		err = unix.Fstat(int(f.Fd()), &st)
	}
	if err == nil && st.Ino != n.space {
		err = fmt.Errorf("it is not the container's alone: %w", ErrRefused)
	}
	if err != nil {
		if f != nil {
			f.Close()
		}
		return nil, nil, "", fmt.Errorf("network of process %d: %w", pid, err)
	}
	return n, f, fmt.Sprintf("/proc/self/fd/%d", f.Fd()), nil
}

func (c *containers) setClock(ctx context.Context, op Op) error {
	n, err := c.node(op.PID)
	if err != nil {
		return fmt.Errorf("set the clock: %w", err)
	}
	pids, err := setClocks(ctx, op.Clock, n.members)
	c.mu.Lock()
	n.shifted = pids
	if len(pids) > 0 {
		n.undo[OpSetClock] = Op{Name: OpSetClock, PID: op.PID}
	}
	c.mu.Unlock()
	if err != nil {
		return fmt.Errorf("container %.12s: %w", n.id, err)
	}
	return nil
}

// readClock reads the clocks of the processes that the last OpSetClock found. It is an error
// if they differ.
func (c *containers) readClock(pid int) (clock.Setting, error) {
	n, err := c.node(pid)
	if err != nil {
		return clock.Setting{}, fmt.Errorf("read the clock: %w", err)
	}
	c.mu.Lock()
	pids := slices.Clone(n.shifted)
	c.mu.Unlock()
	if len(pids) == 0 {
		pids = []int{pid}
	}
	pids = slices.DeleteFunc(pids, func(p int) bool { return belongs(p, n.id) != nil })
	common, err := commonClock(pids)
	if err != nil {
		return clock.Setting{}, fmt.Errorf("container %.12s: %w", n.id, err)
	}
	return common, nil
}

func (c *containers) heal(ctx context.Context) error {
	c.mu.Lock()
	var undo []Op
	for _, n := range c.nodes {
		for _, name := range []OpName{OpSignal, OpDrop, OpBar, OpSetClock} {
			if op, ok := n.undo[name]; ok {
				undo = append(undo, op)
			}
		}
	}
	c.mu.Unlock()
	all := c.local.queues.Close()
	for _, op := range undo {
		if _, err := c.Do(ctx, op); err != nil && !errors.Is(err, os.ErrProcessDone) {
			all = errors.Join(all, err)
		}
	}
	return all
}
