package clients

import (
	"context"
	"fmt"
	"strconv"
)

// The kinds of lock besides the mutex (Info.Kind): what a lock of each promises.
const (
	ReadWrite = "rw"        // many share it or one has it exclusively; a Sharer
	Semaphore = "semaphore" // as many clients hold it at once as it has permits; see Info.Permits
	Reentrant = "reentrant" // the holder can acquire it again, and has to release it as often
)

// Sharer is a lock that several can hold at once if all of them ask for that.
type Sharer interface {
	// AcquireShared waits until no client has the lock exclusively, or ctx ends. Errors as for
	// Acquire.
	AcquireShared(ctx context.Context, key string) (Grant, error)
}

// Downgrader is a Sharer whose holder can go on to share what it has exclusively (Info.Downgrades).
type Downgrader interface {
	// Downgrade makes a shared grant of g, which is exclusive and over then. No other client has the lock exclusively
	// in between. If it fails with an error that wraps neither ErrUnknown nor ErrNotHeld, g is what it was.
	Downgrade(ctx context.Context, g Grant) (Grant, error)
}

const defaultPermits = 2

// OptionPermits is the name of the option of all semaphores.
const OptionPermits = "permits"

// PermitsOption is the option of all semaphores.
func PermitsOption() Option {
	return Option{
		Name: OptionPermits, Default: strconv.Itoa(defaultPermits), Shared: true,
		Check: func(text string) error { _, err := parsePermits(text); return err },
		About: "how many clients may hold it at once; with as many as there are clients, none ever waits",
	}
}

func parsePermits(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > maxPermits {
		return 0, fmt.Errorf("want a whole number, 1 to %d", maxPermits)
	}
	return n, nil
}

// Permits is how many clients may hold a semaphore at once; 0 for other kinds.
func (i Info) Permits(extra map[string]string) int {
	if i.Kind != Semaphore {
		return 0
	}
	if i.permits > 0 {
		return i.permits
	}
	return PermitsOf(Options{Extra: extra})
}

// PermitsOf is how many clients may hold a semaphore of these options at once.
func PermitsOf(o Options) int {
	if text, given := o.Extra[OptionPermits]; given {
		if n, err := parsePermits(text); err == nil {
			return n
		}
	}
	return defaultPermits // CheckOptions has refused what cannot be read
}
