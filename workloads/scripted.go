package workloads

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/register"
	"github.com/picklock/picklock/history"
)

// script is a client that gets its steps from the harness. It holds one of two locks at most once, and beside it the other
// one. A reentrant lock it may have entered again since.
type script struct {
	*client
	second  bool          // its latest act asks for the second key
	held    *holding      // what the register hears of
	former  *holding      // what was released since the last acquire
	other   *holding      // of the other key, beside held
	entries []*holding    // of a reentrant lock: those that came after held, the innermost last
	read    string        // the value that the grant read last
	timeout time.Duration // of the Config
	warmed  bool          // see Command.WarmKey
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
	s.former = nil
	s.cfg.KeyNames, s.cfg.Timeout = []string{key}, cmp.Or(timeout, s.timeout)
}

// acts is the table of a scripted client's acts.
var acts = map[string]func(*script, context.Context) (Outcome, error){
	history.Acquire: func(s *script, ctx context.Context) (Outcome, error) { return s.doAcquire(ctx, "") },
	acquireShared:   func(s *script, ctx context.Context) (Outcome, error) { return s.doAcquire(ctx, history.Shared) },
	acquireNested:   (*script).doEnter,
	acquireOther:    (*script).doAcquireOther,
	Downgrade:       (*script).doDowngrade,
	history.Read:    (*script).doRead,
	history.Write:   func(s *script, ctx context.Context) (Outcome, error) { return s.doWrite(ctx, history.Write) },
	history.Add:     func(s *script, ctx context.Context) (Outcome, error) { return s.doWrite(ctx, history.Add) },
	history.Renew:   (*script).doRenew,
	history.Release: (*script).doRelease,
	releaseAgain:    (*script).doReleaseAgain,
	releaseOther:    (*script).doReleaseOther,
	Check:           (*script).doCheck,
	Held:            (*script).doHeld,
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
				done := &Done{ID: cmd.ID, Outcome: Did}
				if err := s.ready(ctx, cmd.WarmKey); err != nil {
					done.Outcome, done.Error = Failed, err.Error()
				}
				c.out.send(Message{Done: done})
				continue
			}
			if cmd.Do == CommandReopen {
				s.end()
				s.former, s.warmed = nil, false
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
	a, err := ParseAct(text)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrNoAct, err)
	}
	s.second = a.Second
	s.endWithProgram()
	if a.Span > 0 {
		switch {
		case a.Do == history.Renew:
			return s.goOnRenewing(ctx, a.Span)
		case a.Cancelled:
			return s.doAcquireCancelled(ctx, a)
		}
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, a.Span)
		defer cancel()
	}
	return acts[a.words()](s, ctx)
}

// back ends the time in which the client ignores reports.
func (s *script) back() {
	if s.away {
		s.away = false
		s.held.looking.Unlock()
	}
}

// grants are all that the client holds.
func (s *script) grants() []*holding {
	var out []*holding
	return append(append(out, s.entries...), s.held)
}

// drop stops following the grant, and the entries after it.
func (s *script) drop() {
	if s.held == nil {
		return
	}
	s.back()
	for _, h := range s.grants() {
		h.unwatch()
	}
	s.held, s.entries = nil, nil
}

// end gives up what is still held. Closing a lock may end its session and the grant, so another
// client may be granted it after that.
func (s *script) end() {
	var all []*holding
	if s.held != nil {
		all = s.grants()
	}
	s.drop()
	if s.other != nil {
		s.other.unwatch()
		all, s.other = append(all, s.other), nil
	}
	for _, h := range all {
		select {
		case <-h.lost: // it is known already
		default:
			h.lose("the client ends while it holds the lock", false)
		}
	}
}

// doDowngrade shares what the client has had alone. If that certainly failed, the client goes on with what it had.
func (s *script) doDowngrade(ctx context.Context) (Outcome, error) {
	switch {
	case s.held == nil:
		return Failed, errNoGrant
	case s.downgrader == nil:
		return Cannot, fmt.Errorf("lock %s cannot be downgraded: it is not of the kind %s, or its library cannot do that", s.info.Name, clients.ReadWrite)
	}
	s.back()
	h, err := s.acquireWith(ctx, s.held.grant.Key, history.Downgrade, func(ctx context.Context, _ string) (clients.Grant, error) {
		return s.downgrader.Downgrade(ctx, s.held.grant)
	})
	out := outcomeOf(err)
	if out == Failed {
		return out, err
	}
	s.drop()
	if s.held = h; err == nil {
		out = Granted
	}
	return out, err
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

// doRelease leaves the innermost entry.
func (s *script) doRelease(ctx context.Context) (Outcome, error) {
	if s.held == nil {
		return Failed, errNoGrant
	}
	s.back()
	h := s.held
	if last := len(s.entries) - 1; last >= 0 {
		h, s.entries = s.entries[last], s.entries[:last]
	} else {
		s.held, s.former = nil, h
	}
	err := h.release(ctx)
	return outcomeOf(err), err
}

// doReleaseAgain releases once more what the client released last.
func (s *script) doReleaseAgain(ctx context.Context) (Outcome, error) {
	if s.former == nil {
		return Failed, errors.New("nothing was released since the last acquire")
	}
	err := s.former.release(ctx)
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
