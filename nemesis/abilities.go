package nemesis

import "time"

// Awaiter is a fault that knows when it has been on for long enough. It ends then, or after
// the planned duration, whichever is first.
type Awaiter interface {
	Await() <-chan struct{} // nil: it does not know
}

// Lasting is a fault that is on for some time at least, whatever has come of it by then.
type Lasting interface {
	Least() time.Duration
}
