package scenarios

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// inject asks the stage for a fault; what undoes it is kept under the name.
func (r *Runner) inject(ctx context.Context, request FaultRequest, name string) error {
	heal, err := r.stage.Inject(ctx, request)
	if err != nil {
		return err
	}
	r.heals[name] = heal
	r.order = append(r.order, name)
	return nil
}

// undo ends the faults that were injected under the names, all at once: members of a quorum
// that were killed answer only together.
func (r *Runner) undo(ctx context.Context, names ...string) error {
	var heals []func(context.Context) error
	for _, name := range names {
		h := r.heals[name]
		if h == nil {
			return fmt.Errorf("%s is not on", name)
		}
		heals = append(heals, h)
	}
	for _, name := range names {
		delete(r.heals, name)
	}
	r.order = slices.DeleteFunc(r.order, func(o string) bool { return slices.Contains(names, o) })
	errs := make([]error, len(heals))
	var all sync.WaitGroup
	for i, h := range heals {
		all.Go(func() { errs[i] = h(ctx) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// Heal undoes all faults that are still on, the latest first; those that were killed one after
// the other start together.
func (r *Runner) Heal(ctx context.Context) error {
	var first error
	for left := slices.Clone(r.order); len(left) > 0; {
		n := len(left) - 1
		for n > 0 && strings.HasPrefix(left[n], killed) && strings.HasPrefix(left[n-1], killed) {
			n--
		}
		if err := r.undo(ctx, left[n:]...); err != nil && first == nil {
			first = err
		}
		left = left[:n]
	}
	return first
}

func (r *Runner) each(nodes []string, f func(node string) error) error {
	for _, n := range r.resolve(nodes) {
		if err := f(n); err != nil {
			return err
		}
	}
	return nil
}

// resolve writes "servers" out.
func (r *Runner) resolve(nodes []string) []string {
	var out []string
	for _, n := range nodes {
		if n == Servers {
			out = append(out, r.stage.Servers()...)
		} else {
			out = append(out, n)
		}
	}
	return out
}
