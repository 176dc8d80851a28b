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
	*compose.Members
	sandbox *Sandbox
	def     *compose.Definition
	opts    compose.Options
	net     *network // nil without namespaces
	loop    loopback
	disks   *disks // nil where servers have none
	waiting sync.WaitGroup

	adding   sync.Mutex // orders the changes to the network
	reviving sync.Mutex // orders the starts of servers that have ended because of their disks

	unkeep context.CancelFunc // ends the care for the logs

	starting sync.Mutex // orders starts, and the end of all starts
	spawner  *spawner   // nil once the cluster is closed

	mu    sync.Mutex
	nodes map[string]*node
}

// Start brings the definition's servers up and returns when all of them answer.
func (l *Sandbox) Start(ctx context.Context, def *compose.Definition, opts compose.Options) (_ *Cluster, err error) {
	if err := check(def); err != nil {
		return nil, err
	}
	if err := l.Able(def); err != nil {
		return nil, err
	}
	// Servers run in directories of their own, where a relative path would mislead.
	for _, dir := range []*string{&opts.LogDir, &opts.DataDir, &opts.Self} {
		if *dir, err = filepath.Abs(*dir); err != nil {
			return nil, fmt.Errorf("find the run directory: %w", err)
		}
	}
	c := &Cluster{sandbox: l, def: def, opts: opts, nodes: map[string]*node{}}
	c.Members = compose.NewMembers(def, reach{c})
	for _, dir := range []string{opts.LogDir, opts.DataDir} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, fmt.Errorf("make run directory: %w", err)
		}
	}
	c.spawner = newSpawner()
	keep, unkeep := context.WithCancel(context.Background())
	c.unkeep = unkeep
	c.waiting.Go(func() { compose.KeepLogs(keep, opts.LogDir) })
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Close())
		}
	}()
	if l.Isolated {
		if err := mountData(opts.DataDir); err != nil {
			return nil, err
		}
		if c.net, err = newNetwork(filepath.Join(opts.DataDir, ".hosts")); err != nil {
			return nil, err
		}
	} else {
		c.loop = newLoopback()
	}
	if l.Isolated && opts.Disks && def.NoDisk() == "" {
		if err := c.startDisks(); err != nil {
			return nil, err
		}
	}
	if dir := c.Directory(); dir != "" {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return nil, fmt.Errorf("make the shared directory: %w", err)
		}
	}
	for _, s := range def.Members() {
		n, err := c.addNode(s.Name, s.Spec.Role, s.Spec.Ports, &s)
		if err != nil {
			return nil, err
		}
		if c.disks != nil && s.Spec.Role == compose.Server && s.Spec.External == "" {
			if err := c.mountDisk(ctx, n); err != nil {
				return nil, err
			}
		}
	}
	g, gctx := errgroup.WithContext(ctx)
	for _, s := range def.Members() {
		g.Go(func() error { return c.startServer(gctx, s.Name, true) })
	}
	if err := g.Wait(); err != nil || c.disks == nil {
		return c, err
	}
	// What was made by hand, and by servers that set themselves up, is no part of the
	// experiment: it is on the disks when all of them answer. On all at one moment: members
	// of a quorum that each kept another part of their common log are no cluster any more.
	if _, err := c.disks.ask(ctx, compose.DiskRequest{Do: "sync"}); err != nil {
		return c, fmt.Errorf("start %s: %w", def.Name, err)
	}
	return c, nil
}

// Directory implements compose.Cluster.
func (c *Cluster) Directory() string {
	if c.def.Directory == "" {
		return ""
	}
	return filepath.Join(c.opts.DataDir, ".shared") // no service is called that
}

// Able says why this sandbox cannot run the cluster although all its programs are here; nil
// if it can.
func (l *Sandbox) Able(def *compose.Definition) error {
	for _, s := range def.Members() {
		if s.Spec.Local != nil && s.Spec.Local.Namespaces != "" && !l.Isolated {
			return compose.Impossible(fmt.Sprintf("%s: %s; there are no namespaces here: %s. Use --runtime docker", def.Name, s.Spec.Local.Namespaces, l.Why))
		}
	}
	return nil
}

// check finds what is missing on this machine before anything is started.
func check(def *compose.Definition) error {
	for _, s := range def.Members() {
		if s.Spec.Local == nil {
			return compose.Impossible(fmt.Sprintf("service %s has no x-picklock.local command: this cluster runs with --runtime docker only", s.Name))
		}
		if err := s.Spec.Local.Missing(); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) addNode(name string, role compose.Role, ports []int, svc *compose.Service) (*node, error) {
	n := &node{name: name, svc: svc, dir: filepath.Join(c.opts.DataDir, name)}
	c.adding.Lock()
	defer c.adding.Unlock()
	var err error
	if c.net != nil {
		n.ports = ports
		if n.addr, err = c.net.add(name); err != nil {
			return nil, err
		}
		n.space = c.net.path(name)
	} else if n.addr, n.ports, err = c.loop.add(ports); err != nil {
		return nil, err
	}
	member := compose.Node{Name: name, Role: role, Addr: n.addr, NetNS: n.space}
	if len(n.ports) > 0 {
		member.Port = n.ports[0]
	}
	if svc != nil {
		member.External = svc.Spec.External
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.nodes[name] = n
	c.Add(member)
	return n, nil
}

// node returns what this runtime keeps of a node; nil if there is none of that name.
func (c *Cluster) node(name string) *node {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.nodes[name]
}

// startServer starts a server and waits until it answers. Fresh: with an empty
// data directory.
func (c *Cluster) startServer(ctx context.Context, name string, fresh bool) error {
	member, err := c.Find(name)
	if err != nil {
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
	c.mu.Lock()
	v := nodeVars(c.opts.Self, c.def, c.nodes, n, c.opts.Vars)
	c.mu.Unlock()
	if n.disk {
		if _, err := c.disks.ask(ctx, compose.DiskRequest{Do: "set", Disk: name}); err != nil {
			return fmt.Errorf("start %s: %w", name, err) // on a broken one it would never answer
		}
		c.setBroken(n, false)
	}
	if fresh {
		if err := n.layOut(ctx, v); err != nil {
			return fmt.Errorf("prepare %s: %w", name, err)
		}
	}
	cmd, err := n.command(v)
	if err != nil {
		return fmt.Errorf("start %s: %w", name, err)
	}
	if c.sandbox.outside != nil && n.svc.Spec.External != "" {
		cmd.ExtraFiles = []*os.File{c.sandbox.outside}
		cmd.Args = append(cmd.Args, "--via", "3") // the first of them
	}
	incarnation, err := c.run(n, cmd)
	if err != nil {
		return fmt.Errorf("start %s: %w", name, err)
	}
	ready, cancel := context.WithTimeout(ctx, compose.ReadyWithin)
	defer cancel()
	err = c.Recall(ready, name, incarnation.Gone())
	if err == nil {
		err = n.svc.Spec.Ready.Await(ready, member.HostPort(), incarnation.Gone())
	}
	if err = incarnation.Started(err); errors.Is(err, compose.ErrKilled) {
		return fmt.Errorf("start %s: %w", name, err)
	}
	if err != nil {
		return fmt.Errorf("start %s: %w%s", name, err, n.tail(c.opts.LogDir))
	}
	return nil
}

// run starts cmd as the node's process.
func (c *Cluster) run(n *node, cmd *exec.Cmd) (*compose.Incarnation, error) {
	log, err := os.OpenFile(n.log(c.opts.LogDir), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd.Stderr = log
	if cmd.Stdout == nil {
		cmd.Stdout = log
	}
	c.starting.Lock()
	defer c.starting.Unlock()
	if now, err := c.Find(n.name); err != nil || now.PID != 0 {
		return nil, errors.Join(compose.ErrRuns, err)
	}
	if c.spawner == nil {
		return nil, errors.New("the cluster is closed")
	}
	ended, err := c.spawner.start(cmd, n.space)
	if err != nil {
		return nil, err
	}
	incarnation, err := c.Began(n.name, cmd.Process.Pid, "")
	if err != nil {
		return nil, errors.Join(err, killTree(cmd.Process.Pid), ended())
	}
	c.waiting.Go(func() {
		err := ended()
		c.Ended(n.name, incarnation, err, func() error {
			return fmt.Errorf("%s ended by itself: %s%s", n.name, cmd.ProcessState, n.tail(c.opts.LogDir))
		})
		if n.disk && c.MayExit(n.name) {
			ctx, cancel := context.WithTimeout(context.Background(), compose.ReadyWithin)
			defer cancel()
			if err := c.revive(ctx, n.name); err != nil {
				c.Report(func() error { return err })
			}
		}
	})
	return incarnation, nil
}

// Kill implements compose.Cluster.
func (c *Cluster) Kill(ctx context.Context, name string) error { return c.End(ctx, name, killTree) }

// Restart implements compose.Cluster.
func (c *Cluster) Restart(ctx context.Context, name string, fresh bool) error {
	defer c.Restarting(name)()
	if err := c.startServer(ctx, name, fresh); err != nil || !fresh || !c.node(name).disk {
		return err
	}
	// Of its setting itself up again, as at the cluster's start. What the others have not
	// synced stays theirs to lose.
	if _, err := c.disks.ask(ctx, compose.DiskRequest{Do: "sync", Disk: name}); err != nil {
		return fmt.Errorf("start %s: %w", name, err)
	}
	return nil
}

// Versions tells the version of each kind of server: what it says of itself, or else
// what its program says.
func (c *Cluster) Versions(ctx context.Context) map[string]string {
	out := c.Members.Versions(ctx)
	for _, s := range c.def.Members() {
		if s.Spec.Version != nil || len(s.Spec.Local.Version) == 0 {
			continue
		}
		name, args := s.Spec.Local.Version[0], s.Spec.Local.Version[1:]
		title := filepath.Base(name)
		if path, err := s.Spec.Local.Find(name); err == nil {
			name = path
		}
		if name == "{self}" {
			name, title = c.opts.Self, "picklock"
			if len(args) > 1 { // builtin NAME --version
				title = args[len(args)-2]
			}
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
	c.starting.Lock()
	spawner := c.spawner
	c.spawner = nil
	c.starting.Unlock()
	c.Closing()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	var errs []error
	for _, n := range c.Nodes() {
		errs = append(errs, c.Kill(ctx, n.Name))
	}
	if c.disks != nil {
		errs = append(errs, c.disks.close())
	}
	c.unkeep()
	c.waiting.Wait()
	if spawner == nil {
		return errors.Join(errs...)
	}
	errs = append(errs, compose.EndLogs(c.opts.LogDir))
	spawner.close()
	if c.net != nil {
		errs = append(errs, c.net.close())
	}
	if c.sandbox.Isolated {
		errs = append(errs, unmountData(c.opts.DataDir))
	}
	return errors.Join(append(errs, os.RemoveAll(c.opts.DataDir))...)
}
