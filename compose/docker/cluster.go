package docker

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/picklock/picklock/compose"
)

// Options are what a cluster on Docker needs besides the usual.
type Options struct {
	compose.Options
	// ClientImage is an image that the clients' program is put into, for locks that
	// need a program of the user's; "" for an image of picklock alone.
	ClientImage string
	// NewAgent takes the agent program's streams.
	NewAgent func(*compose.Process) Agent
}

// Cluster is a running cluster of containers.
type Cluster struct {
	*Engine
	def    *compose.Definition
	opts   Options
	run    string // its id
	image  string // of our own program
	client string // of the clients
	agent  Agent
	hosts  []string
	died   chan error

	ctx     context.Context // of everything that goes on until Close
	cancel  context.CancelFunc
	waiting sync.WaitGroup

	mu      sync.Mutex
	next    netip.Addr // the next free address
	order   []string
	nodes   map[string]*node
	onStart func(ctx context.Context, node string) error
	closing bool
	agentID string
}

// project is the name of a run for Compose, and of its network.
func project(run string) string { return "picklock-" + run }

// Start brings the definition's services up and returns when all servers answer.
func (e *Engine) Start(ctx context.Context, def *compose.Definition, opts Options) (_ *Cluster, err error) {
	id := make([]byte, 6)
	_, _ = rand.Read(id) // never fails
	c := &Cluster{
		Engine: e, def: def, opts: opts, run: hex.EncodeToString(id), nodes: map[string]*node{}, died: make(chan error, 16),
	}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Close())
		}
	}()
	if err := os.MkdirAll(opts.LogDir, 0o755); err != nil {
		return nil, fmt.Errorf("make run directory: %w", err)
	}
	if len(def.Services) > 0 && e.compose == nil {
		if e.compose, err = findCompose(ctx); err != nil {
			return nil, err
		}
	}
	if err := c.startAgent(ctx); err != nil {
		return nil, err
	}
	subnet, err := e.engine.network(ctx, project(c.run), c.labels())
	if err != nil {
		return nil, err
	}
	p, next := newPlan(def, project(c.run), subnet, c.labels())
	c.next, c.hosts = next, p.hosts
	if len(def.Services) == 0 {
		return c, nil
	}
	return c, c.startServers(ctx, p)
}

func (c *Cluster) labels() map[string]string {
	return map[string]string{labelAny: "1", labelRun: c.run}
}

// startAgent is the first thing that is done: while the agent runs, its run lives,
// and picklock clean leaves it alone.
func (c *Cluster) startAgent(ctx context.Context) (err error) {
	labels := c.labels()
	labels[labelRole], labels[labelNode] = roleAgent, roleAgent
	create := func() (string, error) {
		if c.image, err = c.programImage(ctx, c.opts.Self, ""); err != nil {
			return "", err
		}
		return c.engine.create(ctx, spec{
			Name: project(c.run) + "-agent", Image: c.image, Args: []string{"agent", "--run", c.run}, Labels: labels,
			Network: "none", Caps: agentCaps, AppArmor: c.about.AppArmor,
		})
	}
	c.agentID, err = create()
	if err != nil && strings.Contains(err.Error(), "No such image") {
		c.agentID, err = create() // a picklock clean at this moment took the image away
	}
	if err != nil {
		return fmt.Errorf("start the agent: %w", err)
	}
	if c.client = c.image; c.opts.ClientImage != "" {
		if c.client, err = c.programImage(ctx, c.opts.Self, c.opts.ClientImage); err != nil {
			return err
		}
	}
	proc, ended, err := c.launch(ctx, c.agentID, roleAgent)
	if err != nil {
		return fmt.Errorf("start the agent: %w", err)
	}
	c.agent = c.opts.NewAgent(proc)
	c.waiting.Go(func() {
		_, _ = ended() // proc.Err says how
		c.report(func() error { return errors.Join(errors.New("the agent ended by itself"), proc.Err()) })
	})
	return nil
}

// startServers runs Compose and waits until every server answers.
func (c *Cluster) startServers(ctx context.Context, p plan) error {
	text, err := rewrite(c.def, p)
	if err != nil {
		return fmt.Errorf("prepare %s for docker: %w", c.def.File, err)
	}
	rundir := filepath.Dir(c.opts.LogDir)
	file := filepath.Join(rundir, "compose.yml")
	if err := os.WriteFile(file, text, 0o644); err != nil {
		return fmt.Errorf("prepare %s for docker: %w", c.def.File, err)
	}
	dir := rundir
	if _, err := os.Stat(c.def.File); err == nil {
		dir = filepath.Dir(c.def.File) // what it names is found beside it
	}
	if err := c.up(ctx, project(c.run), file, dir, filepath.Join(c.opts.LogDir, "compose.log")); err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("start the cluster: %w", ctx.Err())
		}
		if ref, merr := c.Missing(ctx, c.def); merr == nil && ref != "" {
			return fmt.Errorf("image %s is not on the engine and cannot be pulled: see whether the engine reaches a registry, or name another image "+
				"(%s; scripts/images builds images from Debian packages): %w", ref, imageVariable(c.def, ref), err)
		}
		return fmt.Errorf("start the cluster: compose: %w", err)
	}
	made, err := c.engine.containers(ctx, labelRun+"="+c.run, "com.docker.compose.project="+project(c.run))
	if err != nil {
		return fmt.Errorf("look for the cluster's containers: %w", err)
	}
	ids := map[string]string{}
	for _, m := range made {
		ids[m.Labels[labelNode]] = m.ID
	}
	g, gctx := errgroup.WithContext(ctx)
	for _, s := range c.def.Services {
		if ids[s.Name] == "" {
			if s.Spec.Role == compose.Server {
				return fmt.Errorf("start the cluster: compose made no container for %s", s.Name)
			}
			continue
		}
		n := &node{Node: compose.Node{Name: s.Name, Role: s.Spec.Role, Addr: p.addrs[s.Name]}, svc: &s, id: ids[s.Name]}
		if s.Spec.Role != compose.Server {
			c.follow(n, time.Time{})
			continue
		}
		n.Port = s.Spec.Ports[0]
		c.add(n)
		g.Go(func() error { return c.adopt(gctx, n) })
	}
	return g.Wait()
}

// Missing names an image of the cluster that is not on the engine, "" if all are.
func (e *Engine) Missing(ctx context.Context, def *compose.Definition) (string, error) {
	for _, s := range def.Services {
		if s.Image == "" {
			continue // it is built
		}
		id, err := e.engine.image(ctx, s.Image)
		if err != nil {
			return "", fmt.Errorf("look for image %s: %w", s.Image, err)
		}
		if id == "" {
			return s.Image, nil
		}
	}
	return "", nil
}

// imageVariable says how the file lets its user choose the image.
func imageVariable(def *compose.Definition, ref string) string {
	for _, l := range strings.Split(string(def.Source), "\n") {
		_, rest, ok := strings.Cut(l, "${")
		name, value, _ := strings.Cut(rest, ":-")
		if ok && strings.HasPrefix(strings.TrimSpace(l), "image:") && (strings.HasPrefix(value, ref+"}") || os.Getenv(name) == ref) {
			return "set " + name
		}
	}
	return "edit " + def.File
}

func (c *Cluster) add(n *node) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.nodes[n.Name] = n
	c.order = append(c.order, n.Name)
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

// OnStart implements compose.Renewing.
func (c *Cluster) OnStart(f func(ctx context.Context, node string) error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.onStart = f
}

// Died implements compose.Cluster.
func (c *Cluster) Died() <-chan error { return c.died }

// report passes on that something ended that should not have.
func (c *Cluster) report(why func() error) {
	c.mu.Lock()
	closing := c.closing
	c.mu.Unlock()
	if closing {
		return
	}
	select {
	case c.died <- why():
	default: // nobody has taken the earlier ones, which say enough
	}
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
			leads[i], _ = c.ask(ctx, n, s.Spec.Leader) // one that does not answer does not lead
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

func (c *Cluster) ask(ctx context.Context, n *node, p *compose.Probe) (bool, error) {
	c.mu.Lock()
	space, addr := n.NetNS, n.HostPort()
	c.mu.Unlock()
	if space == "" {
		return false, errors.New("it is down")
	}
	return c.agent.Ask(ctx, space, addr, p)
}

// Versions names the engine and the images, with the digests that say which they
// were.
func (c *Cluster) Versions(ctx context.Context) map[string]string {
	out := map[string]string{"docker": c.about.Version}
	for _, s := range c.def.Servers() {
		title, _, _ := strings.Cut(s.Image[strings.LastIndexByte(s.Image, '/')+1:], ":")
		if title == "" || out[title] != "" {
			continue
		}
		id, err := c.engine.image(ctx, s.Image)
		if err != nil {
			id = "unknown: " + err.Error()
		}
		out[title] = fmt.Sprintf("%s (%.19s)", s.Image, id)
	}
	return out
}

// Close implements compose.Cluster. The agent goes last: until then the run lives.
func (c *Cluster) Close() error {
	c.mu.Lock()
	c.closing = true
	c.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	err := c.remove(ctx, c.run, func(t thing) bool { return t.ID != c.agentID })
	if c.agent != nil {
		actx, acancel := context.WithTimeout(ctx, 10*time.Second)
		err = errors.Join(err, c.agent.Close(actx))
		acancel()
	}
	if c.agentID != "" {
		if rerr := c.engine.removeContainer(ctx, c.agentID); rerr != nil {
			err = errors.Join(err, fmt.Errorf("remove the agent: %w", rerr))
		}
	}
	c.cancel()
	c.waiting.Wait()
	return err
}
