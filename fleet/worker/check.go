package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/register"
	"github.com/picklock/picklock/fleet"
	"github.com/picklock/picklock/hunt"
	"github.com/picklock/picklock/hunt/testbeds"
	"github.com/picklock/picklock/scenarios"
)

var (
	plainName = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._-]{0,99}$`)
	imageName = regexp.MustCompile(`^[a-z0-9][a-zA-Z0-9._/:@-]{0,299}$`)
)

// mostCells limits a job.
const mostCells = 100000

// check refuses a job that is invalid, or that the worker's configuration does not allow. Anybody may
// have written it.
func (w *worker) check(ctx context.Context, campaign string, j fleet.Job) error {
	if err := w.version(ctx, campaign); err != nil {
		return err
	}
	return w.checkJob(ctx, j)
}

func (w *worker) checkJob(ctx context.Context, j fleet.Job) error {
	if err := errors.Join(w.cluster(j.Cluster), w.runtime(j)); err != nil {
		return err
	}
	if j.Hunt != nil {
		return w.checkHunt(ctx, j)
	}
	return w.checkCells(j)
}

func (w *worker) checkHunt(ctx context.Context, j fleet.Job) error {
	info, err := w.allowed(j.Lock)
	if err != nil {
		return err
	}
	h := j.Hunt
	if err := errors.Join(fleet.CheckHunt(info, j), testbeds.CheckFaults(h.Faults)); err != nil {
		return err
	}
	target, err := w.target(ctx, info, j)
	if err != nil {
		return err
	}
	if sizes := target.Sizes(h.Depth); !slices.Equal(sizes, h.Sizes) {
		return fmt.Errorf("its schedules, by their numbers of faults, are %v here and %v at the coordinator: use one picklock version on all machines", sizes, h.Sizes)
	}
	return nil
}

func (w *worker) target(ctx context.Context, info clients.Info, j fleet.Job) (hunt.Target, error) {
	return j.Testbeds(j.Runtime).Target(ctx, info)
}

func (w *worker) checkCells(j fleet.Job) error {
	if len(j.Cells) == 0 || len(j.Cells) > mostCells {
		return fmt.Errorf("%d cells: want 1 to %d", len(j.Cells), mostCells)
	}
	for _, c := range j.Cells {
		info, err := w.allowed(c.Lock)
		if err != nil {
			return err
		}
		if !plainName.MatchString(c.Scenario) {
			return fmt.Errorf("scenario %q is not a scenario's name", c.Scenario)
		}
		s, err := scenarios.Parse(c.Scenario+".yaml", []byte(c.Text))
		if err != nil {
			return err
		}
		if s.Name != c.Scenario {
			return fmt.Errorf("scenario %q has the name %q in its file", c.Scenario, s.Name)
		}
		if err := w.scenario(s); err != nil {
			return err
		}
		if _, err := register.ParseFencingMode(c.Fencing); err != nil {
			return err
		}
		if err := errors.Join(info.CheckOptions(j.Options), info.CheckAbilities(j.Abilities)); err != nil {
			return err
		}
	}
	return nil
}

// images sets the variables that Compose files read a job's images from; restore resets them. A
// worker runs one job at a time.
func images(all map[string]string) (restore func()) {
	var undo []func()
	for service, image := range all {
		name := fleet.ImageVariable(service)
		before, was := os.LookupEnv(name)
		if os.Setenv(name, image) != nil {
			continue // checkJob has checked the name
		}
		undo = append(undo, func() {
			if was {
				_ = os.Setenv(name, before) // the process had it before
			} else {
				_ = os.Unsetenv(name) // the process had none
			}
		})
	}
	return func() {
		for _, u := range undo {
			u()
		}
	}
}
