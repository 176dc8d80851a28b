package scenarios

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/workloads"
)

// FaultRequest is one fault that a step asks for.
type FaultRequest struct {
	Kind  string   // its name, as the nemesis has it
	Nodes []string // who is hit; of a partition, the senders
	// Peers are, of a partition, the receivers; with Both it goes both ways.
	Peers []string
	Both  bool
	By    time.Duration // of a clock: the jump
	Wipe  bool          // of a kill: the data is gone
}

// Stage is what a scenario is played on.
type Stage interface {
	// Act hands a client one act and returns at once; what came of it arrives on
	// the channel, once. A killed client's never does.
	Act(client, act string) (<-chan workloads.Done, error)
	// Inject does a fault, sees that it landed, and returns what undoes it.
	Inject(ctx context.Context, r FaultRequest) (heal func(context.Context) error, err error)
	// Mark notes what a server has written, for a later power loss.
	Mark(ctx context.Context, server string) error
	// Look counts what a server has for the lock: the holder and the waiting.
	Look(ctx context.Context, server string) (int, error)
	// Unread counts the connections on which a request has arrived at a server that has
	// not read it.
	Unread(ctx context.Context, server string) (int, error)
	// Servers lists the servers' names.
	Servers() []string
	// Now is the time in ns since the run's start.
	Now() int64
}

// Taken is one step that was taken.
type Taken struct {
	Line    int           `json:"line"`
	Text    string        `json:"text"`
	At      int64         `json:"at"` // ns since the run's start
	Took    time.Duration `json:"took"`
	Outcome string        `json:"outcome,omitempty"`
}

// StepError is a step that could not be taken as it was meant.
type StepError struct {
	File string
	Step Step
	Err  error
}

func (e *StepError) Error() string {
	return fmt.Sprintf("%s:%d: %s: %v", e.File, e.Step.Line, e.Step.Text, e.Err)
}
func (e *StepError) Unwrap() error { return e.Err }

// awaitWithin bounds every wait for an event that must come.
const awaitWithin = 30 * time.Second

// Runner steps through one scenario. Observe, Waiting, Woken and Ended may be called
// from any goroutine while Play runs in another.
type Runner struct {
	scenario *Scenario
	stage    Stage
	tell     func(Taken) // may be nil

	mu      sync.Mutex
	changed chan struct{} // closed and replaced at every change
	latest  int64         // when the last event or message came
	clients map[string]*clientState
	counts  map[string]int
	counter string // counting, if not ""
	unfit   *Unfit // nil as long as the lock could do all that it was told to
	heals   map[string]func(context.Context) error
	order   []string // of heals

	following sync.WaitGroup
}

type clientState struct {
	asked, granted int64 // times of the latest acquire's invoke and ok; 0: not yet
	until          int64 // end of the latest grant's lease, 0: it has none
	waiting, lost  bool
	busy           *chain
	last           *chain
}

// chain is the acts of one step, done one after the other.
type chain struct {
	acts    []string
	done    bool
	outcome workloads.Done
	act     string        // that outcome is of
	killed  chan struct{} // closed when its client was killed
	ended   chan string   // why nothing more comes of its client, which nobody has killed
}

// NewRunner prepares a scenario with steps; tell is told of every step taken.
func NewRunner(s *Scenario, stage Stage, tell func(Taken)) *Runner {
	r := &Runner{
		scenario: s, stage: stage, tell: tell, changed: make(chan struct{}),
		clients: map[string]*clientState{}, counts: map[string]int{}, heals: map[string]func(context.Context) error{},
	}
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
	switch {
	case e.F == history.Acquire && e.Type == history.Invoke:
		c.asked, c.granted, c.until, c.waiting, c.lost = e.Time, 0, 0, false, false
	case e.F == history.Acquire && e.Type == history.OK:
		c.granted = e.Time
		if e.Lease > 0 {
			c.until = e.Since + e.Lease
		}
	case e.F == history.Renew && e.Type == history.OK && e.Lease > 0:
		c.until = max(c.until, e.Since+e.Lease)
	case e.F == history.Lost:
		c.lost = true
	}
}

// Waiting takes a client's word that the service made it wait.
func (r *Runner) Waiting(client string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.clients[client]; c != nil && !c.waiting {
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
		default: // it was told already
		}
	}
}

// Woken takes a client's word that the service woke it up.
func (r *Runner) Woken(string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.counter != "" {
		r.counts[r.counter]++
	}
	r.change()
}

// Counts is what was counted, by name.
func (r *Runner) Counts() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := map[string]int{}
	for k, v := range r.counts {
		out[k] = v
	}
	return out
}

// change tells all who wait; r.mu is held.
func (r *Runner) change() {
	r.latest = r.stage.Now()
	close(r.changed)
	r.changed = make(chan struct{})
}

// Play takes all steps. An error says which step could not be taken as it was
// meant; a StepError's run has proved nothing of what was to come after it.
// Heal must be called in the end.
func (r *Runner) Play(ctx context.Context) error {
	// Acts that nobody waits for any more end with the script.
	ctx, cancel := context.WithCancel(ctx)
	defer r.following.Wait()
	defer cancel()
	for _, st := range r.scenario.Steps {
		began := r.stage.Now()
		outcome, err := r.take(ctx, st)
		if u := r.cannot(); u != nil {
			err = u
		}
		if err != nil {
			outcome = err.Error()
		}
		if r.tell != nil {
			r.tell(Taken{Line: st.Line, Text: st.Text, At: began, Took: time.Duration(r.stage.Now() - began), Outcome: outcome})
		}
		if err != nil {
			return &StepError{r.scenario.File, st, err}
		}
	}
	return nil
}

// cannot is why the lock is not one that can be put through this; nil if it is.
func (r *Runner) cannot() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.unfit == nil {
		return nil
	}
	return r.unfit
}

// Heal undoes all faults that are still on, the latest first.
func (r *Runner) Heal(ctx context.Context) error {
	var first error
	for _, name := range slices.Backward(slices.Clone(r.order)) {
		if err := r.heal(ctx, name); err != nil && first == nil {
			first = err
		}
	}
	return first
}

func (r *Runner) heal(ctx context.Context, name string) error {
	h := r.heals[name]
	if h == nil {
		return fmt.Errorf("%s is not on", name)
	}
	delete(r.heals, name)
	r.order = slices.DeleteFunc(r.order, func(o string) bool { return o == name })
	return h(ctx)
}

func (r *Runner) take(ctx context.Context, st Step) (string, error) {
	switch st.Word {
	case "act":
		return r.act(ctx, st)
	case "await", "only if":
		return r.await(ctx, st.Await)
	case "pause", "kill", "failover", "powerloss":
		return "", r.each(st.Nodes, func(n string) error { return r.do(ctx, st, n) })
	case "resume":
		return "", r.each(st.Nodes, func(n string) error { return r.heal(ctx, "pause "+n) })
	case "start":
		return "", r.each(st.Nodes, func(n string) error {
			if r.heals["powerloss "+n] != nil {
				return r.heal(ctx, "powerloss "+n)
			}
			return r.heal(ctx, "kill "+n)
		})
	case "clock":
		if st.By == 0 {
			return "", r.heal(ctx, "clock "+st.Nodes[0])
		}
		return "", r.do(ctx, st, st.Nodes[0])
	case "cut":
		request := FaultRequest{Kind: "partition", Nodes: r.resolve(st.Nodes), Peers: r.resolve(st.Peers), Both: st.Both}
		return "", r.inject(ctx, request, "cut "+strings.TrimPrefix(st.Text, "cut: "))
	case "heal":
		for _, name := range slices.Clone(r.order) {
			if what, ok := strings.CutPrefix(name, "cut "); ok && (len(st.Nodes) == 0 || what == strings.TrimPrefix(st.Text, "heal: ")) {
				if err := r.heal(ctx, name); err != nil {
					return "", err
				}
			}
		}
		return "", nil
	case "mark":
		return "", r.stage.Mark(ctx, st.Nodes[0])
	case "count":
		r.mu.Lock()
		defer r.mu.Unlock()
		r.counter, r.counts[st.Count] = st.Count, 0
		return "", nil
	case "counted":
		r.mu.Lock()
		defer r.mu.Unlock()
		r.counter = ""
		return fmt.Sprintf("%d %s", r.counts[st.Count], st.Count), nil
	}
	return "", fmt.Errorf("nobody knows how to take this step")
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

func (r *Runner) each(nodes []string, f func(node string) error) error {
	for _, n := range r.resolve(nodes) {
		if err := f(n); err != nil {
			return err
		}
	}
	return nil
}

func (r *Runner) do(ctx context.Context, st Step, node string) error {
	kind := faultOf[st.Word]
	if kind == "clock" && r.heals["clock "+node] != nil {
		if err := r.heal(ctx, "clock "+node); err != nil {
			return err
		}
	}
	if err := r.inject(ctx, FaultRequest{Kind: kind, Nodes: []string{node}, By: st.By, Wipe: st.Wipe}, kind+" "+node); err != nil {
		return err
	}
	switch kind {
	case "kill":
		r.forget(node)
	case "failover":
		return r.heal(ctx, "failover "+node) // done, it is over: nothing of it is undone later
	}
	return nil
}

func (r *Runner) inject(ctx context.Context, request FaultRequest, name string) error {
	heal, err := r.stage.Inject(ctx, request)
	if err != nil {
		return err
	}
	r.heals[name] = heal
	r.order = append(r.order, name)
	return nil
}

// forget drops what a killed client was doing.
func (r *Runner) forget(client string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.clients[client]; c != nil {
		if c.busy != nil {
			close(c.busy.killed)
		}
		*c = clientState{}
		r.change()
	}
}
