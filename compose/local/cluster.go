package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/picklock/picklock/compose"
)

// Cluster is a running cluster of this machine's own processes.
type Cluster struct {
	lab     *Lab
	def     *compose.Definition
	opts    compose.Options
	net     *network // nil without namespaces
	spawner *spawner
	loop    loopback
	died    chan error
	waiting sync.WaitGroup

	adding sync.Mutex // orders the changes to the network

	mu    sync.Mutex
	order []string
	nodes map[string]*node
}

// Start brings the definition's servers up and returns when all of them answer.
func (l *Lab) Start(ctx context.Context, def *compose.Definition, opts compose.Options) (_ *Cluster, err error) {
	if err := check(def); err != nil {
		return nil, err
	}
	// Servers run in directories of their own, where a relative path would mislead.
	for _, dir := range []*string{&opts.LogDir, &opts.DataDir, &opts.Self} {
		if *dir, err = filepath.Abs(*dir); err != nil {
			return nil, fmt.Errorf("find the run directory: %w", err)
		}
	}
	c := &Cluster{lab: l, def: def, opts: opts, nodes: map[string]*node{}, died: make(chan error, 16)}
	for _, dir := range []string{opts.LogDir, opts.DataDir} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, fmt.Errorf("make run directory: %w", err)
		}
	}
	c.spawner = newSpawner()
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Close())
		}
	}()
	if l.Isolated {
		if err := mountData(opts.DataDir); err != nil {
			return nil, err
		}
		if c.net, err = newNetwork(filepath.Join(opts.DataDir, "hosts")); err != nil {
			return nil, err
		}
	} else {
		c.loop = newLoopback()
	}
	for _, s := range def.Servers() {
		if _, err := c.addNode(s.Name, compose.Server, s.Spec.Ports, &s); err != nil {
			return nil, err
		}
	}
	g, gctx := errgroup.WithContext(ctx)
	for _, s := range def.Servers() {
		g.Go(func() error { return c.startServer(gctx, s.Name, true) })
	}
	return c, g.Wait()
}

// check finds what is missing on this machine before anything is started.
func check(def *compose.Definition) error {
	for _, s := range def.Servers() {
		if s.Spec.Local == nil {
			return fmt.Errorf("service %s has no x-picklock.local command: this cluster runs with --runtime docker only", s.Name)
		}
		if err := s.Spec.Local.Missing(); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) addNode(name string, role compose.Role, ports []int, svc *compose.Service) (*node, error) {
	n := &node{Node: compose.Node{Name: name, Role: role}, svc: svc, dir: filepath.Join(c.opts.DataDir, name)}
	c.adding.Lock()
	defer c.adding.Unlock()
	var err error
	if c.net != nil {
		n.ports = ports
		if n.Addr, err = c.net.add(name); err != nil {
			return nil, err
		}
		n.NetNS = c.net.path(name)
	} else if n.Addr, n.ports, err = c.loop.add(ports); err != nil {
		return nil, err
	}
	if len(n.ports) > 0 {
		n.Port = n.ports[0]
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.nodes[name] = n
	c.order = append(c.order, name)
	return n, nil
}

func (c *Cluster) node(name string) (*node, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := c.nodes[name]; n != nil {
		return n, nil
	}
	return nil, fmt.Errorf("no node %q: have %s", name, strings.Join(c.order, ", "))
}

// Nodes implements compose.Cluster.
func (c *Cluster) Nodes() []compose.Node {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make([]compose.Node, 0, len(c.order))
	for _, name := range c.order {
		out = append(out, c.nodes[name].Node)
	}
	return out
}

// Died implements compose.Cluster.
func (c *Cluster) Died() <-chan error { return c.died }

// startServer starts a server and waits until it answers. Fresh: with an empty
// data directory.
func (c *Cluster) startServer(ctx context.Context, name string, fresh bool) error {
	n, err := c.node(name)
	if err != nil {
		return err
	}
	if n.svc == nil {
		return fmt.Errorf("%s is not a server", name)
	}
	v := nodeVars(c.opts.Self, c.def, c.nodes, n, c.opts.Vars)
	if fresh {
		if err := n.layOut(v); err != nil {
			return fmt.Errorf("prepare %s: %w", name, err)
		}
	}
	cmd, err := n.command(v)
	if err != nil {
		return fmt.Errorf("start %s: %w", name, err)
	}
	gone, err := c.run(n, cmd)
	if err != nil {
		return fmt.Errorf("start %s: %w", name, err)
	}
	ready, cancel := context.WithTimeout(ctx, compose.ReadyWithin)
	defer cancel()
	if err := n.svc.Spec.Ready.Await(ready, n.HostPort(), gone); err != nil {
		return fmt.Errorf("start %s: %w%s", name, err, n.tail(c.opts.LogDir))
	}
	return nil
}

// run starts cmd as the node's process; the channel closes when it has ended.
func (c *Cluster) run(n *node, cmd *exec.Cmd) (<-chan struct{}, error) {
	log, err := os.OpenFile(n.log(c.opts.LogDir), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd.Stderr = log
	if cmd.Stdout == nil {
		cmd.Stdout = log
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if n.PID != 0 {
		return nil, errors.New("it runs already")
	}
	if c.spawner == nil {
		return nil, errors.New("the cluster is closed")
	}
	ended, err := c.spawner.start(cmd, n.NetNS)
	if err != nil {
		return nil, err
	}
	gone := make(chan struct{})
	n.PID, n.gone, n.killed = cmd.Process.Pid, gone, false
	c.waiting.Add(1)
	go c.await(n, cmd, ended, gone)
	return gone, nil
}

func (c *Cluster) await(n *node, cmd *exec.Cmd, ended func() error, gone chan struct{}) {
	defer c.waiting.Done()
	err := ended()
	c.mu.Lock()
	n.PID, n.err = 0, err
	// Our own programs end well when they are told to.
	unexpected := !n.killed && (n.Role == compose.Server || err != nil)
	c.mu.Unlock()
	close(gone)
	if unexpected {
		select {
		case c.died <- fmt.Errorf("%s ended by itself: %s%s", n.Name, cmd.ProcessState, n.tail(c.opts.LogDir)):
		default: // nobody has taken the earlier ones, which say enough
		}
	}
}

// Kill implements compose.Cluster.
func (c *Cluster) Kill(ctx context.Context, name string) error {
	n, err := c.node(name)
	if err != nil {
		return err
	}
	c.mu.Lock()
	pid, gone := n.PID, n.gone
	n.killed = true
	c.mu.Unlock()
	if pid == 0 {
		return nil
	}
	if err := killGroup(pid); err != nil {
		return fmt.Errorf("kill %s: %w", name, err)
	}
	select {
	case <-gone:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("kill %s: still there: %w", name, ctx.Err())
	}
}

// Restart implements compose.Cluster.
func (c *Cluster) Restart(ctx context.Context, name string, fresh bool) error {
	return c.startServer(ctx, name, fresh)
}

// Leader implements compose.Cluster.
func (c *Cluster) Leader(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	servers := c.def.Servers()
	leads := make([]bool, len(servers))
	var wg sync.WaitGroup
	for i, s := range servers {
		if s.Spec.Leader == nil {
			if len(servers) == 1 {
				return s.Name, nil
			}
			return "", fmt.Errorf("no server of the cluster %s leads the others", c.def.Name)
		}
		n, err := c.node(s.Name)
		if err != nil {
			return "", err
		}
		wg.Go(func() {
			leads[i], _ = s.Spec.Leader.Ask(ctx, n.HostPort()) // one that does not answer does not lead
		})
	}
	wg.Wait()
	for i, yes := range leads {
		if yes {
			return servers[i].Name, nil
		}
	}
	return "", nil
}

// Versions tells the version of each kind of server, by the program's name.
func (c *Cluster) Versions(ctx context.Context) map[string]string {
	out := map[string]string{}
	for _, s := range c.def.Servers() {
		if len(s.Spec.Local.Version) == 0 {
			continue
		}
		name, args := s.Spec.Local.Version[0], s.Spec.Local.Version[1:]
		title := name
		if name == "{self}" {
			name, title = c.opts.Self, args[len(args)-2]
		}
		if out[title] != "" {
			continue
		}
		text, err := exec.CommandContext(ctx, name, args...).Output()
		if err != nil {
			out[title] = "unknown: " + err.Error()
			continue
		}
		line, _, _ := strings.Cut(string(text), "\n")
		out[title] = strings.TrimSpace(line)
	}
	return out
}

// Close implements compose.Cluster.
func (c *Cluster) Close() error {
	c.mu.Lock()
	names := append([]string(nil), c.order...)
	c.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	var errs []error
	for _, name := range names {
		errs = append(errs, c.Kill(ctx, name))
	}
	c.waiting.Wait()
	c.mu.Lock()
	spawner := c.spawner
	c.spawner = nil
	c.mu.Unlock()
	if spawner == nil {
		return errors.Join(errs...)
	}
	spawner.close()
	if c.net != nil {
		errs = append(errs, c.net.close())
	}
	if c.lab.Isolated {
		errs = append(errs, unmountData(c.opts.DataDir))
	}
	return errors.Join(append(errs, os.RemoveAll(c.opts.DataDir))...)
}
