package scenarios

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/picklock/picklock/history"
)

// Runner steps through one scenario. Observe, Waiting, Woken and Ended may be called
// from any goroutine while Run runs in another.
type Runner struct {
	scenario *Scenario
	stage    Stage
	tell     func(Taken) // may be nil

	mu      sync.Mutex
	moved   map[string]int64 // when the latest step of a client ended, "" for those of nobody and for faults
	changed chan struct{}    // closed and replaced at every change
	latest  int64            // when the last event or message came
	clients map[string]*clientState
	counts  map[string]int
	counter string // counting, if not ""
	unfit   *Unfit // nil as long as the lock could do all that the scenario asks for
	failed  error  // a StepError, of acts that nobody waits for
	heals   map[string]func(context.Context) error
	order   []string // of heals
	gates   map[*Await]*actGate
	awaited []*Await // whose gates have shut, and are so until what follows has taken effect
	killed  func(client string)

	following sync.WaitGroup
}

type clientState struct {
	asked, granted int64 // times of the latest acquire's invoke and ok; 0: not yet
	grants, kills  int   // how many there were
	until          int64 // end of the latest grant's lease, 0: it has none
	released       int64 // time of its release's ok; 0: not yet
	acted          int64 // when its latest operation began or ended, but for renewals; 0: none yet
	waiting, lost  bool
	refusals       []int64 // when its latest acquire was made to wait, the latest ones
	busy           *chain
	last           *chain
}

// NewRunner prepares a scenario with steps; tell is called with every step taken.
func NewRunner(s *Scenario, stage Stage, tell func(Taken)) *Runner {
	r := &Runner{
		scenario: s, stage: stage, tell: tell, changed: make(chan struct{}), moved: map[string]int64{},
		clients: map[string]*clientState{}, counts: map[string]int{}, heals: map[string]func(context.Context) error{}, gates: map[*Await]*actGate{},
	}
	r.killed = r.forget
	for _, c := range s.Clients {
		r.clients[c] = &clientState{}
	}
	return r
}

// Observe takes an event as it arrives.
func (r *Runner) Observe(e history.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	defer r.change()
	c := r.clients[e.Process]
	if c == nil {
		return
	}
	if e.F != history.Renew {
		c.acted = max(c.acted, e.Time)
	}
	switch {
	case e.F == history.Acquire && e.Type == history.Invoke:
		c.asked, c.granted, c.until, c.released, c.waiting, c.lost, c.refusals = e.Time, 0, 0, 0, false, false, nil
	case e.F == history.Acquire && e.Type == history.OK:
		c.granted = e.Time
		c.grants++
		if e.Lease > 0 {
			c.until = e.Since + e.Lease
		}
	case e.F == history.Renew && e.Type == history.OK && e.Lease > 0:
		c.until = max(c.until, e.Since+e.Lease)
	case e.F == history.Release && e.Type == history.OK:
		c.released = e.Time
	case e.F == history.Lost:
		c.lost = true
	}
}

// Waiting takes a client's word that the service made it wait.
func (r *Runner) Waiting(client string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.clients[client]
	if c == nil {
		return
	}
	if c.refusals = append(c.refusals, r.stage.Now()); len(c.refusals) > 2 {
		c.refusals = c.refusals[1:]
	}
	if !c.waiting {
		c.waiting = true
		r.change()
	}
}

// Ended takes the news that a client's process is no more: what it was doing has come
// to nothing.
func (r *Runner) Ended(client, why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.clients[client]; c != nil && c.busy != nil {
		select {
		case c.busy.ended <- why:
		default: // it was reported already
		}
	}
}

// change tells all who wait; r.mu is held.
func (r *Runner) change() {
	r.latest = r.stage.Now()
	close(r.changed)
	r.changed = make(chan struct{})
}

// Run takes all steps. An error says which step could not be taken as it was
// meant; a StepError's run has proved nothing of what was to come after it.
// Heal must be called in the end.
func (r *Runner) Run(ctx context.Context) (err error) {
	// Acts that nobody waits for any more end with the script.
	ctx, cancel := context.WithCancel(ctx)
	defer r.following.Wait()
	defer cancel()
	defer func() {
		if oerr := r.openAll(context.WithoutCancel(ctx)); oerr != nil {
			err = errors.Join(err, oerr)
		}
	}()
	for _, st := range r.scenario.Steps {
		began := r.stage.Now()
		var outcome string
		err := r.openAwaited(ctx, st)
		if err == nil {
			brief := r.brief(st)
			outcome, err = r.take(ctx, st)
			r.moveEnded(st.Client)
			if brief && err == nil {
				err = r.outlasted(began)
			}
		}
		if u := r.cannot(); u != nil {
			err = u
		}
		if err != nil {
			outcome = err.Error()
		}
		if r.tell != nil {
			r.tell(Taken{Line: st.Line, Text: st.Text, At: began, Took: time.Duration(r.stage.Now() - began), Outcome: outcome})
		}
		if failed := (*StepError)(nil); errors.As(err, &failed) {
			return failed // of an act that began before
		}
		if err != nil {
			return &StepError{r.scenario.File, st, err}
		}
	}
	return nil
}

// moveEnded notes that a client, or nobody, has just done something.
func (r *Runner) moveEnded(client string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.moved[client] = r.stage.Now()
}

// cannot is why the lock is not one that can be put through this, or why what a client
// does in the background cannot be followed; nil if all is well.
func (r *Runner) cannot() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.unfit == nil {
		return r.failed
	}
	return r.unfit
}

func (r *Runner) take(ctx context.Context, st Step) (string, error) {
	w, ok := st.word()
	if !ok {
		return "", fmt.Errorf("nobody knows how to take this step")
	}
	return w.take(r, ctx, st)
}
