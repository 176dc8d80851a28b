package harness

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/compose"
	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/internal/scratch"
	"github.com/picklock/picklock/workloads"
)

// suits says what of the options the lock cannot do, and chooses the workload where the
// user left it open. Of a lock that declares itself when it is open that comes later: see
// settle.
func (p *plan) suits() error {
	if p.lock.Declares {
		if _, err := workloads.Lookup(cmp.Or(p.Workload, Defaults().Workload)); err != nil {
			return err
		}
		return fits(p.lock, p.discipline)
	}
	p.Workload = cmp.Or(p.Workload, WorkloadFor(p.lock), Defaults().Workload)
	if err := p.holds(); err != nil {
		return err
	}
	return fits(p.lock, p.discipline)
}

// settle takes what the clients' locks have declared into the plan: from here on it is
// known what the lock is.
func (p *plan) settle(declared map[string]*clients.Abilities) error {
	if !p.lock.Declares {
		return nil
	}
	names := slices.Sorted(maps.Keys(declared))
	var a *clients.Abilities
	for _, name := range names {
		d := declared[name]
		if d == nil {
			return fmt.Errorf("%s opened the lock %s and did not say what it can do", name, p.lock.Name)
		}
		if a != nil && !slices.Equal(a.Words(), d.Words()) {
			return fmt.Errorf("%w: the program declares %q to %s and %q to %s: it has to be the same lock", ErrUsage, a.Words(), names[0], d.Words(), name)
		}
		a = d
	}
	if a == nil {
		return errors.New("no client opened the lock")
	}
	p.lock = p.lock.With(*a)
	err := p.suits()
	if err == nil && p.Renew && !a.Renew {
		err = fmt.Errorf("the program declares no renew: it answered open without %q: leave out --renew, or say --ability renew=yes", `"renew":true`)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUsage, err)
	}
	return nil
}

// Describe starts a lock's cluster and one client of it, and returns what the lock is as
// it declares it. Of a lock that is known nothing is started.
func Describe(ctx context.Context, o Options) (_ clients.Info, _ *clients.Abilities, err error) {
	o.Clients, o.Fencing = 1, Defaults().Fencing
	p, err := o.plan()
	if err != nil || !p.lock.Declares {
		if p == nil {
			p = &plan{}
		}
		return p.lock, nil, err
	}
	if p.Observer == nil {
		p.Observer = silent{}
	}
	if p.Log == nil {
		p.Log = slog.New(slog.DiscardHandler)
	}
	dir, err := scratch.Make()
	if err != nil {
		return p.lock, nil, fmt.Errorf("make a folder for the nodes: %w", err)
	}
	defer func() { err = errors.Join(err, dir.Remove()) }()
	def, err := p.definition(ctx)
	if err != nil {
		return p.lock, nil, fmt.Errorf("%w: %w", ErrUsage, err)
	}
	r := &run{plan: p, start: history.Now(), keys: keyNames("", p.Keys)}
	if err := r.useExternal(def); err != nil {
		return p.lock, nil, err
	}
	if r.cluster, err = r.startCluster(ctx, def, filepath.Join(dir.Path, "nodes"), filepath.Join(dir.Path, "data")); err != nil {
		return p.lock, nil, err
	}
	defer func() { err = errors.Join(err, r.cleanExternal(), r.cluster.Close()) }()
	if r.rec, err = newRecorder(filepath.Join(dir.Path, "history")); err != nil {
		return p.lock, nil, err
	}
	r.workers = newWorkers(r.cluster, r.rec, r.workerConfig(r.servers(), ""), func(string, workloads.Message) {})
	if err := r.workers.spawn(ctx, p.names[0], false); err != nil {
		return p.lock, nil, fmt.Errorf("%w%s", err, compose.Tail(filepath.Join(dir.Path, "nodes", p.names[0]+".log")))
	}
	declared := r.workers.abilities()
	if err := r.workers.stop(ctx, r.workers.cfg.Wait); err != nil {
		return p.lock, nil, err
	}
	err = p.settle(declared)
	return p.lock, declared[p.names[0]], err
}

// Described is what picklock lock describe --json prints.
type Described struct {
	Lock string `json:"lock"`
	// Declares is nil for a lock of picklock's own: the table says what that can do.
	Declares *clients.Abilities `json:"declares,omitempty"`
}

// Describe asks those of the matrix's locks what they are that say it only once they are
// open, each by a picklock program of its own. A lock that cannot be asked now is not known:
// its cells will say why.
func (o *MatrixOptions) Describe(ctx context.Context) error {
	for _, lock := range o.Locks {
		info, err := o.Table.Lookup(lock)
		if err != nil {
			return err
		}
		if !info.Declares {
			continue
		}
		a, err := o.describe(ctx, lock)
		if err != nil {
			return err
		}
		if o.Declared == nil {
			o.Declared = map[string]clients.Abilities{}
		}
		if a != nil {
			o.Declared[lock] = *a
		}
	}
	return nil
}

func (o *MatrixOptions) describe(ctx context.Context, lock string) (*clients.Abilities, error) {
	args := []string{"lock", "describe", "--lock", lock, "--json"}
	if o.Cluster != "" {
		args = append(args, "--cluster", o.Cluster)
	}
	if o.Runtime != "" {
		args = append(args, "--runtime", o.Runtime)
	}
	if o.ClientImage != "" {
		args = append(args, "--client-image", o.ClientImage)
	}
	args = slices.Concat(args, optionFlags(o.Extra), abilityFlags(o.Abilities))
	cmd := exec.CommandContext(ctx, o.Self, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 30 * time.Second
	var stdout bytes.Buffer
	cmd.Stdout = &stdout
	if err := cmd.Run(); err != nil {
		var exit *exec.ExitError
		if ctx.Err() == nil && errors.As(err, &exit) {
			return nil, nil // the cells will say why
		}
		return nil, fmt.Errorf("describe %s: %w", lock, err)
	}
	var d Described
	if err := json.Unmarshal(stdout.Bytes(), &d); err != nil {
		return nil, fmt.Errorf("describe %s: read what it declares: %w", lock, err)
	}
	return d.Declares, nil
}

// lockFor is a lock of the matrix with what is known of it.
func (o MatrixOptions) lockFor(name string) (clients.Info, error) {
	info, err := o.Table.Lookup(name)
	if a, ok := o.Declared[name]; ok && err == nil {
		info = info.With(a)
	}
	return info, err
}
