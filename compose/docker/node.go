package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/picklock/picklock/compose"
)

// agentCaps are the capabilities that the agent was found to need and no other:
// SYS_PTRACE to shift clocks and to look at other users' processes, DAC_OVERRIDE to
// write their memory, KILL to signal them, SYS_ADMIN to enter a network namespace,
// NET_ADMIN to filter packets there.
var agentCaps = []string{"SYS_PTRACE", "DAC_OVERRIDE", "KILL", "SYS_ADMIN", "NET_ADMIN"}

// node is what a node keeps while it exists, and its container; whether it runs,
// compose.Members knows. id and logged change under the cluster's lock only.
type node struct {
	name   string
	addr   string
	svc    *compose.Service // nil for picklock's own programs
	id     string
	args   []string      // of picklock's own programs: a container keeps those that it was made with
	logged chan struct{} // closed when all that a server wrote is in its log
}

func (c *Cluster) log(name string) string { return filepath.Join(c.opts.LogDir, name+".log") }

func (c *Cluster) openLog(name string) (*os.File, error) {
	return os.OpenFile(c.log(name), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
}

// follow copies what a server's container writes into its log, until it ends.
func (c *Cluster) follow(n *node, since time.Time) {
	logged := make(chan struct{})
	c.mu.Lock()
	n.logged = logged
	id := n.id
	c.mu.Unlock()
	c.waiting.Go(func() {
		defer close(logged)
		f, err := c.openLog(n.name)
		if err != nil {
			return // the run is not about this log
		}
		defer f.Close()
		if err := c.engine.logs(c.ctx, id, since, f); err != nil && c.ctx.Err() == nil {
			fmt.Fprintln(f, "picklock: read the container's log:", err)
		}
	})
}

// tail is the end of a server's log as the end of an error message.
func (c *Cluster) tail(n *node) string {
	c.mu.Lock()
	logged := n.logged
	c.mu.Unlock()
	if logged != nil {
		select {
		case <-logged:
		case <-time.After(2 * time.Second): // it goes on writing
		}
	}
	return compose.Tail(c.log(n.name))
}

// adopt waits until a server answers whose container has just been started.
func (c *Cluster) adopt(ctx context.Context, n *node, incarnation *compose.Incarnation) error {
	member, err := c.Find(n.name)
	if err != nil {
		return err
	}
	ready, cancel := context.WithTimeout(ctx, compose.ReadyWithin)
	defer cancel()
	if err := c.Recall(ready, n.name, incarnation.Gone()); err != nil {
		return fmt.Errorf("start %s: %w%s", n.name, incarnation.Started(err), c.tail(n))
	}
	err = n.svc.Spec.Ready.AwaitBy(ready, member.HostPort(), incarnation.Gone(), func(ctx context.Context) (bool, error) {
		now, err := c.Find(n.name)
		if err != nil {
			return false, err
		}
		_, ok, err := reach{c}.Ask(ctx, now, n.svc.Spec.Ready)
		return ok, err
	})
	if err != nil {
		return fmt.Errorf("start %s: %w%s", n.name, incarnation.Started(err), c.tail(n))
	}
	return nil
}

// running notes that a server's container runs and watches for its end. Its log is read from when
// it ended last before this start, the zero time if it never ran: the engine notes the time of a
// start when the first lines may be written already, and a container may have ended again by now.
func (c *Cluster) running(ctx context.Context, n *node, ended time.Time) (*compose.Incarnation, error) {
	i, err := c.engine.inspect(ctx, n.id)
	if err != nil {
		return nil, err
	}
	c.follow(n, ended)
	if i.Labels[labelRun] != c.run {
		return nil, fmt.Errorf("container %s is not of this run", i.Name)
	}
	if i.PID == 0 {
		return nil, fmt.Errorf("%w: its container has exit code %d%s", compose.ErrEnded, i.Code, colon(i.Error))
	}
	if got := i.Addrs[project(c.run)]; got != n.addr {
		return nil, fmt.Errorf("its container has the address %q instead of %s", got, n.addr)
	}
	return c.began(ctx, n, i.PID, c.engine.await(c.ctx, n.id, false))
}

func colon(s string) string {
	if s == "" {
		return ""
	}
	return ": " + s
}

// began gives a started node into the agent's care and watches for its end.
func (c *Cluster) began(ctx context.Context, n *node, pid int, ended func() (int64, error)) (*compose.Incarnation, error) {
	err := os.ErrProcessDone
	if pid != 0 {
		err = c.agent.Allow(ctx, n.id, pid)
	}
	if err != nil {
		pid = 0
	}
	incarnation, berr := c.Began(n.name, pid, fmt.Sprintf("/proc/%d/ns/net", pid))
	if berr != nil {
		return nil, berr
	}
	c.waiting.Go(func() { c.awaitEnd(n, ended, incarnation) })
	if err != nil && !errors.Is(err, os.ErrProcessDone) { // awaitEnd reports its end
		return incarnation, err
	}
	return incarnation, nil
}

func (c *Cluster) awaitEnd(n *node, ended func() (int64, error), incarnation *compose.Incarnation) {
	code, lost := ended()
	var err error
	switch {
	case lost != nil:
		err = fmt.Errorf("watch %s: %w", n.name, lost)
	case code != 0:
		err = fmt.Errorf("%s: exit code %d", n.name, code)
	}
	c.Ended(n.name, incarnation, err, func() error {
		if lost != nil {
			return err
		}
		return fmt.Errorf("%s ended by itself: exit code %d%s", n.name, code, c.tail(n))
	})
}

// id is a node's container, "" if there is no node of that name.
func (c *Cluster) id(name string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := c.nodes[name]; n != nil {
		return n.id
	}
	return ""
}

// Kill implements compose.Cluster.
func (c *Cluster) Kill(ctx context.Context, name string) error {
	return c.End(ctx, name, func(pid int) error {
		// The agent is quicker than the engine, and a holder holds for a moment only.
		err := c.agent.Kill(ctx, pid)
		if err == nil || errors.Is(err, os.ErrProcessDone) {
			return nil
		}
		return c.engine.kill(ctx, c.id(name))
	})
}

// Restart implements compose.Cluster.
func (c *Cluster) Restart(ctx context.Context, name string, fresh bool) error {
	if _, err := c.Find(name); err != nil {
		return err
	}
	n := c.node(name)
	if n.svc == nil {
		return fmt.Errorf("%s is not a server", name)
	}
	done, err := c.Starting(ctx, name)
	if err != nil {
		return fmt.Errorf("start %s: %w", name, err)
	}
	defer done()
	if fresh {
		id, err := c.engine.recreate(ctx, n.id)
		if err != nil {
			return fmt.Errorf("start %s without its data: %w", name, err)
		}
		c.mu.Lock()
		n.id = id
		c.mu.Unlock()
	}
	defer c.Restarting(name)()
	var incarnation *compose.Incarnation
	err = c.startOf(ctx, name, func() error {
		before, err := c.engine.inspect(ctx, n.id)
		if err != nil {
			return err
		}
		if err := c.engine.start(ctx, n.id); err != nil {
			return err
		}
		if incarnation, err = c.running(ctx, n, before.Finished); err != nil {
			return fmt.Errorf("%w%s", err, c.tail(n))
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("start %s: %w", name, err)
	}
	return c.adopt(ctx, n, incarnation)
}

// Spawn implements compose.Cluster.
func (c *Cluster) Spawn(ctx context.Context, p compose.Program) (*compose.Process, error) {
	n := c.node(p.Name)
	if n == nil {
		var err error
		if n, err = c.newNode(ctx, p); err != nil {
			return nil, fmt.Errorf("add node %s: %w", p.Name, err)
		}
	} else if err := c.withArgs(ctx, n, p); err != nil {
		return nil, fmt.Errorf("give node %s other arguments: %w", p.Name, err)
	}
	var proc *compose.Process
	err := c.startOf(ctx, p.Name, func() error {
		started, ended, err := c.launch(ctx, n.id, p.Name)
		if err != nil {
			return err
		}
		proc = started
		i, err := c.engine.inspect(ctx, n.id)
		if err == nil {
			_, err = c.began(ctx, n, i.PID, ended)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", p.Name, err)
	}
	return proc, nil
}

func (c *Cluster) newNode(ctx context.Context, p compose.Program) (*node, error) {
	c.mu.Lock()
	addr := c.next
	c.next = c.next.Next()
	c.mu.Unlock()
	n := &node{name: p.Name, addr: addr.String()}
	member := compose.Node{Name: p.Name, Role: p.Role, Addr: n.addr, Port: p.Port}
	n.args = argsOf(p, member)
	var err error
	if n.id, err = c.container(ctx, n, p); err != nil {
		return nil, err
	}
	c.add(n, member)
	return n, nil
}

// argsOf are a program's arguments on a node.
func argsOf(p compose.Program, on compose.Node) []string {
	args := slices.Clone(p.Args)
	for i, a := range args {
		args[i] = strings.ReplaceAll(a, "{listen}", on.HostPort())
	}
	return args
}

// withArgs makes the container of a program that has ended anew if the program is to have other arguments.
func (c *Cluster) withArgs(ctx context.Context, n *node, p compose.Program) error {
	args := argsOf(p, compose.Node{Addr: n.addr, Port: p.Port})
	if slices.Equal(n.args, args) {
		return nil
	}
	if err := c.engine.removeContainer(ctx, n.id); err != nil {
		return err
	}
	n.args = args
	id, err := c.container(ctx, n, p)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	n.id = id
	return nil
}

// container makes the container of one of picklock's own programs, and returns its id.
func (c *Cluster) container(ctx context.Context, n *node, p compose.Program) (string, error) {
	image := c.image
	if p.Role == compose.Client {
		image = c.client
	}
	labels := c.labels()
	labels[labelNode], labels[labelRole] = p.Name, string(p.Role)
	return c.engine.create(ctx, spec{
		Name: project(c.run) + "-" + p.Name, Image: image, Args: n.args, Labels: labels,
		Network: project(c.run), Addr: n.addr, Alias: p.Name, Hosts: c.hosts, Volume: c.volume(p.Role),
	})
}

// launch starts a container of picklock's own program. The function that it returns waits
// for the program's end.
func (c *Cluster) launch(ctx context.Context, id, name string) (*compose.Process, func() (int64, error), error) {
	log, err := c.openLog(name)
	if err != nil {
		return nil, nil, err
	}
	s, err := c.engine.attach(ctx, id)
	if err != nil {
		log.Close()
		return nil, nil, err
	}
	await := c.engine.await(c.ctx, id, true)
	if err := c.engine.start(ctx, id); err != nil {
		s.close()
		log.Close()
		return nil, nil, err
	}
	gone, done := make(chan struct{}), make(chan struct{})
	var code int64
	var lost error
	c.waiting.Go(func() {
		code, lost = await()
		close(gone)
	})
	r, w := io.Pipe()
	c.waiting.Go(func() {
		defer close(done)
		w.CloseWithError(s.copy(lenient{w}, log)) // without an error: the end of the file
		s.close()
		log.Close()
		<-gone
	})
	proc := &compose.Process{Stdin: s.stdin, Stdout: r, Done: done, Err: func() error {
		<-done
		switch {
		case lost != nil:
			return fmt.Errorf("watch %s: %w", name, lost)
		case code != 0:
			return fmt.Errorf("%s: exit code %d%s", name, code, compose.Tail(c.log(name)))
		}
		return nil
	}}
	return proc, func() (int64, error) {
		<-gone
		return code, lost
	}, nil
}

// lenient goes on when its reader is gone, so that the rest of the output, the
// log above all, still arrives.
type lenient struct{ w io.Writer }

func (l lenient) Write(p []byte) (int, error) {
	_, _ = l.w.Write(p)
	return len(p), nil
}
