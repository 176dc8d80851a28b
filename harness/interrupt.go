package harness

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/picklock/picklock/results"
)

// errInterrupted ends what a run does when Options.Interrupt asks for it; what there
// is by then is judged.
var errInterrupted = errors.New("interrupted")

// setupUnlessInterrupted sets everything up. An interruption by then leaves nothing to
// judge.
func (r *run) setupUnlessInterrupted(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	up, over := make(chan struct{}), make(chan struct{})
	cut := false
	go func() {
		defer close(over)
		select {
		case <-r.Interrupt:
			cut = true
			cancel()
		case <-up:
		}
	}()
	err := r.setup(ctx)
	close(up)
	<-over
	if cut {
		r.stalls.stop()
		return fmt.Errorf("%w before the clients began: there is nothing to judge", errInterrupted)
	}
	return err
}

// interrupted notes when the run was cut short.
func (r *run) interrupted() {
	r.desc.CutShort = max(results.Unfinished+1, time.Duration(r.Runtime.Now()-r.start))
	r.Observer.Phase("interrupted: heal, and judge what there is (once more ends at once)", time.Time{})
}

// directory makes the run's directory, once everything that needs no machine is known
// to be there.
func (p *plan) directory(ctx context.Context, desc results.Run) (*results.Dir, error) {
	if _, err := p.definition(ctx); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUsage, err)
	}
	if p.Out == "" {
		return results.Create("", desc)
	}
	dir, err := results.CreateAt(p.Out)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUsage, err)
	}
	return dir, nil
}

// unfinished is the error of a run that came to no verdict: it says where the evidence
// is, or removes a directory that holds none.
func unfinished(dir *results.Dir, err error) error {
	if errors.Is(err, ErrUsage) || errors.Is(err, errInterrupted) || !dir.Evidence() {
		return errors.Join(err, dir.Discard())
	}
	return fmt.Errorf("%w (what there is of the run: %s)", err, dir.Path())
}
