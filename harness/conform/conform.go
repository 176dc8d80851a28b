// Package conform tries a program against the exec protocol (docs/reference/exec.md) and says in
// plain words what is missing or wrong in it. It starts the program as a client does and
// asks it as a client would, but reads on where a client gives up: so that each mistake is
// named by itself. It knows the protocol and processes, and no service. Whether the lock
// excludes other clients is not asked here: that is what runs are for.
package conform

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/picklock/picklock/clients"
)

// Config is what is tried, and where.
type Config struct {
	Command   string            `json:"command"`
	Servers   []string          `json:"servers,omitempty"`   // for open
	Directory string            `json:"directory,omitempty"` // for open
	Mark      string            `json:"mark,omitempty"`      // is to be in keys; "" for nothing
	TTL       time.Duration     `json:"ttl"`                 // the lease that is asked for
	Extra     map[string]string `json:"extra,omitempty"`     // the lock's own options
	Abilities map[string]string `json:"abilities,omitempty"` // over what the program declares
}

// Outcome is what came of a check.
type Outcome string

// OK: nothing was wrong. Wrong: see Problems. NotTried: see Why.
const (
	OK       Outcome = "ok"
	Wrong    Outcome = "wrong"
	NotTried Outcome = "not tried"
)

// Result is what one check found.
type Result struct {
	Check    string    `json:"check"`
	About    string    `json:"about"` // what is asked of a program
	Outcome  Outcome   `json:"outcome"`
	Why      string    `json:"why,omitempty"` // it was not tried
	Problems []Problem `json:"problems,omitempty"`
}

// Problem is something wrong with the program.
type Problem struct {
	What string `json:"what"`
	Fix  string `json:"fix"`
}

func (p Problem) Error() string { return p.What }

// asProblem returns the problem that err is, if it is one.
func asProblem(err error) (p Problem, ok bool) {
	ok = errors.As(err, &p)
	return p, ok
}

// skip is why a check cannot be tried.
type skip string

func (s skip) Error() string { return string(s) }

// partly is what is in order, if not all that a check asks could be tried, and why not.
type partly string

func (p partly) Error() string { return string(p) }

// Run makes all checks, one after the other, and passes on what each found. The error is
// that of ctx, or of this machine. No process of the program's is left when it returns.
func Run(ctx context.Context, cfg Config, found func(Result)) error {
	return run(ctx, cfg, checks, found)
}

func run(ctx context.Context, cfg Config, checks []check, found func(Result)) error {
	b := &bench{Config: cfg, run: strconv.FormatInt(time.Now().UnixNano(), 36), came: map[string]Outcome{}, seen: map[string][]Problem{}}
	for _, c := range checks {
		r := Result{Check: c.name, About: c.about, Outcome: OK}
		if err := b.try(ctx, c, &r); err != nil {
			return err
		}
		b.came[c.name] = r.Outcome
		found(r)
	}
	return nil
}

// bench is what the checks of one run share.
type bench struct {
	Config
	run       string // a word that no other run has: keys are of their own
	abilities clients.Abilities
	opened    []byte             // what the program answered to open
	came      map[string]Outcome // of the checks before

	mu sync.Mutex
	// seen is what was noticed beside what was tried, by the check that tells it.
	seen map[string][]Problem
}

// try makes one check.
func (b *bench) try(ctx context.Context, c check, r *Result) error {
	var err error
	for _, needed := range c.needs {
		switch {
		case err != nil:
		case b.came[needed] == Wrong:
			err = skip(needed + " has to be right first")
		case b.came[needed] == NotTried:
			err = skip(needed + " was not tried either")
		}
	}
	if err == nil && c.try != nil {
		t := &checkRun{bench: b, check: c.name}
		err = c.try(ctx, t)
		t.end()
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	for _, p := range b.seen[c.name] { // nobody writes to it any more: all programs have ended
		r.Outcome, r.Problems = Wrong, append(r.Problems, p)
	}
	var why skip
	var part partly
	switch p, wrong := asProblem(err); {
	case wrong:
		r.Outcome, r.Problems = Wrong, append(r.Problems, p)
	case errors.As(err, &part):
		r.About = string(part)
	case errors.As(err, &why) && r.Outcome == OK:
		r.Outcome, r.Why = NotTried, string(why)
	case err != nil && why == "":
		return fmt.Errorf("try %s: %w", c.name, err)
	}
	return nil
}

// note keeps something that is wrong for the check that tells it, each only once: a
// program says the same thing wrong again and again.
func (b *bench) note(check string, p Problem) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, known := range b.seen[check] {
		if known.Fix == p.Fix {
			return
		}
	}
	b.seen[check] = append(b.seen[check], p)
}
