package register

import (
	"context"
	"fmt"

	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/internal/suggest"
)

// Resource is one client's access to the protected resource.
type Resource interface {
	// Do sends one request, once. Errors: ErrRefused, by the fencing mode; ErrUnknown,
	// it may have been carried out or may yet be; any other, it certainly was not.
	Do(ctx context.Context, r Request) (Reply, error)
	Close() error
}

// Admin is the harness's own access to a resource that is not picklock's own server.
type Admin interface {
	// Log returns all effects, in the one order in which the resource carried them
	// out. Clients have stopped sending requests.
	Log(ctx context.Context) ([]history.Effect, error)
	Close() error
}

// Backend is what the protected resource can be made of.
type Backend struct {
	Name, About string
	// Cluster is the Compose file of its one server; "" for picklock's own.
	Cluster string
	// Open makes a client's access to it. It sends nothing before the first request.
	Open func(addr string, m FencingMode) Resource
	// OpenAdmin makes the resource ready, with these keys, before its first use; start is
	// the run's, as in Store. nil for picklock's own server, which writes its log itself.
	OpenAdmin func(ctx context.Context, addr string, m FencingMode, keys []string, start int64) (Admin, error)
}

// Builtin is the backend that is picklock's own server: Serve.
const Builtin = "builtin"

// OwnServer is the backend of that name.
func OwnServer() Backend {
	return Backend{
		Name: Builtin, About: "a small server of picklock's own, which logs each effect before it answers",
		Open: func(addr string, _ FencingMode) Resource { return New(addr) },
	}
}

// Backends is a table of what a resource can be made of (all.Backends has everything).
type Backends []Backend

// Lookup finds a backend by the name given to --register.
func (bs Backends) Lookup(name string) (Backend, error) {
	names := make([]string, len(bs))
	for i, b := range bs {
		if b.Name == name {
			return b, nil
		}
		names[i] = b.Name
	}
	return Backend{}, suggest.Unknown("register", name, names)
}

// Takes returns why a backend cannot enforce a fencing mode; nil if it can.
func (b Backend) Takes(m FencingMode) error {
	if b.OpenAdmin != nil && m.asks {
		return fmt.Errorf("register %s compares tokens and cannot ask the lock service: --fencing %s needs --register %s", b.Name, m, Builtin)
	}
	return nil
}

// Bar is the token comparison of a request in a resource without code of picklock: the highest
// token so far must be below this. Unbarred: no limit.
func (m FencingMode) Bar(write bool, token int64) int64 {
	switch {
	case !m.fenced, !write && !m.fenceRead:
		return Unbarred
	case write && m.strict:
		return token
	}
	return token + 1
}

// Unbarred is the bar of a request that is accepted whatever the highest token.
const Unbarred = 1<<53 - 1 // the largest whole number that Lua, too, can hold

// Refused is the error of a request that the mode refused at this highest token.
func (m FencingMode) Refused(r Request, highest int64) error {
	return refusal(m.refuse(r.F != history.Read, r.Token, highest))
}

// Ready checks a request before it is sent.
func (m FencingMode) Ready(r Request) error {
	switch {
	case r.Unlocked != (Unlocked{}):
		return fmt.Errorf("%w: this register knows no conditions and no idempotency keys", errBadRequest)
	case r.Token >= Unbarred:
		return fmt.Errorf("%w: token %d is too large", errBadRequest, r.Token)
	case m.fenced && r.Token <= 0:
		return refusal(m.refuse(r.F != history.Read, 0, 0))
	}
	return nil
}
