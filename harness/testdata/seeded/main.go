// Seeded is a program with many locks on Redis: each has one bug that people really
// write, and a control without it. It speaks picklock's exec protocol (docs/reference/exec.md):
//
//	picklock run --lock 'exec:seeded check-then-set' --cluster redis
//	picklock run --lock 'exec:seeded check-then-set --right' --cluster redis
//
// A bug is one file: it replaces a step of the lock in lock.go, which is correct. It
// knows nothing of how it is going to be found. Without arguments the program lists
// the bugs.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"time"
)

// bug is one way in which people get a lock wrong.
type bug struct {
	name  string
	about string
	wrong func(*recipe) // plants it
	right func(*recipe) // what the control has in its place; nil for the lock of lock.go
}

var bugs = map[string]bug{}

func plant(b bug) { bugs[b.name] = b }

func main() {
	if len(os.Args) < 2 {
		for _, name := range slices.Sorted(maps.Keys(bugs)) {
			fmt.Printf("%s\t%v\t%s\n", name, bugs[name].right != nil, bugs[name].about)
		}
		return
	}
	b, ok := bugs[os.Args[1]]
	if !ok {
		fmt.Fprintf(os.Stderr, "seeded: no bug %q: run it without arguments for a list\n", os.Args[1])
		os.Exit(2)
	}
	r := correct()
	if change := b.wrong; !slices.Contains(os.Args[2:], "--right") {
		change(&r)
	} else if b.right != nil {
		b.right(&r)
	}
	if err := serve(&lock{recipe: r, held: map[string]*hold{}}); err != nil {
		fmt.Fprintln(os.Stderr, "seeded:", err)
		os.Exit(1)
	}
}

type request struct {
	ID      int64    `json:"id"`
	Op      string   `json:"op"`
	Servers []string `json:"servers"`
	Client  string   `json:"client"`
	TTL     int64    `json:"ttl_ms"`
	Key     string   `json:"key"`
	Mode    string   `json:"mode"`
	Timeout int64    `json:"timeout_ms"`
	Cancel  int64    `json:"cancel_ms"`
}

type answer struct {
	ID       int64  `json:"id,omitempty"`
	OK       *bool  `json:"ok,omitempty"`
	Token    int64  `json:"token,omitempty"`
	Lease    int64  `json:"lease_ms,omitempty"`
	Since    int64  `json:"since_ns,omitempty"`
	Expired  bool   `json:"expired,omitempty"`
	Held     *bool  `json:"held,omitempty"`
	Error    string `json:"error,omitempty"`
	Definite bool   `json:"definite,omitempty"`
	Event    string `json:"event,omitempty"`
	Key      string `json:"key,omitempty"`
	abilities
}

// abilities are what a lock declares when it is opened.
type abilities struct {
	Tokens   bool   `json:"tokens,omitempty"`
	Leased   *bool  `json:"lease,omitempty"`
	Kind     string `json:"kind,omitempty"`
	Permits  int    `json:"permits,omitempty"`
	Renews   bool   `json:"renew,omitempty"`
	Watchdog bool   `json:"watchdog,omitempty"`
	Confirms bool   `json:"confirms,omitempty"`
	Holds    bool   `json:"holds,omitempty"`

	Downgrades bool `json:"downgrades,omitempty"`
	Cancels    bool `json:"cancels,omitempty"`
	Several    bool `json:"several,omitempty"`
	OwnLeases  bool `json:"own_leases,omitempty"`
}

var writing sync.Mutex // of answers and events

func write(a answer) {
	writing.Lock()
	defer writing.Unlock()
	line, err := json.Marshal(a)
	if err == nil {
		_, err = os.Stdout.Write(append(line, '\n'))
	}
	if err != nil {
		os.Exit(1) // nobody listens any more
	}
}

func serve(l *lock) error {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var r request
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return err
		}
		if r.Op == "close" {
			return nil
		}
		a, err := l.handle(r)
		ok := err == nil
		if a.ID, a.OK = r.ID, &ok; !ok {
			a = answer{ID: r.ID, OK: &ok, Error: err.Error(), Definite: definite(err)}
		}
		write(a)
	}
	return lines.Err()
}

func (l *lock) handle(r request) (answer, error) {
	switch r.Op {
	case "open":
		l.client, l.ttl = r.Client, time.Duration(r.TTL)*time.Millisecond
		l.db, l.aside = newRedis(r.Servers[0], l.ttl/3), newRedis(r.Servers[0], l.ttl/3)
		l.db.keep = l.keepConnection
		if l.opened != nil {
			l.opened(l)
		}
		return answer{abilities: l.abilities}, nil
	case "acquire":
		wait := time.Minute
		if r.Timeout > 0 {
			wait = time.Duration(r.Timeout) * time.Millisecond
		}
		l.key, l.shared, l.cancelAfter = r.Key, r.Mode == "shared", time.Duration(r.Cancel)*time.Millisecond
		h, err := l.get(r.Key, time.Now().Add(wait))
		if err != nil {
			return answer{}, err
		}
		if l.Kind == reentrant {
			h.outer = l.held[r.Key]
		}
		l.held[r.Key] = h
		if l.granted != nil {
			l.granted(l, h)
		}
		return answer{Token: h.token, Lease: h.lease.Milliseconds(), Since: h.since, Expired: h.expired}, nil
	case "renew":
		h := l.held[r.Key]
		if h == nil {
			return answer{}, errNotHeld
		}
		since := now()
		if err := l.renew(l, l.db, h); err != nil {
			return answer{}, err
		}
		return answer{Lease: l.ttl.Milliseconds(), Since: since}, nil
	case "holds":
		h := l.held[r.Key]
		held, err := false, error(nil)
		if h != nil {
			held, err = l.holds(l, h)
		}
		return answer{Held: &held}, err
	case "downgrade":
		h := l.held[r.Key]
		if h == nil {
			return answer{}, errNotHeld
		}
		h, err := l.downgrade(l, h)
		if err != nil {
			return answer{}, err
		}
		l.held[r.Key], l.shared = h, true
		return answer{Lease: h.lease.Milliseconds(), Since: h.since}, nil
	case "release":
		h := l.held[r.Key]
		if h == nil && l.releasesAgain && l.former != nil && l.former.key == r.Key {
			return answer{}, l.free(l, l.former)
		}
		if h == nil {
			return answer{}, errNotHeld
		}
		l.held[r.Key], l.former = h.outer, h
		if l.released != nil {
			l.released(l, h)
		}
		return answer{}, l.free(l, h)
	}
	return answer{}, fmt.Errorf("unknown op %q", r.Op)
}

// The outcomes that are certain; all others are unknown.
var (
	errNotHeld   = errors.New("not held")
	errTaken     = errors.New("held by another")
	errTimeout   = errors.New("timeout")
	errCancelled = errors.New("cancelled")
	errNotSent   = errors.New("not sent")
)

func definite(err error) bool {
	return errors.Is(err, errNotHeld) || errors.Is(err, errTaken) || errors.Is(err, errTimeout) || errors.Is(err, errCancelled) || errors.Is(err, errNotSent)
}
