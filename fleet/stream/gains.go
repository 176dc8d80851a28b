package stream

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/picklock/picklock/hunt"
)

// Gains is the corpus that all workers of a job's hunt have together. It implements
// hunt.Shared.
type Gains struct {
	c       *Campaign
	subject string
	worker  string
	cons    jetstream.ConsumeContext

	mu    sync.Mutex
	taken []hunt.Gain
}

// sent is a gain on its way: whose it is, so that nobody takes its own back.
type sent struct {
	Worker string    `json:"worker"`
	Gain   hunt.Gain `json:"gain"`
}

// mostTaken is how many gains wait at most for a search that does not ask for them.
const mostTaken = 10000

// Gains reads what was gained so far and what is gained from now on, until it is closed.
func (c *Campaign) Gains(ctx context.Context, job int, worker string) (*Gains, error) {
	g := &Gains{c: c, subject: gainSubject + c.ID + "." + strconv.Itoa(job), worker: worker}
	err := patiently(ctx, func(ctx context.Context) error {
		cons, err := c.q.js.OrderedConsumer(ctx, gainStream, jetstream.OrderedConsumerConfig{FilterSubjects: []string{g.subject}})
		if err == nil {
			g.cons, err = cons.Consume(g.take)
		}
		if err != nil {
			return fmt.Errorf("read what was gained: %w", err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return g, nil
}

func (g *Gains) take(m jetstream.Msg) {
	var s sent
	if json.Unmarshal(m.Data(), &s) != nil || s.Worker == g.worker {
		return // of another version, or our own
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.taken) < mostTaken {
		g.taken = append(g.taken, s.Gain)
	}
}

// Offer implements hunt.Shared: it does not wait for the queue.
func (g *Gains) Offer(gain hunt.Gain) {
	b, err := json.Marshal(sent{g.worker, gain})
	if err == nil {
		err = g.c.q.nc.Publish(g.subject, b)
	}
	_ = err // the others search without it
}

// Take implements hunt.Shared.
func (g *Gains) Take() []hunt.Gain {
	g.mu.Lock()
	defer g.mu.Unlock()
	out := g.taken
	g.taken = nil
	return out
}

// Close ends it.
func (g *Gains) Close() {
	g.cons.Stop()
	<-g.cons.Closed()
}
