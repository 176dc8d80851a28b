package workloads

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/register"
	"github.com/picklock/picklock/history"
)

// script is a client that gets its steps from the harness: it holds at most one grant, on the
// first key.
type script struct {
	*client
	held    *holding
	read    string        // the value that the grant read last
	timeout time.Duration // of the Config
	// away: the client has checked its lease and goes on to its write. It sees what the library
	// reports in between only afterwards.
	away bool

	mu        sync.Mutex
	cancelAct context.CancelFunc // ends the act that is under way; nil for none
}

// cancelable is the context of one act.
func (s *script) cancelable(ctx context.Context) context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cancelAct != nil {
		s.cancelAct()
	}
	ctx, s.cancelAct = context.WithCancel(ctx)
	return ctx
}

func (s *script) cancel() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cancelAct != nil {
		s.cancelAct()
	}
}

// rekey leaves the key for another, with which the client is as patient as timeout says.
func (s *script) rekey(key string, timeout time.Duration) {
	s.end()
	s.cfg.KeyNames, s.cfg.Timeout = []string{key}, cmp.Or(timeout, s.timeout)
}

// acts is the table of a scripted client's acts.
var acts = map[string]func(*script, context.Context) (Outcome, error){
	history.Acquire: (*script).doAcquire,
	history.Read:    (*script).doRead,
	history.Write:   func(s *script, ctx context.Context) (Outcome, error) { return s.doWrite(ctx, history.Write) },
	history.Add:     func(s *script, ctx context.Context) (Outcome, error) { return s.doWrite(ctx, history.Add) },
	history.Renew:   (*script).doRenew,
	history.Release: (*script).doRelease,
	Check:           (*script).doCheck,
	Held:            (*script).doHeld,
}

// Check is the act of a client that checks whether its lease has time left. Every
// other act is named after the operation that it does.
const Check = "check"

// Held is the act of a client that asks its library whether it holds the lock.
const Held = "held?"

// ErrNoAct: a scripted client can do no such thing.
var ErrNoAct = errors.New("no such act")

// ParseAct reads an act: its name, and for an acquire how long it may wait, as in "acquire within
// 500ms", for a renew for how long the client goes on renewing, as in "renew for 5s"; 0 for no such time.
func ParseAct(text string) (name string, span time.Duration, err error) {
	name, limit, spans := strings.Cut(text, " within ")
	want := history.Acquire
	if !spans {
		name, limit, spans = strings.Cut(text, " for ")
		want = history.Renew
	}
	if acts[name] == nil {
		return "", 0, fmt.Errorf("%w: %q", ErrNoAct, text)
	}
	if !spans {
		return name, 0, nil
	}
	if span, err = time.ParseDuration(limit); err != nil || span <= 0 {
		return "", 0, fmt.Errorf("%q is no length of time", limit)
	}
	if name != want {
		return "", 0, fmt.Errorf("only an acquire can be given a limit, as in acquire within 500ms, and only a renew a time, as in renew for 5s, not %q", name)
	}
	return name, span, nil
}

// SpanWord stands between an act and its time: "acquire within 500ms", "renew for 5s".
func SpanWord(act string) string {
	if act == history.Renew {
		return " for "
	}
	return " within "
}

// Acts lists what a scripted client can do, in the order of a critical section.
func Acts() []string {
	return []string{history.Acquire, history.Read, Check, history.Write, history.Add, history.Renew, Held, history.Release}
}

// scripted does one act after the other, each answered by its events and a Done.
// The end of input ends an act that waits.
func (c *client) scripted(ctx context.Context, first Command, lines *bufio.Reader) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	commands, broken := make(chan Command, 16), make(chan error, 1)
	if first.Do != CommandCancel { // nothing is under way yet
		commands <- first
	}
	s := &script{client: c, timeout: c.cfg.Timeout}
	go func() {
		// The harness closes the input to stop the worker; reading ends with the process.
		defer stop()
		dec := json.NewDecoder(lines)
		for {
			var cmd Command
			if err := dec.Decode(&cmd); err != nil {
				broken <- err
				return
			}
			if cmd.Do == CommandCancel {
				s.cancel()
				continue
			}
			commands <- cmd
		}
	}()
	defer s.end()
	for {
		select {
		case cmd := <-commands:
			if cmd.Do == CommandKey {
				s.rekey(cmd.Key, cmd.Timeout)
				c.out.send(Message{Done: &Done{ID: cmd.ID, Outcome: Did}})
				continue
			}
			if cmd.Do == CommandReopen {
				s.end()
				done := &Done{ID: cmd.ID, Outcome: Did}
				if err := c.reopen(ctx); err != nil {
					done.Outcome, done.Error = Failed, err.Error()
				}
				c.out.send(Message{Done: done})
				continue
			}
			outcome, err := s.do(s.cancelable(ctx), cmd.Do)
			if errors.Is(err, ErrNoAct) {
				return err
			}
			done := &Done{ID: cmd.ID, Outcome: outcome}
			if err != nil {
				done.Error = err.Error()
			}
			c.out.send(Message{Done: done})
			if err := c.out.failed(); err != nil {
				return err
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// do does one act.
func (s *script) do(ctx context.Context, text string) (Outcome, error) {
	name, span, err := ParseAct(text)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrNoAct, err)
	}
	if span > 0 {
		if name == history.Renew {
			return s.goOnRenewing(ctx, span)
		}
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, span)
		defer cancel()
	}
	return acts[name](s, ctx)
}

// back ends the time in which the client ignores reports.
func (s *script) back() {
	if s.away {
		s.away = false
		s.held.looking.Unlock()
	}
}

// drop stops following the grant.
func (s *script) drop() {
	if s.held != nil {
		s.back()
		s.held.stop()
		s.held.watching.Wait()
		s.held = nil
	}
}

// end gives up what is still held. Closing a lock may end its session and the grant, so another
// client may be granted it after that.
func (s *script) end() {
	h := s.held
	s.drop()
	if h == nil {
		return
	}
	select {
	case <-h.lost: // it is known already
	default:
		h.lose("the client ends while it holds the lock", false)
	}
}

func (s *script) doAcquire(ctx context.Context) (Outcome, error) {
	s.drop()
	h, err := s.acquire(ctx, s.cfg.KeyNames[0])
	if err != nil {
		return outcomeOf(err), err
	}
	s.held, s.read = h, ""
	return Granted, nil
}

var errNoGrant = errors.New("nothing is held")

func (s *script) doRead(ctx context.Context) (Outcome, error) {
	if s.held == nil {
		return Failed, errNoGrant
	}
	value, err := s.held.read(ctx)
	if err == nil {
		s.read = value
	}
	return outcomeOf(err), err
}

func (s *script) doWrite(ctx context.Context, f string) (Outcome, error) {
	if s.held == nil {
		return Failed, errNoGrant
	}
	// A client that stops while its write is under way must not undo the write.
	err := s.held.write(context.WithoutCancel(ctx), f, s.read)
	s.back()
	return outcomeOf(err), err
}

func (s *script) doRenew(ctx context.Context) (Outcome, error) {
	switch {
	case s.held == nil:
		return Failed, errNoGrant
	case s.renewer == nil:
		return Cannot, fmt.Errorf("lock %s has no lease that its user renews", s.info.Name)
	}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	err := s.held.renewOnce(ctx)
	return outcomeOf(err), err
}

// goOnRenewing renews every fifth of the lease until the time is over, or the lock says that the grant is
// lost. What else comes of one renewal does not keep the client from the next.
func (s *script) goOnRenewing(ctx context.Context, span time.Duration) (Outcome, error) {
	over := time.NewTimer(span)
	defer over.Stop()
	tick := time.NewTicker(s.cfg.TTL / 5)
	defer tick.Stop()
	for {
		out, err := s.doRenew(ctx)
		if out == Cannot || out == NotHeld || s.held == nil {
			return out, err
		}
		select {
		case <-tick.C:
		case <-over.C:
			return out, err
		case <-s.held.lost:
			return Expired, errors.New("the client library reports the loss")
		case <-ctx.Done():
			return out, err
		}
	}
}

func (s *script) doHeld(ctx context.Context) (Outcome, error) {
	switch {
	case s.held == nil:
		return Failed, errNoGrant
	case s.holder == nil:
		return Cannot, fmt.Errorf("lock %s cannot be asked whether it is held", s.info.Name)
	}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	err := s.held.holds(ctx)
	return outcomeOf(err), err
}

func (s *script) doRelease(ctx context.Context) (Outcome, error) {
	if s.held == nil {
		return Failed, errNoGrant
	}
	s.back()
	h := s.held
	s.held = nil
	err := h.release(ctx)
	return outcomeOf(err), err
}

func (s *script) doCheck(context.Context) (Outcome, error) {
	switch {
	case s.held == nil:
		return Failed, errNoGrant
	case s.held.expired():
		return Expired, nil
	}
	select {
	case <-s.held.lost:
		return Expired, errors.New("the client library reports the loss")
	default:
	}
	s.back()
	s.held.looking.Lock()
	s.away = true
	return Did, nil
}

// outcomeOf maps an act's error to its outcome.
func outcomeOf(err error) Outcome {
	switch {
	case err == nil:
		return Did
	case errors.Is(err, register.ErrRefused):
		return Refused
	case errors.Is(err, clients.ErrNotHeld):
		return NotHeld
	case outcome(err) == history.Info:
		return Open
	}
	return Failed
}
