package checker

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/picklock/picklock/history"
)

// Stall is the name under which a history says that the machine itself stood still: it
// excuses what a fault would, and nobody injected it.
const Stall = "stall"

// Settle is how long a cut network may be felt at most after it was healed: services
// give a silent connection up before (etcd's peers after 5 s, ZooKeeper's after some
// ticks).
const Settle = 15 * time.Second

// fault is one injection.
type fault struct {
	name       string
	nodes      []string
	clients    int // how many of the nodes are clients
	begin, end int64
	ended      bool
	stays      string // why it could not be healed
	landed     bool
}

// onService says whether it was on anything but clients.
func (f *fault) onService() bool { return len(f.nodes) == 0 || f.clients < len(f.nodes) }

// concerns says whether it can have an effect on this client.
func (f *fault) concerns(process string) bool {
	return slices.Contains(f.nodes, process) || f.concernsOthers()
}

// concernsOthers says whether it can have an effect on clients that it does not name. A
// network that is cut between clients and others is whole for those.
func (f *fault) concernsOthers() bool {
	if f.onLinks() && f.clients > 0 {
		return false
	}
	return f.onService()
}

// onLinks says whether it was on the network between its nodes, not on the nodes.
func (f *fault) onLinks() bool {
	return f.losesPackets() || slices.Contains([]string{"hold", "slow"}, baseName(f.name))
}

// losesPackets says whether senders may have waited in vain for an acknowledgement.
func (f *fault) losesPackets() bool {
	return slices.Contains([]string{"partition", "reset", "loss", "flap"}, baseName(f.name))
}

// baseName is a fault's name without what follows a colon.
func baseName(f string) string {
	base, _, _ := strings.Cut(f, ":")
	return base
}

// faultReader pairs each fault's begin with its end, by name and nodes.
type faultReader struct {
	list   []fault
	open   map[string][]int // places of those without an end
	counts map[string]FaultCount
	stalls int
	healed int64 // when the latest of those ended that landed, -1 for none
}

func (r *faultReader) read(e *history.Event, t int64) {
	id := e.F + "\x00" + strings.Join(e.Nodes, "\x00")
	c := r.counts[e.F]
	switch e.Phase {
	case history.Begin:
		c.Injected++
		if e.Landed {
			c.Landed++
		}
		r.open[id] = append(r.open[id], len(r.list))
		r.list = append(r.list, fault{name: e.F, nodes: e.Nodes, begin: t, landed: e.Landed})
	case history.End:
		if list := r.open[id]; len(list) > 0 {
			f := &r.list[list[0]]
			f.end, f.ended = t, true
			r.open[id] = list[1:]
			if f.landed && f.name != Stall {
				r.healed = t
			}
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

// faultLog is all faults of a history that ended at last.
type faultLog struct {
	list  []fault // by begin
	reach []int64 // per fault, the greatest end among it and all before
	// harm is when faults were on that concern a process, for those that some fault
	// names, and elsewhere for all others.
	harm      map[string][]span
	elsewhere []span
	unsettled []span // when cuts of the network may be felt
}

// newFaultLog completes what was read.
func newFaultLog(list []fault, last int64, isClient func(string) bool) *faultLog {
	l := &faultLog{list: list, harm: map[string][]span{}}
	for i := range list {
		f := &list[i]
		if !f.ended {
			f.end = last
		}
		for _, n := range f.nodes {
			if isClient(n) {
				f.clients++
				l.harm[n] = nil
			}
		}
	}
	slices.SortStableFunc(list, func(a, b fault) int { return cmp.Compare(a.begin, b.begin) })
	top := int64(0)
	for _, f := range list {
		top = max(top, f.end)
		l.reach = append(l.reach, top)
	}
	for process := range l.harm {
		l.harm[process] = harmTo(list, func(f *fault) bool { return f.concerns(process) })
	}
	l.elsewhere = harmTo(list, (*fault).concernsOthers)
	l.unsettled = unsettled(list)
	return l
}

// unsettled lists when cuts of the network may be felt. A sender that hears nothing
// doubles the time to its next attempt (RFC 6298, 5.5): one that was cut off for some
// seconds, or at each of its attempts, may stay silent for as many seconds after.
func unsettled(list []fault) []span {
	var out []span
	for _, f := range list { // by begin
		if !f.losesPackets() || !f.ended {
			continue
		}
		if n := len(out); n == 0 || f.begin > out[n-1].to {
			out = append(out, span{from: f.begin})
		}
		s := &out[len(out)-1]
		s.to = max(s.to, satAdd(f.end, min(f.end-s.from, int64(Settle))))
	}
	return out
}

// harmTo lists when a fault was on that can explain what a client lost that it concerns,
// landed or not, and for as long again as it lasted, while it may still be felt (see
// unsettled).
func harmTo(list []fault, concerns func(*fault) bool) []span {
	var out []span
	for i := range list { // by begin
		f := &list[i]
		if !concerns(f) {
			continue
		}
		until := satAdd(f.end, min(f.end-f.begin, int64(Settle)))
		if n := len(out); n > 0 && f.begin <= out[n-1].to {
			out[n-1].to = max(out[n-1].to, until)
			continue
		}
		out = append(out, span{f.begin, until})
	}
	return out
}

// harmTo lists when a fault was on that concerns a client, or may still have been felt.
func (l *faultLog) harmTo(process string) []span {
	if h, named := l.harm[process]; named {
		return h
	}
	return l.elsewhere
}

// on lists the landed faults that were on at some time in [from, to].
func (l *faultLog) on(from, to int64) []*fault {
	n, _ := slices.BinarySearchFunc(l.list, to, func(f fault, t int64) int {
		if f.begin <= t {
			return -1
		}
		return 1
	})
	var out []*fault
	for i := n - 1; i >= 0 && l.reach[i] >= from; i-- {
		if f := &l.list[i]; f.landed && f.end >= from {
			out = append(out, f)
		}
	}
	slices.Reverse(out)
	return out
}

// onService says whether a landed fault on anything but clients was on in [from, to].
func (l *faultLog) onService(from, to int64) bool {
	return slices.ContainsFunc(l.on(from, to), (*fault).onService)
}
