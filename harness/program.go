package harness

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/compose"
	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/internal/format"
)

// programs follows how the clients' own programs fare (history.Event.ClientFailed), which
// for exec locks are the user's.
type programs struct {
	clients int

	mu      sync.Mutex
	through bool // some client was granted the lock
	faulted bool // a fault has taken effect, which may end programs
	failed  map[string]*programFailed
	told    bool
}

type programFailed struct {
	name  string
	times int
	first string
}

// enoughFailures is how often every program fails, with no grant to anybody and no fault,
// until the run is given up.
const enoughFailures = 3

// errPrograms ends a run in which no program does what it should.
var errPrograms = errors.New("no client ever got through")

// observe takes an event; true, once, says that there is no sense in going on.
func (p *programs) observe(e history.Event) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case e.Process == history.Nemesis && e.F != checker.Stall: // that all were late ends nobody
		p.faulted = true
	case e.F == history.Acquire && e.Type == history.OK:
		p.through = true
	case e.ClientFailed:
		if p.failed == nil {
			p.failed = map[string]*programFailed{}
		}
		if p.failed[e.Process] == nil {
			p.failed[e.Process] = &programFailed{name: e.Process, first: e.Error}
		}
		p.failed[e.Process].times++
	}
	if p.through || p.faulted || p.told || len(p.failed) < p.clients {
		return false
	}
	for _, f := range p.failed {
		if f.times < enoughFailures {
			return false
		}
	}
	p.told = true
	return true
}

// report is what came of the programs: a warning, or an error where no client ever got
// through; neither where all went well. Their standard error is in the folder live, and will be in
// logs.
func (p *programs) report(live, logs string) (warning string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.failed) == 0 {
		return "", nil
	}
	worst := p.worst()
	text := worst.words() + lastOutput(live, logs, worst.name)
	if p.through {
		return text, nil
	}
	return "", fmt.Errorf("%w: %s", errPrograms, text)
}

// worst is the program that failed most often. p.mu is held, and one has failed.
func (p *programs) worst() *programFailed {
	var worst *programFailed
	for _, f := range p.failed {
		if worst == nil || cmp.Or(-cmp.Compare(f.times, worst.times), cmp.Compare(f.name, worst.name)) < 0 {
			worst = f
		}
	}
	return worst
}

func (f *programFailed) words() string {
	return fmt.Sprintf("%s's program failed %s: %s", f.name, times(f.times), f.first)
}

// why is the error of a run in which no program does what it should.
func (p *programs) why() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return fmt.Errorf("%w: %s", errPrograms, p.worst().words())
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// lastOutput quotes what a client's program wrote last to its log, which is in the folder live and
// will be in logs, without what picklock wrote there itself.
func lastOutput(live, logs, client string) string {
	log := filepath.Join(logs, client+".log")
	lines := slices.DeleteFunc(compose.LastLines(filepath.Join(live, client+".log")), func(l string) bool { return strings.HasPrefix(l, "picklock: ") })
	lines = format.WithoutTraces(lines)
	lines = lines[max(0, len(lines)-5):]
	if len(lines) == 0 {
		return "; its log, " + log + ", is empty"
	}
	return fmt.Sprintf("; its last words: %s; its log: %s", strings.Join(lines, " | "), log)
}

// notStarted is the error for clients that could not be started, reported once: most often all
// of them fail alike.
func (r *run) notStarted(failed map[string]error) error {
	var first string
	var others []string
	for _, name := range r.names {
		switch {
		case failed[name] == nil:
		case first == "":
			first = name
		default:
			others = append(others, name)
		}
	}
	if first == "" {
		return nil
	}
	err := failed[first]
	if r.lock.IsExec() && !errors.Is(err, ErrUsage) {
		node := first
		if set, ok := r.cluster.(*setCluster); ok {
			node = set.node(first)
		}
		err = fmt.Errorf("%w%s", err, lastOutput(r.live, r.logs, node))
		if r.Cluster == "none" {
			err = fmt.Errorf("%w; without --cluster the program gets no servers", err)
		}
		err = fmt.Errorf("%w; picklock lock check tries the program by itself", err)
	}
	if len(others) > 0 {
		err = fmt.Errorf("%w (nor could %s be started)", err, strings.Join(others, ", "))
	}
	return err
}
