package harness

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/picklock/picklock/compose"
	"github.com/picklock/picklock/workloads"
)

// RegisterReady is the first line that the register's process writes: it listens.
// All later lines are its log.
const RegisterReady = "ready"

const registerPort = 7007

// registerNode is the fenced register's process; its log arrives on its standard
// output, so that it needs no shared file system.
type registerNode struct {
	proc   *compose.Process
	copied chan error
}

// registerName is the protected resource's node, registerKeeper the one from which its
// log is read where picklock did not start the server.
const (
	registerName   = "register"
	registerKeeper = "register-log"
)

// startRegister starts the register, or what keeps the log of one that runs.
func (r *run) startRegister(ctx context.Context, servers []string) (*registerNode, error) {
	p := compose.Program{Name: registerName, Role: compose.Register, Port: registerPort, Args: []string{"register", "--listen", "{listen}"}}
	if r.backend.OpenAdmin != nil {
		p = compose.Program{Name: registerKeeper, Role: compose.Helper, Args: []string{
			"register", "--backend", r.Register, "--at", r.registerAddr(), "--keys", strings.Join(r.registerKeys(), ","),
		}}
	}
	p.Args = append(p.Args, "--fencing", r.Fencing, "--start", strconv.FormatInt(r.start, 10))
	p.Args = append(p.Args, r.registerWay(servers)...)
	proc, err := r.cluster.Spawn(ctx, p)
	if err != nil {
		return nil, err
	}
	open := func() (io.WriteCloser, error) { return os.Create(r.dir.Register()) }
	if r.registerLog != nil {
		open = func() (io.WriteCloser, error) { return r.registerLog, nil }
	}
	return logRegister(ctx, proc, open)
}

// registerKeys are the keys that clients may touch.
func (r *run) registerKeys() []string {
	if sc, scripted := r.driver.(*script); scripted && sc.scenario.Keys() > 1 {
		return []string{r.keys[0], workloads.SecondKey(r.keys[0])}
	}
	return r.keys
}

// registerAddr is where clients reach the register.
func (r *run) registerAddr() string {
	for _, n := range r.cluster.Nodes() {
		if n.Role == compose.Register {
			return n.HostPort()
		}
	}
	return ""
}

// logRegister returns when the register's process is ready, and goes on copying its log.
func logRegister(ctx context.Context, proc *compose.Process, open func() (io.WriteCloser, error)) (*registerNode, error) {
	lines := bufio.NewReaderSize(proc.Stdout, 64<<10)
	first := make(chan error, 1)
	r := &registerNode{proc: proc, copied: make(chan error, 1)}
	go func() {
		defer proc.Stdout.Close()
		word, err := lines.ReadString('\n')
		if err != nil || word != RegisterReady+"\n" {
			first <- errors.Join(fmt.Errorf("the register said %q instead of %q", word, RegisterReady), proc.Err())
			return
		}
		f, err := open()
		first <- err
		if err != nil {
			return
		}
		_, err = io.Copy(f, lines)
		r.copied <- errors.Join(err, f.Close())
	}()
	t := time.NewTimer(compose.ReadyWithin)
	defer t.Stop()
	select {
	case err := <-first:
		return r, err
	case <-t.C:
		return nil, errors.New("the register did not start to listen")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// stop ends the register and returns when its whole log is on disk.
func (r *registerNode) stop() error {
	if err := r.proc.Stdin.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return fmt.Errorf("stop the register: %w", err)
	}
	select {
	case err := <-r.copied:
		return errors.Join(err, r.proc.Err())
	case <-time.After(10 * time.Second):
		return errors.New("the register did not stop within 10s")
	}
}

// registerWay is how the register finds the lock's servers, for a discipline that asks
// them.
func (r *run) registerWay(servers []string) []string {
	if !r.asks {
		return nil
	}
	way := append([]string{"--lock", r.Lock, "--servers", strings.Join(servers, ","), "--ttl", r.TTL.String()}, optionFlags(r.Extra)...)
	if r.access != nil {
		text, _ := json.Marshal(r.access) // strings; secrets are where it says, not in it
		way = append(way, "--external", string(text))
	}
	return way
}
