package checker

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/picklock/picklock/history"
)

// Stream draws a verdict from a history that arrives event by event, and keeps of
// each event only what the anomalies need: about a tenth of it. Check does the
// same on a history that is in memory already. Not safe for concurrent use.
type Stream struct {
	opt        Options
	r          *reader
	wide       *reader // the same for what holds within Options.Skew; nil where that is 0
	duplicates history.Duplicates
}

// ErrOrder says that an event came after one that stands later in the history.
var ErrOrder = errors.New("the events are not ordered by time")

// maxEvents is how many events refs can number.
const maxEvents = math.MaxInt32

// newStream starts with an empty history.
func newStream(opt Options) *Stream {
	s := &Stream{opt: opt, r: newReader()}
	if opt.Skew > 0 {
		s.wide = newReader()
	}
	return s
}

// Observe takes the next event; ErrOrder if it comes out of order.
func (s *Stream) Observe(e *history.Event) error {
	if err := s.inPlace(e); err != nil {
		return err
	}
	if s.r.seen == maxEvents {
		return fmt.Errorf("more than %d events: cut the history into parts", maxEvents)
	}
	if err := s.duplicates.Check(e); err != nil {
		return err
	}
	s.r.readEvent(e)
	if s.wide != nil {
		s.wide.readEvent(e)
	}
	return nil
}

// inPlace says whether an event comes after the latest one that was observed.
func (s *Stream) inPlace(e *history.Event) error {
	p := position{e.Time, e.Index}
	if s.r.seen > 0 && p.before(s.r.order) {
		return fmt.Errorf("%w: time %d (index %d) after %d (%d)", ErrOrder, e.Time, e.Index, s.r.order.time, s.r.order.index)
	}
	return nil
}

// ObserveEffect takes the next line of the register's log, after all events.
func (s *Stream) ObserveEffect(e *history.Effect) {
	s.r.addEffect(e)
	if s.wide != nil {
		s.wide.addEffect(e)
	}
}

// Verdict judges what has been observed. It can be asked for once. When ctx ends,
// the properties that are not decided by then are unknown.
func (s *Stream) Verdict(ctx context.Context) Verdict {
	if s.wide != nil {
		in := Input{Options: s.opt}
		return verdictWithin(ctx, s.r.analysis(ctx, s.opt), s.wide.analysis(ctx, in.widened().Options))
	}
	return s.r.analysis(ctx, s.opt).verdict(ctx)
}

// CheckFiles draws the verdict from a history file and, unless its name is empty,
// a register's log, in memory that grows with them. A history that is not
// in order is read again and sorted in memory first; one that contradicts itself is
// refused, with file and line. When ctx ends before all is read, nothing is known, and
// ctx's error says so. progress, if it is not nil, is called now and then with how many events
// have been read.
func CheckFiles(ctx context.Context, events, effects string, opt Options, progress func(events int)) (Verdict, error) {
	return CheckSource(ctx, history.Source{Path: events}, effects, opt, progress)
}

// CheckSource is CheckFiles on any source of events.
func CheckSource(ctx context.Context, events history.Source, effects string, opt Options, progress func(events int)) (Verdict, error) {
	s := newStream(opt)
	err := s.inOrder(ctx, events, progress)
	if errors.Is(err, ErrOrder) {
		s = newStream(opt)
		err = s.sorted(ctx, events, progress)
	}
	if err != nil {
		return Verdict{}, err
	}
	if effects != "" {
		err := history.StreamEffectsFile(effects, func(e *history.Effect) error {
			if e.Seq&(1<<12-1) == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			s.ObserveEffect(e)
			return nil
		})
		if err != nil {
			return Verdict{}, err
		}
	}
	return s.Verdict(ctx), nil
}

// inOrder reads a history that is in order; ErrOrder if it is not. Of one that is not,
// nobody can say yet whether it is sound.
func (s *Stream) inOrder(ctx context.Context, events history.Source, progress func(events int)) error {
	var valid history.Validator
	var unsound error
	n := 0
	err := events.Lines(func(e *history.Event, line int) error {
		if n&(1<<12-1) == 0 {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if progress != nil {
				progress(n)
			}
		}
		n++
		if unsound != nil {
			return s.inPlace(e)
		}
		if err := s.Observe(e); err != nil {
			return err
		}
		if err := valid.Check(e); err != nil {
			unsound = &history.LineError{File: events.String(), Line: line, Err: events.Unsound(err)}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return unsound
}

// sorted reads a history that is not in order.
func (s *Stream) sorted(ctx context.Context, events history.Source, progress func(events int)) error {
	var valid history.Validator
	n := 0
	return events.InOrder(func(e *history.Event, _ int) error {
		if n&(1<<12-1) == 0 {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if progress != nil {
				progress(n)
			}
		}
		n++
		if err := s.Observe(e); err != nil {
			return err
		}
		return valid.Check(e)
	})
}
