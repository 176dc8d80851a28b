package checker

import (
	"slices"
	"strings"
	"time"

	"github.com/picklock/picklock/checker/verdict"
	"github.com/picklock/picklock/history"
)

// Stall is the name under which a history says that the machine itself stood still: it
// excuses what a fault would, and nobody injected it.
const Stall = "stall"

// FeltAfterHeal is how long a cut network may be felt at most after it was healed: services
// give a silent connection up before (etcd's peers after 5 s, ZooKeeper's after some
// ticks).
const FeltAfterHeal = 15 * time.Second

// fault is one injection.
type fault struct {
	n          int // position in its log
	name       string
	nodes      []string
	clients    int // how many of the nodes are clients
	begin, end int64
	ended      bool
	healing    int64  // when its end began; begin if nothing is known of that
	stays      string // why it could not be healed
	confirmed  bool
	clock      ranWrong
	loud       bool   // see isLoud
	steps      string // how the history writes it: "cut: A from redis1"
}

// onService says whether it was on anything but clients.
func (f *fault) onService() bool { return len(f.nodes) == 0 || f.clients < len(f.nodes) }

// concernsOthers says whether it can have an effect on clients that it does not name. A
// network that is cut between clients and others is whole for those.
func (f *fault) concernsOthers() bool {
	if f.onResource() || f.onLinks() && f.clients > 0 {
		return false
	}
	return f.onService()
}

// onResource says that it was on the resource under the lock alone, or on the network between that and clients: whoever has the lock, and
// the service, go on as if it were not.
func (f *fault) onResource() bool {
	return slices.Contains(f.nodes, registerNode) && len(f.nodes)-f.clients == 1 && (f.clients == 0 || f.onLinks())
}

// killsClients says that it is a kill of clients, and of nothing else.
func (f *fault) killsClients() bool { return baseName(f.name) == "kill" && !f.onService() }

// fails says whether a client died, or a server lost what it knew.
func (f *fault) fails() bool {
	if f.clients > 0 {
		return baseName(f.name) == "kill"
	}
	return rankEarly(part{fault: f, side: verdict.OnServer}) == rankState
}

// losesState says whether a server lost by it what it knew, at once when it began. What was asked for later it did not
// lose, but may not know when it comes back: another one had granted it.
func (f *fault) losesState() bool {
	return f.clients == 0 && slices.Contains([]string{"kill", "powerloss"}, baseName(f.name))
}

// onLinks says whether it was on the network between its nodes, not on the nodes.
func (f *fault) onLinks() bool {
	return f.losesPackets() || slices.Contains([]string{"hold", "slow"}, baseName(f.name))
}

// losesPackets says whether senders may have waited in vain for an acknowledgement.
func (f *fault) losesPackets() bool {
	return slices.Contains([]string{"partition", "reset", "withhold", "loss", "flap"}, baseName(f.name))
}

// resets says whether it ends connections.
func (f *fault) resets() bool {
	return slices.Contains([]string{"reset", "withhold"}, baseName(f.name))
}

// baseName is a fault's name without what follows a colon.
func baseName(f string) string {
	base, _, _ := strings.Cut(f, ":")
	return base
}

// faultReader pairs each fault's begin with its end, by name and nodes.
type faultReader struct {
	list   []fault
	open   map[string][]int // positions of those without an end
	counts map[string]FaultCount
	stalls int
}

func (r *faultReader) read(e *history.Event, t int64) {
	id := e.F + "\x00" + strings.Join(e.Nodes, "\x00")
	c := r.counts[e.F]
	switch e.Phase {
	case history.Begin:
		c.Injected++
		if e.Confirmed {
			c.Confirmed++
		}
		r.open[id] = append(r.open[id], len(r.list))
		r.list = append(r.list, fault{name: e.F, nodes: e.Nodes, begin: t, confirmed: e.Confirmed, clock: readRanWrong(e.Fault), loud: isLoud(e.Fault), steps: e.Fault})
	case history.End:
		if list := r.open[id]; len(list) > 0 {
			f := &r.list[list[0]]
			f.end, f.ended, f.healing = t, true, f.begin
			if e.Since > 0 {
				f.healing = sane(e.Since, t)
			}
			if e.Error != "" && f.confirmed { // only its end shows that it had no effect
				f.confirmed = false
				c.Confirmed--
			}
			r.open[id] = list[1:]
		}
	}
	if list := r.open[id]; e.Phase == "" && e.Error != "" && len(list) > 0 {
		r.list[list[len(list)-1]].stays = e.Error
	}
	switch {
	case e.F != Stall:
		r.counts[e.F] = c
	case e.Phase == history.Begin:
		r.stalls++
	}
}
