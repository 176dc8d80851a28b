package clients

import (
	"context"
	"time"
)

// Library is the library whose lock is tested, if clients in its own language use it: each is a
// program that speaks the exec protocol.
type Library struct {
	Language string // as its name is written: "Java"
	Name     string // as the language's registry names it: "org.redisson:redisson"
	Version  string // the one that is used
	// Promises are the pages of its documentation that say what the lock promises, which is what it
	// is judged by.
	Promises []string
	// Cannot are the checks of the exec protocol (picklock lock check) that the library does not pass
	// for its own reason, which is the value.
	Cannot map[string]string
	// At is the same lock in another version of the library.
	At func(version string) (Info, error)
	// Published asks the language's registry for all versions of the library, in no particular order.
	Published func(ctx context.Context) ([]string, error)
	// Build makes the clients' program from the library, if that has not been done on this machine,
	// and calls say with each step. It needs the language's tools and, for what they have not
	// downloaded yet, its registry.
	Build func(ctx context.Context, say func(text string)) error
	// Command starts the program that Build has made, as one command line of a shell. The error says
	// so if there is none.
	Command func() (string, error)
	// Cold is what a client's first acquire may last, in which its language's runtime loads what it needs. A shorter
	// lease is over when the first grant comes.
	Cold time.Duration
	// Slow says that Quicken would make clients start sooner.
	Slow func() bool
	// Quicken makes clients start sooner, if clients of this lock have run on this machine since Build
	// made their program, and calls say if it did something. An error leaves them as slow as they were.
	Quicken func(ctx context.Context, say func(text string)) error
}

// Build makes what clients need to use the lock, if anything (see Library.Build).
func (i Info) Build(ctx context.Context, say func(text string)) error {
	if i.Library == nil {
		return nil
	}
	return i.Library.Build(ctx, say)
}
