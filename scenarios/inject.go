package scenarios

import (
	"context"
	"fmt"
	"slices"
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

// undo ends the fault that was injected under the name.
func (r *Runner) undo(ctx context.Context, name string) error {
	h := r.heals[name]
	if h == nil {
		return fmt.Errorf("%s is not on", name)
	}
	delete(r.heals, name)
	r.order = slices.DeleteFunc(r.order, func(o string) bool { return o == name })
	return h(ctx)
}

// Heal undoes all faults that are still on, the latest first.
func (r *Runner) Heal(ctx context.Context) error {
	var first error
	for _, name := range slices.Backward(slices.Clone(r.order)) {
		if err := r.undo(ctx, name); err != nil && first == nil {
			first = err
		}
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
