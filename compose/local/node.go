package local

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/picklock/picklock/compose"
	"github.com/picklock/picklock/internal/gctune"
)

// node is what a node keeps while it exists; whether it runs, compose.Members knows.
type node struct {
	name  string
	addr  string
	space string // its network namespace, "" where nodes share one
	ports []int
	dir   string
	svc   *compose.Service // nil for picklock's own programs
	disk  bool             // dir is one of picklock's own disks
	// prepared: the disk has on it what a first start needs.
	prepared bool
	// broken: the disk suffers a fault. It changes under the cluster's lock.
	broken bool
	power  powerCuts // of disk
}

func (n *node) log(dir string) string { return filepath.Join(dir, n.name+".log") }

// tail returns the last lines of the node's log, as the end of an error message.
func (n *node) tail(dir string) string { return compose.Tail(n.log(dir)) }

// layOut empties the data directory, and puts into it what is prepared and the service's files.
func (n *node) layOut(ctx context.Context, v vars) error {
	if !n.prepared {
		if err := n.empty(); err != nil {
			return err
		}
		if err := n.prepare(ctx, n.dir); err != nil {
			return err
		}
	}
	n.prepared = false // the next start is another one
	for name, content := range n.svc.Spec.Local.Files {
		if !filepath.IsLocal(name) {
			return fmt.Errorf("file %q is not below the data directory", name)
		}
		text, err := v.expand(content)
		if err != nil {
			return err
		}
		path := filepath.Join(n.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// empty makes the data directory, or empties it: not by making it anew, it may be the
// root of a disk.
func (n *node) empty() error {
	if err := os.MkdirAll(n.dir, 0o755); err != nil {
		return err
	}
	inside, err := os.ReadDir(n.dir)
	if err != nil {
		return err
	}
	for _, e := range inside {
		if err := os.RemoveAll(filepath.Join(n.dir, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// searchPath is PATH with the folders of l before it.
func searchPath(l *compose.Local) string {
	return "PATH=" + strings.Join(append(l.Folders(), os.Getenv("PATH")), ":")
}

func (n *node) command(v vars) (*exec.Cmd, error) {
	l := n.svc.Spec.Local
	args := make([]string, len(l.Command))
	for i, a := range l.Command {
		var err error
		if args[i], err = v.expand(a); err != nil {
			return nil, err
		}
	}
	if len(args) == 0 {
		return nil, fmt.Errorf("x-picklock.local has no command")
	}
	if path, err := l.Find(args[0]); err == nil { // else starting it fails and says so
		args[0] = path
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = n.dir
	cmd.Env = append(os.Environ(), searchPath(l))
	if l.Command[0] == "{self}" {
		gctune.Calm(cmd)
	}
	asUser(cmd, l.User)
	for k, text := range l.Env {
		value, err := v.expand(text)
		if err != nil {
			return nil, err
		}
		cmd.Env = append(cmd.Env, k+"="+value)
	}
	return cmd, nil
}

// Spawn implements compose.Cluster.
func (c *Cluster) Spawn(_ context.Context, p compose.Program) (*compose.Process, error) {
	n := c.node(p.Name)
	if n == nil {
		var ports []int
		if p.Port != 0 {
			ports = []int{p.Port}
		}
		var err error
		if n, err = c.addNode(p.Name, p.Role, ports, nil); err != nil {
			return nil, fmt.Errorf("add node %s: %w", p.Name, err)
		}
	}
	member, err := c.Find(p.Name)
	if err != nil {
		return nil, err
	}
	args := append([]string(nil), p.Args...)
	for i, a := range args {
		args[i] = strings.ReplaceAll(a, "{listen}", member.HostPort())
	}
	cmd := exec.Command(c.opts.Self, args...)
	gctune.Calm(cmd)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	// A pipe of our own instead of StdoutPipe: Wait must not close the reading
	// end before the last events were read.
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.Stdout = w
	incarnation, err := c.run(n, cmd)
	w.Close()
	if err != nil {
		r.Close()
		return nil, fmt.Errorf("start %s: %w", p.Name, err)
	}
	return &compose.Process{Stdin: stdin, Stdout: r, Done: incarnation.Gone(), Err: func() error {
		if err := incarnation.Err(); err != nil {
			return fmt.Errorf("%s: %w%s", p.Name, err, n.tail(c.opts.LogDir))
		}
		return nil
	}}, nil
}
