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
	*compose.Members
	def    *compose.Definition
	opts   Options
	run    string // its id
	image  string // of picklock's own program
	client string // of the clients
	agent  Agent
	hosts  []string

	ctx     context.Context // of everything that goes on until Close
	cancel  context.CancelFunc
	waiting sync.WaitGroup
	left    []string // what Close could not remove

	mu      sync.Mutex
	next    netip.Addr // the next free address
	nodes   map[string]*node
	around  func(ctx context.Context, node string, start func() error) error
	agentID string
}

// project is the name of a run for Compose, and of its network.
func project(run string) string { return "picklock-" + run }

// Start brings the definition's services up and returns when all servers answer.
func (e *Engine) Start(ctx context.Context, def *compose.Definition, opts Options) (_ *Cluster, err error) {
	if at := def.External(); len(at) > 0 {
		return nil, compose.Impossible("a service that runs already, as " + at[0] + ", is reached with --runtime local only: containers have no forwarder to it")
	}
	if err := def.LocalOnly(); err != nil {
		return nil, err
	}
	id := make([]byte, 6)
	_, _ = rand.Read(id) // never fails
	c := &Cluster{
		Engine: e, def: def, opts: opts, run: hex.EncodeToString(id), nodes: map[string]*node{},
	}
	c.Members = compose.NewMembers(def, reach{c})
	c.ctx, c.cancel = context.WithCancel(context.Background())
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Close())
		}
	}()
	if err := os.MkdirAll(opts.LogDir, 0o755); err != nil {
		return nil, fmt.Errorf("make run directory: %w", err)
	}
	c.waiting.Go(func() { compose.KeepLogs(c.ctx, opts.LogDir) })
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
	if v := c.volume(compose.Client); v != "" {
		if err := e.engine.volume(ctx, v, c.labels()); err != nil {
			return nil, fmt.Errorf("make volume %s: %w", v, err)
		}
	}
	if len(def.Services) == 0 {
		return c, nil
	}
	return c, c.startServers(ctx, p)
}

func (c *Cluster) labels() map[string]string {
	return map[string]string{labelAny: "1", labelRun: c.run}
}

// startAgent is the first object that is done: while the agent runs, its run lives,
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
		c.Report(func() error { return errors.Join(errors.New("the agent ended by itself"), proc.Err()) })
	})
	return nil
}

// startServers runs Compose and waits until every server answers.
func (c *Cluster) startServers(ctx context.Context, p plan) error {
	rundir := filepath.Dir(c.opts.LogDir)
	text, err := rewrite(c.def, p, true)
	if err == nil {
		var record []byte
		if record, err = rewrite(c.def, p, false); err == nil {
			err = os.WriteFile(filepath.Join(rundir, "compose.yml"), record, 0o644)
		}
	}
	if err != nil {
		return fmt.Errorf("prepare %s for docker: %w", c.def.File, err)
	}
	dir := rundir
	if _, err := os.Stat(c.def.File); err == nil {
		dir = filepath.Dir(c.def.File) // what it names is found beside it
	}
	if err := c.up(ctx, project(c.run), text, dir, filepath.Join(c.opts.LogDir, "compose.log")); err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("start the cluster: %w", ctx.Err())
		}
		if ref, merr := c.Missing(ctx, c.def); merr == nil && ref != "" {
			return compose.Impossible(fmt.Sprintf("image %s is not on the engine and cannot be pulled: see whether the engine reaches a registry, or name another image "+
				"(%s; scripts/images builds images from Debian packages): %v", ref, imageVariable(c.def, ref), err))
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
			if s.Spec.Role != "" {
				return fmt.Errorf("start the cluster: compose made no container for %s", s.Name)
			}
			continue
		}
		n := &node{name: s.Name, addr: p.addrs[s.Name], svc: &s, id: ids[s.Name]}
		if s.Spec.Role == "" {
			c.follow(n, time.Time{})
			continue
		}
		c.add(n, compose.Node{Name: s.Name, Role: s.Spec.Role, Addr: n.addr, Port: s.Spec.Ports[0]})
		g.Go(func() error {
			incarnation, err := c.running(gctx, n, time.Time{})
			if err != nil {
				return fmt.Errorf("start %s: %w%s", n.name, err, c.tail(n))
			}
			return c.adopt(gctx, n, incarnation)
		})
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

func (c *Cluster) add(n *node, member compose.Node) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.nodes[n.name] = n
	c.Add(member)
}

// node returns what this runtime keeps of a node; nil if there is none of that name.
func (c *Cluster) node(name string) *node {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.nodes[name]
}

// AroundStart implements compose.Cluster.
func (c *Cluster) AroundStart(f func(ctx context.Context, node string, start func() error) error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.around = f
}

// startOf starts a node, within the function that AroundStart was given.
func (c *Cluster) startOf(ctx context.Context, name string, start func() error) error {
	c.mu.Lock()
	around := c.around
	c.mu.Unlock()
	if around == nil {
		return start()
	}
	return around(ctx, name, start)
}

// Versions names the engine, what the servers say of themselves, and their images
// with the digests that say which they were.
func (c *Cluster) Versions(ctx context.Context) map[string]string {
	out := map[string]string{"docker": c.about.Version}
	said := c.Members.Versions(ctx)
	for _, s := range c.def.Members() {
		title := s.Title()
		if title == "" || out[title] != "" {
			continue
		}
		id, err := c.engine.image(ctx, s.Image)
		if err != nil {
			id = "unknown: " + err.Error()
		}
		out[title] = strings.TrimSpace(fmt.Sprintf("%s %s (%.19s)", said[title], s.Image, id))
	}
	return out
}

// Close implements compose.Cluster. The agent goes last: until then the run lives.
func (c *Cluster) Close() error {
	c.Closing()
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	label := labelRun + "=" + c.run
	err := c.removeContainers(ctx, label, func(t object) bool { return t.ID != c.agentID })
	if nerr := c.removeNetworks(ctx, label); nerr != nil {
		c.left = []string{leftNetwork(project(c.run), nerr)}
	}
	err = errors.Join(err, c.removeVolumes(ctx, label))
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
	return errors.Join(err, compose.EndLogs(c.opts.LogDir))
}

// leftNetwork says that a network stays. The run's history does not hang on it.
func leftNetwork(name string, err error) string {
	return fmt.Sprintf("the engine did not let go of the network %s (%v): picklock clean removes it later; "+
		"if it still cannot, restart the engine, which forgets what it believes to be connected", name, err)
}

// Left implements compose.Cluster.
func (c *Cluster) Left() []string { return c.left }
