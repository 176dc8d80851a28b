package status

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/fleet"
	"github.com/picklock/picklock/internal/format"
)

// Write prints what a queue holds.
func (q *Queue) Write(w io.Writer) error {
	var b strings.Builder
	for _, s := range q.Campaigns {
		s.write(&b)
	}
	if len(q.Campaigns) == 0 {
		b.WriteString("no campaign is on the queue\n")
	}
	for _, a := range q.Others {
		state := Running
		if a.Ended {
			state = Finished
		}
		fmt.Fprintf(&b, "also on the queue: %s, %s, started %s\n", Clean(a.ID), state, when(a.Started))
	}
	fmt.Fprintf(&b, "%d %s\n", len(q.Workers), format.Noun(len(q.Workers), "worker", "workers"))
	for _, x := range q.Workers {
		fmt.Fprintf(&b, "  %s: %s; %d items, %d runs%s, last seen %s%s\n", Clean(x.Name), Clean(activity(x)), x.Done, x.Runs, perSecond(x), when(x.Seen), trouble(x))
	}
	for _, p := range q.Problems {
		fmt.Fprintf(&b, "problem: %s\n", Clean(p))
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("print the status: %w", err)
	}
	return nil
}

func (s *Status) write(b *strings.Builder) {
	fmt.Fprintf(b, "%s: %s, started %s, %s\n", Clean(s.ID), s.State, when(s.Started), s.summary())
	for _, j := range s.Jobs {
		fmt.Fprintf(b, "  %-7s %s: %d of %d items, %d runs; %s\n", j.Verdict(), Clean(j.Name), j.Done, j.Items, j.Runs, Clean(j.Headline))
		for _, f := range j.Findings {
			fmt.Fprintf(b, "          %s\n", Clean(f.String()))
		}
		for _, d := range j.DeadLetters {
			fmt.Fprintf(b, "          dead-lettered %s: %s\n", Clean(d.Item), Clean(d.Why))
		}
	}
	for _, p := range s.Problems {
		fmt.Fprintf(b, "  problem: %s\n", Clean(p))
	}
}

// summary is the progress in one line.
func (s *Status) summary() string {
	text := fmt.Sprintf("%d of %d items done", s.Done, s.Items)
	if s.DeadLettered > 0 {
		text += fmt.Sprintf(", %d dead-lettered", s.DeadLettered)
	}
	return text + fmt.Sprintf(", %d %s", s.Found, format.Noun(s.Found, "counterexample", "counterexamples"))
}

// Verdict is the job's verdict; "" while it runs and nothing failed.
func (j Job) Verdict() string {
	if !j.Ended && j.Valid != checker.False {
		return ""
	}
	return Word(j.Valid.String())
}

// Word is a validity for people: pass, fail or unknown. Any other text stays as it is.
func Word(valid string) string {
	switch valid {
	case checker.True.String():
		return "pass"
	case checker.False.String():
		return "fail"
	}
	return valid
}

func activity(w fleet.Worker) string {
	if w.Item == "" {
		return "waits"
	}
	return "works on " + w.Item + " of " + w.Job
}

func perSecond(w fleet.Worker) string {
	if w.Busy <= 0 {
		return ""
	}
	return fmt.Sprintf(" (%.1f a second)", float64(w.Runs)/w.Busy)
}

func trouble(w fleet.Worker) string {
	if w.Trouble == "" {
		return ""
	}
	return "; " + Clean(w.Trouble)
}

func when(t time.Time) string {
	if t.IsZero() {
		return "–"
	}
	return t.Local().Format("2006-01-02 15:04:05")
}

// longest bounds a text that a lock, a server or a worker may have written.
const longest = 2000

// Clean bounds a text from the queue and keeps it from steering a terminal or a page.
func Clean(s string) string {
	if r := []rune(s); len(r) > longest {
		s = string(r[:longest]) + "…"
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '\uFFFD'
	}, s)
}
