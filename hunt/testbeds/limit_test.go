package testbeds

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestLimit(t *testing.T) {
	for _, x := range []struct {
		name        string
		now         int
		used, free  float64
		full        bool
		ended, busy int
		want        int
		room        bool
	}{
		{"the processors have time left", 6, 0.5, 0.9, true, 20, 0, 7, false},
		{"many at once", 16, 0.5, 0.9, true, 50, 0, 18, false},
		{"not all are used", 6, 0.5, 0.9, false, 20, 0, 6, false},
		{"there is room", 6, 0.4, 0.9, false, 20, 0, 6, true},
		{"there is room, and runs are disturbed", 6, 0.4, 0.9, false, 20, 1, 6, false},
		{"the processors are in use", 6, 0.8, 0.9, true, 20, 0, 6, false},
		{"there is no memory", 6, 0.4, 0.1, true, 20, 0, 6, false},
		{"runs are disturbed", 16, 0.5, 0.9, true, 20, 2, 14, false},
		{"one run is disturbed", 16, 0.5, 0.9, true, 19, 1, 16, false},
		{"never fewer than half of the first", 3, 1, 0.9, true, 4, 4, 3, false},
		{"never more than the most", 24, 0.1, 0.9, true, 90, 0, 24, true},
	} {
		l := newLimit(6, 24)
		l.now, l.full, l.ended, l.busy = x.now, x.full, x.ended, x.busy
		if room := l.adjust(x.used, x.free); l.now != x.want || room != x.room {
			t.Errorf("%s: %d and room for servers %v, want %d and %v", x.name, l.now, room, x.want, x.room)
		}
	}
	l := newLimit(1, 1)
	if err := l.enter(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.enter(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("one more than may be: %v", err)
	}
	l.leave()
	if err := l.enter(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestLimitAlone: a run that has to be alone waits for those that are under way, and keeps those from beginning that ask
// after it.
func TestLimitAlone(t *testing.T) {
	l := newLimit(3, 3)
	ctx := t.Context()
	for range 2 {
		if err := l.enter(ctx); err != nil {
			t.Fatal(err)
		}
	}
	came := make(chan string, 2)
	wait := func(name string, enter func(context.Context) error, before int) {
		go func() {
			if err := enter(ctx); err != nil {
				name = err.Error()
			}
			came <- name
		}()
		for {
			l.mu.Lock()
			n := len(l.waiting)
			l.mu.Unlock()
			if n > before {
				return
			}
			time.Sleep(time.Millisecond)
		}
	}
	wait("alone", l.enterAlone, 0)
	wait("after it", l.enter, 1)
	l.leave()
	select {
	case name := <-came:
		t.Fatalf("%s began beside another", name)
	case <-time.After(20 * time.Millisecond):
	}
	l.leave()
	if name := <-came; name != "alone" {
		t.Fatalf("%s began first", name)
	}
	select {
	case name := <-came:
		t.Fatalf("%s began beside one that has to be alone", name)
	case <-time.After(20 * time.Millisecond):
	}
	l.leave()
	if name := <-came; name != "after it" || l.running != 1 {
		t.Errorf("%s began last, %d are under way", name, l.running)
	}
	// One that stops waiting keeps nobody waiting.
	given, stop := context.WithCancel(ctx)
	over := make(chan error, 1)
	go func() { over <- l.enterAlone(given) }()
	for n := 0; n == 0; time.Sleep(time.Millisecond) {
		l.mu.Lock()
		n = len(l.waiting)
		l.mu.Unlock()
	}
	wait("behind it", l.enter, 1)
	stop()
	if err := <-over; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if name := <-came; name != "behind it" {
		t.Error(name)
	}
}

// TestLimitInTurn: runs begin in the order in which they asked, and one that stopped waiting takes nobody's
// place.
func TestLimitInTurn(t *testing.T) {
	l := newLimit(1, 1)
	if err := l.enter(t.Context()); err != nil {
		t.Fatal(err)
	}
	const runs, stops = 8, 3
	began := make(chan int)
	stopped := make(chan error)
	ctx, cancel := context.WithCancel(t.Context())
	for i := range runs {
		go func() {
			if i == stops {
				stopped <- l.enter(ctx)
				return
			}
			if l.enter(t.Context()) == nil {
				began <- i
			}
		}()
		for waits := 0; waits <= i; {
			l.mu.Lock()
			waits = len(l.waiting)
			l.mu.Unlock()
		}
	}
	cancel()
	if err := <-stopped; !errors.Is(err, context.Canceled) {
		t.Errorf("the one that stopped waiting: %v", err)
	}
	for i := range runs {
		if i == stops {
			continue
		}
		l.leave()
		if got := <-began; got != i {
			t.Errorf("run %d began, want %d", got, i)
		}
	}
	if l.leave(); l.running != 0 || len(l.waiting) != 0 {
		t.Errorf("%d under way, %d wait", l.running, len(l.waiting))
	}
}

func TestUneven(t *testing.T) {
	for _, x := range []struct{ usual, unit, want time.Duration }{
		{250 * time.Millisecond, 0, 1500 * time.Millisecond},
		{time.Second, 0, 1500 * time.Millisecond},
		{time.Second, time.Second, 0},
		{2 * time.Second, 0, 2500 * time.Millisecond},
		{4 * time.Second, 0, 0},
	} {
		got := uneven(x.usual, x.unit)
		if (x.want != 0) != (len(got) == 1) || x.want != 0 && got[0] != x.want {
			t.Errorf("%v in units of %v: %v, want %v", x.usual, x.unit, got, x.want)
		}
	}
}

func TestProcessors(t *testing.T) {
	if p, err := processors(); err != nil || p.used <= 0 || p.used > p.all {
		t.Errorf("%+v, %v", p, err)
	}
	if m := memory(); m <= 0 || m >= 1 {
		t.Errorf("%v of the memory is free", m)
	}
}
