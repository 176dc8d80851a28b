package checker

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/picklock/picklock/history"
)

// TestIDsCostLittle: the ids of picklock's own clients need no table of strings,
// and a number that somebody made up needs no list of its length.
func TestIDsCostLittle(t *testing.T) {
	an := analysed(validHistory(2000, 3, 1))
	if n := len(an.ids.others); n > 0 || len(an.ids.get("c1").own) < 50 {
		t.Errorf("%d ids in the table, %d in c1's list", n, len(an.ids.get("c1").own))
	}
	p := an.ids.proc("c1")
	before := len(p.own)
	g := &grant{id: "c1.2000000"}
	an.ids.add(g, p)
	if len(p.own) > 3*before+padding || an.ids.find("c1.2000000", p) != g {
		t.Errorf("a list of %d for one number, found %v", len(p.own), an.ids.find("c1.2000000", p))
	}
	for _, id := range []string{"c1.99999999999999999999", "c1.9223372036854775808", "c1.18446744073709551617"} {
		g := &grant{id: id}
		an.ids.add(g, p)
		if an.ids.find(id, p) != g || an.ids.twice(id) {
			t.Errorf("%s: found %v", id, an.ids.find(id, p))
		}
	}
}

// TestProcessSeenAMomentAgo: it is found in the small table, as long as no other
// one takes its place there.
func TestProcessSeenAMomentAgo(t *testing.T) {
	var s procs
	s.byName = map[string]*proc{}
	a := s.proc("c1")
	if s.get("c1") != a || s.seen[place256("c1")] != a {
		t.Error("c1 is not in the table")
	}
	if s.get("nobody") != nil || s.seen[place256("nobody")] != nil {
		t.Error("nobody is in the table")
	}
	delete(s.byName, "c1")
	if s.get("c1") != a {
		t.Error("c1 is looked up elsewhere")
	}
}

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
			told := 0
			ctx := &ending{Context: context.Background(), n: n}
			_, err := CheckFiles(ctx, events, log, Options{SkipCrossCheck: true}, func(int) { told++ })
			if !errors.Is(err, context.DeadlineExceeded) || ctx.asked != n+2 || // to know, and to say
				told > c.toldOf {
				t.Errorf("%s, over after %d: %v, asked %d times, told %d times", c.name, n, err, ctx.asked, told)
			}
		}
		ctx := &ending{Context: context.Background(), n: c.asks}
		if v, err := CheckFiles(ctx, events, log, Options{SkipCrossCheck: true}, nil); err != nil || v.Valid != Unknown {
			t.Errorf("%s, over when all is read: %v, %v", c.name, v.Valid, err)
		}
	}
}

// TestCheckFilesProgress: how many events have been read is told now and then.
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
	var told []int
	if _, err := CheckFiles(context.Background(), events, "", Options{}, func(n int) { told = append(told, n) }); err != nil {
		t.Fatal(err)
	}
	if len(told) != 3 || told[0] != 0 || told[1] != 4096 || told[2] != 8192 {
		t.Errorf("told %v", told)
	}
}
