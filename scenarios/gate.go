package scenarios

import (
	"context"
	"time"
)

// GateRequest asks for a gate on what a client sends in its next act, or is answered.
type GateRequest struct {
	Client   string
	To       []string // the others; none: servers and the register
	Answered bool     // count the answers
	N        int      // after how many messages the gate shuts
}

// Gate lets so many messages pass, and then nothing more between the client and the
// others, in neither direction, until it is opened: a fault that begins when it has shut
// begins before any node has heard of the last message. A message is what one packet
// brings, as with a hold; what TCP sends again counts once.
type Gate interface {
	// Shut is closed when the last of the messages has passed and nothing more does.
	Shut() <-chan struct{}
	// Passed counts the messages that have passed so far.
	Passed(ctx context.Context) (int, error)
	// Open lets go what has waited since, and ends the count.
	Open(ctx context.Context) error
}

// openWithin bounds the opening of a gate.
const openWithin = 10 * time.Second
