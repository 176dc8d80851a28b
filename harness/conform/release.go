package conform

import (
	"context"
	"fmt"
	"time"

	"github.com/picklock/picklock/clients"
)

// mostRounds is how often what was released is asked for again at most.
const mostRounds = 5

func releases(ctx context.Context, t *checkRun) error {
	p, err := t.opened(ctx, "c1")
	if err != nil {
		return err
	}
	rounds := 2 // what was released can be had again
	if t.abilities.Kind == clients.Semaphore {
		rounds = min(mostRounds, t.abilities.Permits+1) // each permit may have stayed taken
	}
	first := time.Now()
	for i := range rounds {
		began := time.Now()
		a, err := p.granted(ctx, t.key("k"))
		if err != nil {
			return err
		}
		took, lease := time.Since(began), time.Duration(a.Lease)*time.Millisecond
		if i > 0 && lease > 0 && !t.abilities.Lingers && took > lease/2 && time.Since(first) >= lease { // and not that this machine was slow
			return Problem{fmt.Sprintf("it released what it held, and was granted it again after %v, of a lease of %v: the release freed nothing, or not all", took.Round(time.Millisecond), lease),
				"release by the key and the owner's value that the acquire wrote, and look at what the service answers"}
		}
		if a, err = p.released(ctx, t.key("k")); err != nil {
			return err
		}
		if !a.ok() {
			return Problem{"it could not release what it had just been granted: " + quote(a.line), "keep what the release needs from the acquire, by its key"}
		}
	}
	return nil
}
