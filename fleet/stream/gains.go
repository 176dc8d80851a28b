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

// Gains is the corpus that all workers of a hunt share. It implements hunt.CorpusSync.
type Gains struct {
	c       *Campaign
	subject string
	worker  string
	cons    jetstream.ConsumeContext

	mu    sync.Mutex
	taken []hunt.Gain
}

// sent is a gain and its worker, so that no worker takes back its own.
type sent struct {
	Worker string    `json:"worker"`
	Gain   hunt.Gain `json:"gain"`
}

// mostTaken bounds the gains that wait for the search to take them.
const mostTaken = 10000

// Gains reads the gains of a job, those so far and each new one, until it is closed.
func (c *Campaign) Gains(ctx context.Context, job int, worker string) (*Gains, error) {
	g := &Gains{c: c, subject: gainSubject + c.ID + "." + strconv.Itoa(job), worker: worker}
	err := retry(ctx, func(ctx context.Context) error {
		cons, err := c.q.js.OrderedConsumer(ctx, gainStream, jetstream.OrderedConsumerConfig{FilterSubjects: []string{g.subject}})
		if err == nil {
			g.cons, err = cons.Consume(g.take)
		}
		if err != nil {
			return fmt.Errorf("read the shared findings: %w", err)
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
		return // another version's, or its own
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.taken) < mostTaken {
		g.taken = append(g.taken, s.Gain)
	}
}

// Publish implements hunt.CorpusSync. It does not wait for the queue.
func (g *Gains) Publish(gain hunt.Gain) {
	b, err := json.Marshal(sent{g.worker, gain})
	if err == nil {
		err = g.c.q.nc.Publish(g.subject, b)
	}
	_ = err // the other workers search without it
}

// Take implements hunt.CorpusSync.
func (g *Gains) Take() []hunt.Gain {
	g.mu.Lock()
	defer g.mu.Unlock()
	out := g.taken
	g.taken = nil
	return out
}

// Close ends the reading.
func (g *Gains) Close() {
	g.cons.Stop()
	<-g.cons.Closed()
}
