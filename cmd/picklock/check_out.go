package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/checker/model"
	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/results"
	"github.com/picklock/picklock/workloads"
)

// reported judges a history of our own and writes a run directory for it, which can be
// judged and reported again like any other. Its events are numbered anew, in their order.
func (flags checkFlags) reported(ctx context.Context, src history.Source) error {
	events, err := smallEvents(src)
	if err != nil {
		return err
	}
	for i := range events {
		events[i].Index = int64(i)
	}
	v := checker.CheckContext(ctx, checker.Input{Events: events, Options: checker.Options{Fair: int64(flags.fair), Skew: int64(flags.skew)}})
	if len(events) == 0 {
		return flags.nothing(src.String(), emptyHistory, v)
	}
	run := flags.recorded(src, v)
	dir, err := results.CreateAt(flags.out)
	if err != nil {
		return usage(fmt.Errorf("check: %w", err))
	}
	if err := errors.Join(dir.WriteRun(run), history.WriteFile(dir.History(), events), results.WriteAll(dir, run, v, events, nil)); err != nil {
		return err
	}
	return report(dir.Report(), run, v, flags.on, flags.json)
}

// maxReported is how many events of a trace a report can show.
const maxReported = 1 << 20

// smallEvents reads a history that a report can show.
func smallEvents(src history.Source) ([]history.Event, error) {
	if src.Spans {
		events, err := src.Events()
		if err == nil && len(events) > maxReported {
			return nil, usage(fmt.Errorf("check: a trace of %d events, which a report cannot show: judge it without --out", len(events)))
		}
		return events, err
	}
	events, err := src.EventsUpTo(largeHistory)
	if errors.Is(err, history.ErrLarge) {
		return nil, usage(fmt.Errorf("check: a history of more than %d MB, which a report cannot show: judge it without --out", largeHistory>>20))
	}
	return events, err
}

// writeModel writes what a model says of another tool's history, and returns where the
// report is. There is no timeline: what is known of an operation is its place.
func (flags checkFlags) writeModel(h *model.History, m *model.Model, v checker.Verdict) (string, error) {
	dir, err := results.CreateAt(flags.out)
	if err != nil {
		return "", usage(fmt.Errorf("check: %w", err))
	}
	run := results.Run{Settings: workloads.Settings{Lock: "recorded"}, About: "checked as " + m.Name, Command: flags.again(h.File)}
	if flags.model == "" {
		run.Command = append(run.Command, "--model", m.Name)
	}
	if err := results.WriteAll(dir, run, v, eventsOf(h), nil); err != nil {
		return "", err
	}
	return dir.Report(), nil
}

// eventsOf are a history's operations as events, for the evidence of a report.
func eventsOf(h *model.History) []history.Event {
	var events []history.Event
	types := map[model.Outcome]history.Type{model.Info: history.Info, model.OK: history.OK, model.Mismatch: history.Fail}
	for _, o := range h.Ops {
		e := history.Event{Index: o.CallAt.Index, Process: o.Process, Type: history.Invoke, F: o.F, Key: o.Key, Value: o.Arg}
		events = append(events, e)
		if o.ReturnAt.Line == 0 {
			continue // never answered
		}
		e.Index, e.Type, e.Token = o.ReturnAt.Index, types[o.Type], o.Fence
		if e.Value == "" {
			e.Value = o.Out
		}
		events = append(events, e)
	}
	history.Sort(events)
	return events
}
