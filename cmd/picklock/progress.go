package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/harness"
	"github.com/picklock/picklock/history"
)

// progress shows how a run goes: one line that is drawn again and again on a
// terminal, a plain line now and then elsewhere.
type progress struct {
	w     io.Writer
	tty   bool
	width int
	stop  chan struct{}
	ended sync.WaitGroup

	mu     sync.Mutex
	head   string // what is run, until it is printed: with the first phase, since options may be refused before
	phase  string
	until  time.Time
	began  time.Time // of the phase
	live   *checker.Live
	faults []string
}

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

func newProgress(f *os.File, o harness.Options) *progress {
	p := &progress{w: f, tty: isTerminal(f) && os.Getenv("TERM") != "dumb", stop: make(chan struct{}), live: checker.NewLive(), began: time.Now()}
	p.live.Lag = int64(time.Second) // each client's events come through a pipe of its own
	p.head = fmt.Sprintf("lock %s, faults %s, fencing %s, seed %d", o.Lock, orNone(o.Faults), o.Fencing, o.Seed)
	every := 5 * time.Second
	if p.tty {
		every = 200 * time.Millisecond
		p.width = 100
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 20 {
			p.width = w
		}
	}
	p.ended.Go(func() {
		t := time.NewTicker(every)
		defer t.Stop()
		for {
			select {
			case <-t.C:
				p.show()
			case <-p.stop:
				return
			}
		}
	})
	return p
}

func orNone(list []string) string {
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, ",")
}

// Phase implements harness.Observer.
func (p *progress) Phase(name string, until time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.phase, p.until, p.began = name, until, time.Now()
	if p.head != "" {
		fmt.Fprintf(p.w, "picklock: %s\n", p.head)
		p.head = ""
	}
	if !p.tty {
		fmt.Fprintf(p.w, "picklock: %s\n", name)
	}
}

// Announce implements harness.Announcer.
func (p *progress) Announce(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.tty {
		p.draw("")
	}
	fmt.Fprintf(p.w, "picklock: %s\n", text)
}

// Event implements harness.Observer.
func (p *progress) Event(e history.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.live.Observe(e)
	if e.Process != history.Nemesis || !e.Confirmed && e.Phase == history.Begin {
		return
	}
	name := e.F + " " + strings.Join(e.Nodes, ",")
	if e.Phase == history.Begin {
		p.faults = append(p.faults, name)
	} else if i := slices.Index(p.faults, name); i >= 0 {
		p.faults = slices.Delete(p.faults, i, i+1)
	}
}

func (p *progress) show() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.until.IsZero() {
		if p.tty {
			p.draw(p.phase)
		}
		return
	}
	text := p.line(time.Now())
	if p.tty {
		p.draw(text)
		return
	}
	fmt.Fprintf(p.w, "picklock: %s\n", text)
}

// line says what is known so far. What it means is judged at the end, and no count of
// it may look like a verdict.
func (p *progress) line(now time.Time) string {
	left := max(0, p.until.Sub(now)).Round(time.Second)
	rate := float64(p.live.Grants) / max(0.1, now.Sub(p.began).Seconds())
	seen := []string{fmt.Sprintf("%d grants (%.1f/s)", p.live.Grants, rate), fmt.Sprintf("%d refused", p.live.Rejected)}
	if !p.live.Together {
		seen = append(seen, fmt.Sprintf("%d overlapping holders", p.live.Overlaps))
	}
	if p.live.Anomalies > 0 {
		seen = append(seen, fmt.Sprintf("%d early or out of order", p.live.Anomalies))
	}
	return fmt.Sprintf("%s: %v left, judged at the end; seen so far %s; holder %s, faults %s",
		p.phase, left, strings.Join(seen, ", "), orNone(p.live.Holders("k0")), orNone(p.faults))
}

func (p *progress) draw(text string) {
	if r := []rune(text); len(r) > p.width-1 {
		text = string(r[:p.width-1])
	}
	fmt.Fprintf(p.w, "\r\x1b[K%s", text)
}

// close ends the display.
func (p *progress) close() {
	close(p.stop)
	p.ended.Wait()
	if p.tty {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
