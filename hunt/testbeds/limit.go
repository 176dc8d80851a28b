package testbeds

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"
)

// limit is how many runs may be under way at once: as many as the processors carry. It begins with
// few, and allows one more as long as the processors have time left and no run was disturbed.
type limit struct {
	least, most int

	mu      sync.Mutex
	now     int
	running int
	waiting []place // the one that came first is first
	solo    bool    // one is under way beside which no other may be
	full    bool    // all that were allowed were under way since the last look
	ended   int     // runs since the last look
	busy    int     // of these that this machine was too busy for
}

func newLimit(first, most int) *limit {
	return &limit{least: max(1, first/2), most: most, now: min(first, most)}
}

// place is one in the line of those who wait.
type place struct {
	turn  chan struct{} // closed as its run may begin
	alone bool          // when no other runs
}

// enter returns when one more run may begin; leave makes room for another. Runs begin in the order in which they
// asked: one that others overtook would perhaps not be run before the time is over.
func (l *limit) enter(ctx context.Context) error { return l.join(ctx, false) }

// enterAlone returns when a run may begin beside which there is no other until it leaves.
func (l *limit) enterAlone(ctx context.Context) error { return l.join(ctx, true) }

func (l *limit) join(ctx context.Context, alone bool) error {
	turn := make(chan struct{})
	l.mu.Lock()
	l.waiting = append(l.waiting, place{turn, alone})
	l.admit()
	l.mu.Unlock()
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.IndexFunc(l.waiting, func(p place) bool { return p.turn == turn })
	if i < 0 { // its turn came at the same moment
		l.end()
		return ctx.Err()
	}
	l.waiting = slices.Delete(l.waiting, i, i+1)
	l.admit() // it may have kept others waiting
	return ctx.Err()
}

func (l *limit) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.end()
}

// end makes room for others. l.mu is held.
func (l *limit) end() {
	l.running--
	l.solo = false // if it was on, the run that ends was the only one
	l.admit()
}

// count takes a run that ended, and whether this machine was too busy for it.
func (l *limit) count(busy bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended++; busy {
		l.busy++
	}
}

// admit lets runs begin while there may be more. l.mu is held.
func (l *limit) admit() {
	for len(l.waiting) > 0 && !l.solo && l.running < l.now {
		next := l.waiting[0]
		if next.alone && l.running > 0 {
			return
		}
		l.running++
		l.solo = next.alone
		close(next.turn)
		l.waiting = l.waiting[1:]
	}
	l.full = l.full || l.running >= l.now
}

const (
	lookEvery = time.Second
	// spare is the part of the processors' time up to which more runs are begun, roomy that up to which servers of their
	// own are started for more of them: that costs more, and each goes on to cost some.
	spare = 0.75
	roomy = 0.5
	// disturbedRuns is the part of the runs that may be disturbed.
	disturbedRuns = 0.05
	// freeMemory is the part of the memory that stays free.
	freeMemory = 0.2
)

// adjust draws the conclusion of a look: used is the part of the processors' time that was used, by
// whomever, and free the part of the memory that is free. It says whether there is room for more servers.
func (l *limit) adjust(used, free float64) (room bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	disturbed := float64(l.busy) > disturbedRuns*float64(l.ended)
	switch {
	case l.busy > 1 && disturbed:
		l.now = max(l.least, l.now-max(1, l.now/8))
	case used < spare && free > freeMemory && l.full && !disturbed:
		l.now = min(l.most, l.now+max(1, l.now/8))
	}
	room = used < roomy && free > freeMemory && l.busy == 0
	l.full, l.ended, l.busy = l.running >= l.now, 0, 0
	l.admit()
	return room
}

// watch adjusts the limit until ctx ends, and calls grow whenever there is room for more servers.
func (l *limit) watch(ctx context.Context, grow func()) {
	t := time.NewTicker(lookEvery)
	defer t.Stop()
	before, _ := processors()
	for {
		select {
		case <-t.C:
		case <-ctx.Done():
			return
		}
		now, err := processors()
		if err != nil || now.all == before.all {
			continue
		}
		if l.adjust(float64(now.used-before.used)/float64(now.all-before.all), memory()) {
			grow()
		}
		before = now
	}
}

// ticks is the time of all processors since the machine started.
type ticks struct{ used, all int64 }

// processors reads it; where the kernel does not say, there is an error, and the limit stays.
func processors() (t ticks, err error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return t, fmt.Errorf("read how busy the processors are: %w", err)
	}
	line, _, _ := bytes.Cut(text, []byte("\n"))
	for i, f := range bytes.Fields(line) {
		n, err := strconv.ParseInt(string(f), 10, 64)
		if i == 0 || err != nil || i > 8 { // its name; what guests used is in the others
			continue
		}
		if t.all += n; i != 4 && i != 5 { // idle, and idle while a disk works
			t.used += n
		}
	}
	return t, nil
}

// memory is the part of the memory that is free; 1 where that is not known.
func memory() float64 {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 1
	}
	var total, free float64
	for line := range bytes.Lines(text) {
		_, _ = fmt.Sscanf(string(line), "MemTotal: %f", &total)    // most lines are others
		_, _ = fmt.Sscanf(string(line), "MemAvailable: %f", &free) // most lines are others
	}
	if total == 0 {
		return 1
	}
	return free / total
}
