package stream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
)

// dismissSubject carries a server's last message to its clients.
const dismissSubject = "picklock.dismiss"

// ErrDismissed says that the server ended on purpose, with the campaign that it served.
var ErrDismissed = errors.New("the campaign has ended, and its queue with it")

// Dismiss informs all clients that this server ends and does not come back. Without that message a
// client cannot distinguish the end of the queue from a restart.
func (s *Server) Dismiss(ctx context.Context) error {
	opts := []nats.Option{nats.InProcessServer(s.s)}
	if s.token != "" {
		opts = append(opts, nats.Token(s.token))
	}
	nc, err := nats.Connect("", opts...)
	if err != nil {
		return fmt.Errorf("dismiss the workers: %w", err)
	}
	defer nc.Close()
	if err = nc.Publish(dismissSubject, nil); err == nil {
		asked, cancel := context.WithTimeout(ctx, askWithin)
		defer cancel()
		err = nc.FlushWithContext(asked) // the server writes the message to its clients before it ends
	}
	if err != nil {
		return fmt.Errorf("dismiss the workers: %w", err)
	}
	return nil
}

// heedDismissal closes dismissed when the server says that it ends.
func (q *Queue) heedDismissal() error {
	var err error
	q.dismissal, err = q.nc.Subscribe(dismissSubject, func(*nats.Msg) { q.onceDismissed.Do(func() { close(q.dismissed) }) })
	return err
}

// isDismissed says that the server has ended on purpose.
func (q *Queue) isDismissed() bool {
	select {
	case <-q.dismissed:
		return true
	default:
		return false
	}
}

// While is a context that ends with ctx, or if the server dismisses its clients (its cause is
// ErrDismissed), or if the queue is lost for longer than wait (its cause is ErrUnreachable). stop
// releases its resources.
func (q *Queue) While(ctx context.Context, wait time.Duration) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	changes := q.nc.StatusChanged(nats.RECONNECTING, nats.CONNECTED)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer q.nc.RemoveStatusListener(changes)
		timer := time.NewTimer(wait)
		defer timer.Stop()
		if q.nc.IsConnected() {
			timer.Stop()
		}
		for {
			select {
			case <-ctx.Done():
				return
			case <-q.dismissed:
				cancel(ErrDismissed)
				return
			case status := <-changes:
				if timer.Stop(); status != nats.CONNECTED {
					timer.Reset(wait)
				}
			case <-timer.C:
				cancel(fmt.Errorf("%w: it has been gone for %v", ErrUnreachable, wait))
				return
			}
		}
	}()
	return ctx, func() { cancel(nil); <-done }
}
