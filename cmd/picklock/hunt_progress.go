package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/picklock/picklock/hunt"
)

// huntProgress is what is seen of a hunt while it goes on.
type huntProgress struct {
	mu   sync.Mutex
	out  io.Writer
	last time.Time
	live bool                 // the last line is to be written over
	used func() time.Duration // of processor time since the search began; nil: not yet
}

func newHuntProgress(out io.Writer) *huntProgress { return &huntProgress{out: out} }

const huntEvery = time.Second

func (u *huntProgress) progress(p hunt.Progress) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if time.Since(u.last) < huntEvery {
		return
	}
	u.last = time.Now()
	var depth string
	switch {
	case p.Beyond:
		depth = "guided schedules"
	case p.Depth == 0:
		depth = "schedules without faults"
	case p.Depth == 1:
		depth = "schedules with 1 fault"
	default:
		depth = fmt.Sprintf("schedules with %d faults", p.Depth)
	}
	rate := fmt.Sprintf("%.1f a second", float64(p.Searched)/max(0.1, p.Elapsed.Seconds()))
	if u.used != nil {
		if used := u.used(); used > 0 {
			rate += fmt.Sprintf(" with %.0f %% of the processors", 100*used.Seconds()/max(0.1, p.Elapsed.Seconds())/float64(runtime.NumCPU()))
		}
	}
	line := fmt.Sprintf("%4.0f s left  %5d runs, %s, now %s  %d states  %d found", max(0, p.Left.Seconds()), p.Runs, rate, depth, p.States, len(p.Counterexamples))
	if f, ok := u.out.(*os.File); !ok || !isTerminal(f) {
		if int(p.Elapsed.Seconds())%10 == 0 {
			fmt.Fprintln(u.out, line)
		}
		return
	}
	u.live = true
	fmt.Fprintf(u.out, "\r\033[K%s", line)
}

func (u *huntProgress) counterexample(w *hunt.Counterexample) {
	u.say("%6.1f s  found %s (%d of %d runs)", w.FirstSecond, w.Signature, w.Search.Hits, w.Search.Runs)
}

func (u *huntProgress) say(format string, args ...any) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.live {
		fmt.Fprint(u.out, "\r\033[K")
		u.live = false
	}
	fmt.Fprintf(u.out, format+"\n", args...)
}

func (u *huntProgress) close() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.live {
		fmt.Fprint(u.out, "\r\033[K")
		u.live = false
	}
}
