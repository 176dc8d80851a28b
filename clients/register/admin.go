package register

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/picklock/picklock/history"
)

// RecordLog makes a resource ready, calls ready, and waits until stop is closed; then it
// writes the log of effects, one a line, as Serve writes it.
func RecordLog(ctx context.Context, b Backend, addr string, m FencingMode, keys []string, start int64, ready func(), stop <-chan struct{}, log io.Writer) (err error) {
	k, err := b.OpenAdmin(ctx, addr, m, keys, start)
	if err != nil {
		return fmt.Errorf("make the register %s ready: %w", b.Name, err)
	}
	defer func() { err = errors.Join(err, k.Close()) }()
	ready()
	select {
	case <-stop:
	case <-ctx.Done():
		return ctx.Err()
	}
	effects, err := k.Log(ctx)
	if err != nil {
		return fmt.Errorf("read the log of the register %s: %w", b.Name, err)
	}
	for _, e := range effects {
		line, err := json.Marshal(e)
		if err == nil {
			_, err = log.Write(append(line, '\n'))
		}
		if err != nil {
			return fmt.Errorf("write the log of effects: %w", err)
		}
	}
	return nil
}

// Effect fills in why a request was refused.
func (m FencingMode) Effect(e history.Effect, refused bool) history.Effect {
	if refused {
		e.Error = m.refuse(e.F != history.Read, e.Token, e.Highest)
	}
	return e
}

// ClockOffset measures what to add to a server's clock to have the run's time, to
// within half of the quickest of some round trips. ask returns the server's clock in
// ns. Both are clocks of one machine.
func ClockOffset(start int64, ask func() (int64, error)) (int64, error) {
	best, offset := int64(-1), int64(0)
	for range 5 {
		sent := history.Now()
		theirs, err := ask()
		if err != nil {
			return 0, fmt.Errorf("read its clock: %w", err)
		}
		took := history.Now() - sent
		if best < 0 || took < best {
			best, offset = took, sent+took/2-start-theirs
		}
	}
	return offset, nil
}
