package scenarios

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
)

// gates prepare a move: what its messages are to meet is in place before it sends any.
func (c *clientRunner) gates(ctx context.Context, m Move) ([]func(context.Context), error) {
	var gates []func(context.Context)
	for _, where := range []Where{Sent, Answered} {
		a := c.at(where, m)
		for _, st := range c.track {
			if a.N, a.Other = st.When.N, st.When.Other; st.When != a {
				continue
			}
			gate, err := c.gate(ctx, st)
			if err != nil {
				over, cancel := context.WithCancel(ctx)
				cancel()
				for _, g := range gates {
					g(over) // what is shut is opened
				}
				return nil, err
			}
			gates = append(gates, gate)
		}
	}
	return gates, nil
}

// gate lets so many messages of an act pass, and no more before the fault has taken effect. What
// it returns waits for that, once the act has begun.
func (c *clientRunner) gate(ctx context.Context, st *faultState) (func(context.Context), error) {
	others := c.stage.Servers()
	if st.When.Other != "" {
		others = c.resolve(strings.Split(st.When.Other, " and "))
	}
	if len(others) == 0 {
		return nil, &DiscardedError{TriggeredFault: *st.TriggeredFault, Why: "there are no servers whose messages could be counted"}
	}
	g, err := c.stage.Gate(ctx, GateRequest{Client: c.client, To: others, Answered: st.When.At == Answered, N: st.When.N})
	if err != nil {
		return nil, &DiscardedError{TriggeredFault: *st.TriggeredFault, Why: err.Error(), Err: err}
	}
	return func(during context.Context) {
		defer func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), openWithin)
			defer cancel()
			if err := g.Open(ctx); err != nil {
				c.turn(func() {
					st.outcome = errors.Join(st.outcome, fmt.Errorf("let go what waits since %s: %w", st.When, err))
				})
			}
		}()
		select {
		case <-g.Shut():
			c.inject(ctx, st, c.stage.Now())
		case <-during.Done():
			// The answer that shut the gate may have ended the act before the gate was heard of.
			n, err := g.Passed(ctx)
			switch {
			case err != nil:
			case n >= st.When.N:
				c.inject(ctx, st, c.stage.Now())
			default:
				c.turn(func() { st.tooFew = tooFew(st.When, n) })
			}
		}
	}, nil
}

// meet waits beside a move for each of its gates, until the function that it returns ends that: a move that is over without
// so many messages leaves a gate that never shuts.
func meet(ctx context.Context, gates []func(context.Context)) (end func()) {
	during, done := context.WithCancel(ctx)
	var waiting sync.WaitGroup
	for _, g := range gates {
		waiting.Go(func() { g(during) })
	}
	return func() {
		done()
		waiting.Wait()
	}
}
