package scenarios

import (
	"context"
	"slices"
	"time"

	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/workloads"
)

// freshLeases is how many leases a fresh request may wait, and freshLeast how long at least.
const (
	freshLeases = 2
	freshLeast  = 500 * time.Millisecond
)

// askAfresh has a client that has come to the end of its program ask for the lock that another one still waits for, although nothing has
// changed for Patience, and give it back. A lock that stays taken is not granted to it; one that is free, and of which
// the client that waits has missed the notice, is. It says whether that client was granted it.
func (r *Runner) askAfresh(ctx context.Context) bool {
	client, second := r.beside()
	if client == "" {
		return false
	}
	within := max(freshLeases*r.scenario.TTL, freshLeast)
	asks := workloads.Act{Do: history.Acquire, Second: second, Span: within}
	if r.outcomeOf(ctx, client, asks, 2*awaitWithin+within) != workloads.Granted {
		return false
	}
	r.outcomeOf(ctx, client, workloads.Act{Do: history.Release}, 2*awaitWithin)
	return true
}

// beside is a client that lives, has come to the end of its program and holds nothing, while another one waits for the lock; and whether
// that waits for the second key. "" for none. Of several it is the one that had the lock longest ago: to the lock the last one may hold it still.
func (r *Runner) beside() (client string, second bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	waits := slices.IndexFunc(r.scenario.Clients, func(name string) bool {
		c := r.clients[name]
		return !r.isDead(name) && c.asking && c.busy != nil && c.busy.move.Do == history.Acquire
	})
	if waits < 0 {
		return "", false
	}
	second = r.clients[r.scenario.Clients[waits]].busy.move.Second
	for _, name := range r.scenario.Clients {
		c := r.clients[name]
		over := c.granted == 0 || c.released > 0 || c.lost || c.until > 0 && c.until < r.stage.Now()
		if free := r.over[name] && !r.isDead(name) && !c.asking && over; free && (client == "" || c.had < r.clients[client].had) {
			client = name
		}
	}
	return client, second && client != ""
}

// outcomeOf has a client do something that is none of its program, and waits for what comes of it; "" if nothing does.
func (r *Runner) outcomeOf(ctx context.Context, client string, act workloads.Act, within time.Duration) workloads.Outcome {
	answer, err := r.stage.Act(client, act.String())
	if err != nil {
		return ""
	}
	t := time.NewTimer(within)
	defer t.Stop()
	select {
	case d := <-answer:
		return d.Outcome
	case <-ctx.Done():
	case <-t.C:
	}
	return ""
}
