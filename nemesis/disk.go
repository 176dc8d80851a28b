package nemesis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/picklock/picklock/compose"
)

var diskKind = Kind{
	Name:     "disk",
	About:    "give servers a disk that hangs in every sync (stall, for so long if a time follows), is full, or fails (eio)",
	Usage:    "[:leader|server|one|minority|majority|all|NODE][:stall[:DURATION]|:full|:eio]",
	All:      []string{"leader:stall", "one"},
	Parse:    parseDisk,
	Make:     makeDisk,
	Lasts:    diskLasts,
	Possible: diskPossible,
	Disks:    true,
	Servers:  true,
	Single:   true,
}

func diskPossible(e *Env) error {
	if !e.Isolated {
		return errors.New("picklock's own disk is mounted in namespaces: see picklock doctor")
	}
	_, err := e.Injector.Do(context.Background(), Op{Name: OpTryDisk})
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return errNoDisks
	case err != nil:
		return fmt.Errorf("this machine cannot mount picklock's own disk: %w", err)
	}
	return nil
}

// Disks reports whether servers need picklock's own disks for a kind of fault, and this machine
// can mount them.
func Disks(e *Env, kinds []string) bool {
	return slices.ContainsFunc(kinds, func(name string) bool {
		k, ok := lookup(name)
		return ok && k.Disks
	}) && diskPossible(e) == nil
}

func parseDisk(words []string) (p Plan, err error) {
	words = slices.Clone(words)
	if i := slices.IndexFunc(words, isDiskFault); i >= 0 {
		p.Disk = words[i]
		if compose.DiskFault(p.Disk) == compose.DiskStall && i+1 < len(words) {
			if p.Stall, err = time.ParseDuration(words[i+1]); err != nil || p.Stall <= 0 {
				return p, fmt.Errorf("%q is no time that a sync takes", words[i+1])
			}
			words = slices.Delete(words, i+1, i+2)
		}
		words = slices.Delete(words, i, i+1)
	}
	p.target, err = serverTarget(words)
	return p, err
}

func isDiskFault(word string) bool {
	switch compose.DiskFault(word) {
	case compose.DiskStall, compose.DiskFull, compose.DiskEIO:
		return true
	}
	return false
}

func diskLasts(e *Env, _ Plan, rng *rand.Rand) time.Duration { return between(rng, e.TTL, 0.5, 2) }

func makeDisk(ctx context.Context, e *Env, p Plan, c chance) (Fault, error) {
	nodes, err := p.victims(ctx, e, c)
	if err != nil || nodes == nil {
		return nil, err
	}
	fault := compose.DiskFault(p.Disk)
	switch {
	case p.named() && !isDiskFault(p.Disk):
		return nil, fmt.Errorf("no disk fault %q: want stall, full or eio", p.Disk)
	case fault == compose.DiskWell:
		all := []compose.DiskFault{compose.DiskStall, compose.DiskFull, compose.DiskEIO}
		fault = all[c.rng.IntN(len(all))]
	}
	d := e.Cluster.Disks()
	if d == nil {
		return nil, errNoDisks
	}
	return &diskFault{env: e, disks: d, nodes: nodes, fault: fault, stall: p.Stall}, nil
}

type diskFault struct {
	env   *Env
	disks compose.Disks
	nodes []compose.Node
	fault compose.DiskFault
	stall time.Duration // of each sync; 0: as long as the fault
}

func (d *diskFault) Nodes() []string { return names(d.nodes) }

func (d *diskFault) Detail() string {
	switch {
	case d.fault == compose.DiskFull:
		return "disk full"
	case d.fault == compose.DiskEIO:
		return "disk fails"
	case d.stall > 0:
		return fmt.Sprintf("every sync takes %v", d.stall)
	}
	return "every sync hangs"
}

func (d *diskFault) Steps() []string {
	var out []string
	for _, n := range d.nodes {
		step := "disk: " + n.Name + " " + string(d.fault)
		if d.fault == compose.DiskStall && d.stall > 0 {
			step += " " + d.stall.String()
		}
		out = append(out, step)
	}
	return out
}

func (d *diskFault) Inject(ctx context.Context) error {
	for _, n := range d.nodes {
		if err := d.disks.SetDisk(ctx, n.Name, d.fault, d.stall); err != nil {
			return err
		}
	}
	return nil
}

// Verify writes to the disks, and syncs, as the servers would, and asks the disks whether it was
// the fault that met that: a busy disk is slow by itself, and one can be full.
func (d *diskFault) Verify(ctx context.Context) error {
	for _, n := range d.nodes {
		if err := d.seen(ctx, n.Name); err != nil {
			return fmt.Errorf("the disk of %s: %s was not seen: %w", n.Name, d.fault, err)
		}
	}
	return nil
}

func (d *diskFault) seen(ctx context.Context, node string) error {
	if d.fault == compose.DiskStall {
		return d.stalled(ctx, node)
	}
	want := map[compose.DiskFault]error{compose.DiskFull: syscall.ENOSPC, compose.DiskEIO: syscall.EIO}[d.fault]
	if err := d.disks.TryDisk(ctx, node); !errors.Is(err, want) {
		return fmt.Errorf("but %s", orWell(err))
	}
	if n, err := d.disks.DiskHits(ctx, node); err != nil || n == 0 {
		return errors.Join(errors.New("it failed by itself"), err)
	}
	return nil
}

// stalled has a sync of the disk wait, and sees it kept waiting by the fault.
func (d *diskFault) stalled(ctx context.Context, node string) error {
	trying, cancel := context.WithCancel(ctx)
	var try sync.WaitGroup
	defer try.Wait()
	defer cancel()
	tried := make(chan error, 1)
	try.Go(func() { tried <- d.disks.TryDisk(trying, node) })
	ended := func(err error) error {
		if n, herr := d.disks.DiskHits(ctx, node); herr == nil && n > 0 && err == nil {
			return nil // it has taken as long as was asked for
		}
		return fmt.Errorf("but %s", orWell(err))
	}
	for {
		n, err := d.disks.DiskHits(ctx, node)
		if err != nil || n > 0 {
			return err
		}
		select {
		case err := <-tried:
			return ended(err)
		case <-time.After(lookEvery): // the disk only answers questions
		}
	}
}

func orWell(err error) string {
	if err == nil {
		return "that it works"
	}
	return strings.TrimSpace(err.Error())
}

// Heal also brings servers back that have ended because of their disk.
func (d *diskFault) Heal(ctx context.Context) error {
	errs := make(chan error, len(d.nodes))
	for _, n := range d.nodes {
		go func() {
			err := d.disks.SetDisk(ctx, n.Name, compose.DiskWell, 0)
			if err == nil {
				err = d.disks.TryDisk(ctx, n.Name)
			}
			errs <- err
		}()
	}
	var all error
	for range d.nodes {
		all = errors.Join(all, <-errs)
	}
	return all
}
