package checker

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/picklock/picklock/history"
)

// ending is over when it has been asked n times.
type ending struct {
	context.Context
	n, asked int
}

func (c *ending) Err() error {
	if c.asked++; c.asked > c.n {
		return context.DeadlineExceeded
	}
	return nil
}

// TestCheckFilesEnds: reading, sorting and the log's reading end when their time is
// over, and ask whether it is now and then only.
func TestCheckFilesEnds(t *testing.T) {
	in := validHistory(20_000, 3, 1)
	forward, shuffled := make([]int, len(in.Events)), make([]int, len(in.Events))
	for i := range in.Events {
		forward[i], shuffled[i] = i, i
	}
	shuffled[0], shuffled[1] = 1, 0
	const each = 1 << 12
	first := (len(in.Events) + each - 1) / each
	effects := 0
	for _, e := range in.Effects {
		if e.Seq%each == 0 {
			effects++
		}
	}
	for _, c := range []struct {
		name   string
		order  []int
		asks   int // until the verdict
		toldOf int
	}{
		{"in order", forward, first + effects, first},
		{"shuffled", shuffled, 1 + first + effects, 1 + first}, // the second reading tells, too
	} {
		dir := t.TempDir()
		events, log := write(t, dir, in, c.order)
		for n := range c.asks {
			reported := 0
			ctx := &ending{Context: context.Background(), n: n}
			_, err := CheckFiles(ctx, events, log, Options{SkipCrossCheck: true}, func(int) { reported++ })
			if !errors.Is(err, context.DeadlineExceeded) || ctx.asked != n+2 || // to know, and to say
				reported > c.toldOf {
				t.Errorf("%s, over after %d: %v, asked %d times, reported %d times", c.name, n, err, ctx.asked, reported)
			}
		}
		ctx := &ending{Context: context.Background(), n: c.asks}
		if v, err := CheckFiles(ctx, events, log, Options{SkipCrossCheck: true}, nil); err != nil || v.Valid != Unknown {
			t.Errorf("%s, over when all is read: %v, %v", c.name, v.Valid, err)
		}
	}
}

// TestCheckFilesProgress: how many events have been read is reported now and then.
func TestCheckFilesProgress(t *testing.T) {
	in := Input{}
	for i := range int64(10_000) {
		in.Events = append(in.Events, history.Event{Index: i, Time: i, Process: fmt.Sprint("c", i), Type: history.Invoke, F: history.Acquire, Key: "k0"})
	}
	order := make([]int, len(in.Events))
	for i := range order {
		order[i] = i
	}
	events, _ := write(t, t.TempDir(), in, order)
	var reported []int
	if _, err := CheckFiles(context.Background(), events, "", Options{}, func(n int) { reported = append(reported, n) }); err != nil {
		t.Fatal(err)
	}
	if len(reported) != 3 || reported[0] != 0 || reported[1] != 4096 || reported[2] != 8192 {
		t.Errorf("reported %v", reported)
	}
}
