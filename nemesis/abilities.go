package nemesis

// Awaiter is a fault that knows when it has done its harm: it ends then, and by
// the planned duration only if that never comes.
type Awaiter interface {
	Await() <-chan struct{} // nil: it does not know
}
