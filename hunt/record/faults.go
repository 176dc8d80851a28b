package record

import (
	"fmt"
	"slices"
	"strings"

	"github.com/picklock/picklock/history"
)

// fault is one fault of a run, which the nemesis saw to take effect.
type fault struct {
	event    history.Event // that of its beginning
	from, to int64         // ns since the run's start; to is open for one that was on to the end
}

func (f fault) within(from, to int64) bool { return f.from <= to && f.to >= from }

// pairs are the run's faults in the order of their beginnings, each with its end.
func (r Run) pairs() []fault {
	var out []fault
	on := map[string]int{} // its place in out
	for _, e := range r.Events {
		if e.Process != history.Nemesis {
			continue
		}
		k := e.F + " " + strings.Join(e.Nodes, ",")
		switch {
		case e.Phase == history.Begin && e.Confirmed:
			on[k] = len(out)
			out = append(out, fault{e, e.Time, open})
		case e.Phase == history.End:
			if i, ok := on[k]; ok {
				out[i].to = e.Time
				delete(on, k)
			}
		}
	}
	for i := range out {
		out[i].to = r.felt(out[i])
	}
	return out
}

// felt is when a client felt the end of a fault that falls on it, which is written down only
// after it was seen to be over: a client that is stopped does nothing, and who waits for what
// is held or cut off goes on as soon as that comes through.
func (r Run) felt(f fault) int64 {
	if f.to == open || !slices.Contains([]string{"pause", "hold", "partition"}, f.event.F) {
		return f.to
	}
	middle := f.from + (f.to-f.from)/2
	for _, e := range r.Events {
		switch {
		case e.Time <= middle || !slices.Contains(f.event.Nodes, e.Process):
		case e.Time >= f.to:
			return f.to
		case f.event.F == "pause", e.Type != history.Invoke && r.silent(e.Process, f.from, e.Time):
			return e.Time
		}
	}
	return f.to
}

// silent says that a process did nothing for most of a time.
func (r Run) silent(process string, from, to int64) bool {
	last := from
	for _, e := range r.Events {
		if e.Process == process && e.Time > from && e.Time < to {
			last = e.Time
		}
	}
	return last-from < (to-from)/2
}

// faults are those that a schedule can say again. What it cannot say is left out, and odd
// says what that is.
func (r Run) faults() (out []fault, odd string) {
	everybody := map[string]string{}
	for _, e := range r.Events {
		everybody[e.Process] = "A"
	}
	var left []string
	for _, f := range r.pairs() {
		if _, err := r.steps(f.event, everybody); err != nil {
			if text := fmt.Sprintf("%s (%v)", f.event.F, err); !slices.Contains(left, text) {
				left = append(left, text)
			}
			continue
		}
		out = append(out, f)
	}
	if len(left) > 0 {
		odd = "; left out: " + strings.Join(left, ", ")
	}
	return out, odd
}
