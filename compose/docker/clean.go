package docker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// startingWithin is how long a run whose agent has been made but not started yet is
// taken to be about to start it.
const startingWithin = time.Minute

// dead lists what dead runs left on the engine, by run.
func (e *Engine) dead(ctx context.Context) (map[string][]string, error) {
	label := labelAny + "=1"
	containers, err := e.engine.containers(ctx, label)
	if err != nil {
		return nil, fmt.Errorf("look for what runs left: %w", err)
	}
	networks, err := e.engine.networks(ctx, label)
	if err != nil {
		return nil, fmt.Errorf("look for what runs left: %w", err)
	}
	volumes, err := e.engine.volumes(ctx, label)
	if err != nil {
		return nil, fmt.Errorf("look for what runs left: %w", err)
	}
	alive := map[string]bool{}
	for _, c := range containers {
		starting := c.State == "created" && e.about.Now.Sub(c.Created) < startingWithin
		if c.Labels[labelRole] == roleAgent && (c.State == "running" || starting) {
			alive[c.Labels[labelRun]] = true
		}
	}
	left := map[string][]string{}
	for kind, objects := range map[string][]object{"container": containers, "network": networks, "volume": volumes} {
		for _, t := range objects {
			if run := t.Labels[labelRun]; run != "" && !alive[run] {
				left[run] = append(left[run], kind+" "+t.Name)
			}
		}
	}
	return left, nil
}

// Left is what dead runs left on an engine.
type Left struct {
	runs   map[string][]string // by run: "container NAME" ...
	images []string
}

// Names are of all that there is, as Clean says it: "container NAME".
func (l Left) Names() []string {
	var out []string
	for _, what := range l.runs {
		out = append(out, what...)
	}
	for _, i := range l.images {
		out = append(out, "image "+i)
	}
	slices.Sort(out)
	return out
}

// Left looks for what dead runs left on the engine: containers, networks, volumes and images
// that carry picklock's labels. A run is alive as long as its agent runs, which ends when its
// run does, however that ends. What is made from picklock's images inherits their label: of
// images, those count that have a name as picklock gives it.
func (e *Engine) Left(ctx context.Context) (Left, error) {
	runs, err := e.dead(ctx)
	left := Left{runs: runs}
	if err != nil {
		return left, err
	}
	images, err := e.engine.images(ctx, labelAny+"=1")
	if err != nil {
		return left, fmt.Errorf("look for picklock's images: %w", err)
	}
	for _, i := range images {
		if ownImage(i.Name) {
			left.images = append(left.images, i.Name)
		}
	}
	return left, nil
}

// Clean removes what was left, except what has come to use since. It returns what was
// removed, and what the engine itself keeps, with what to do about it.
func (e *Engine) Clean(ctx context.Context, left Left) (removed, kept []string, err error) {
	dead, err := e.dead(ctx)
	if err != nil {
		return nil, nil, err
	}
	var errs []error
	for run, what := range left.runs {
		if dead[run] == nil {
			continue
		}
		if err := e.remove(ctx, run); errors.Is(err, errKept) {
			kept = append(kept, err.Error())
			if what, err = e.without(ctx, what, run); err != nil {
				errs = append(errs, err)
				continue
			}
		} else if err != nil {
			errs = append(errs, err)
			continue
		}
		removed = append(removed, what...)
	}
	for _, name := range left.images {
		switch err := e.engine.removeImage(ctx, name); {
		case err == nil:
			removed = append(removed, "image "+name)
		case !inUse(err):
			errs = append(errs, fmt.Errorf("remove image %s: %w", name, err))
		}
	}
	slices.SortFunc(removed, strings.Compare)
	return removed, kept, errors.Join(errs...)
}

// without are the names of what a run had, but for the networks that the engine keeps.
func (e *Engine) without(ctx context.Context, what []string, run string) ([]string, error) {
	networks, err := e.engine.networks(ctx, labelRun+"="+run)
	if err != nil {
		return nil, fmt.Errorf("look for what is left: %w", err)
	}
	return slices.DeleteFunc(slices.Clone(what), func(name string) bool {
		return slices.ContainsFunc(networks, func(n object) bool { return name == "network "+n.Name })
	}), nil
}

// remove removes all that carries a run's label.
func (e *Engine) remove(ctx context.Context, run string) error {
	label := labelRun + "=" + run
	return errors.Join(
		e.removeContainers(ctx, label, func(object) bool { return true }),
		e.removeNetworks(ctx, label),
		e.removeVolumes(ctx, label))
}

// removeContainers removes the containers with a label, as far as wanted says so.
func (e *Engine) removeContainers(ctx context.Context, label string, wanted func(object) bool) error {
	var errs []error
	// Compose, when interrupted, may just have had one more made.
	for range 3 {
		found, err := e.engine.containers(ctx, label)
		if err != nil {
			return fmt.Errorf("look for what is to be removed: %w", err)
		}
		found = slices.DeleteFunc(found, func(t object) bool { return !wanted(t) })
		if len(found) == 0 {
			break
		}
		errs = make([]error, len(found))
		var wg sync.WaitGroup
		for i, t := range found {
			wg.Go(func() {
				if err := e.engine.removeContainer(ctx, t.ID); err != nil {
					errs[i] = fmt.Errorf("remove container %s: %w", t.Name, err)
				}
			})
		}
		wg.Wait()
	}
	return errors.Join(errs...)
}

func (e *Engine) removeNetworks(ctx context.Context, label string) error {
	networks, err := e.engine.networks(ctx, label)
	errs := []error{err}
	for _, n := range networks {
		if err := e.engine.removeNetwork(ctx, n.ID); err != nil {
			errs = append(errs, fmt.Errorf("remove network %s: %w", n.Name, err))
		}
	}
	return errors.Join(errs...)
}

func (e *Engine) removeVolumes(ctx context.Context, label string) error {
	volumes, err := e.engine.volumes(ctx, label)
	errs := []error{err}
	for _, v := range volumes {
		if err := e.engine.removeVolume(ctx, v.Name); err != nil {
			errs = append(errs, fmt.Errorf("remove volume %s: %w", v.Name, err))
		}
	}
	return errors.Join(errs...)
}
