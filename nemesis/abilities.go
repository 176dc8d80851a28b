package nemesis

// Awaiter is a fault that knows when it has been on for long enough. It ends then, or after
// the planned duration, whichever is first.
type Awaiter interface {
	Await() <-chan struct{} // nil: it does not know
}
