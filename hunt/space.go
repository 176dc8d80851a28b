package hunt

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/scenarios"
	acts "github.com/picklock/picklock/workloads"
)

// point is one schedule of the space, and at which depth it lies.
type point struct {
	id       string // its place in the space, whatever the names of equal clients; "" if it is none of the space
	same     bool   // one with this id came before: it is not run, and has no schedule
	schedule *scenarios.Scenario
	depth    int // how many faults it has
	workload string
	guided   bool     // it is none of the space
	alone    bool     // no other runs beside it
	again    *entry   // it is run once more, to see whether it shows that again
	counted  bool     // it was run before, and is run once more to be confirmed
	arms     []string // of the bandit, that made it
}

// first says that it was not run before.
func (p point) first() bool { return p.again == nil && !p.counted }

// space gives the schedules up to a depth, the shallow ones first, in an order that does
// not change.
func space(t Target, depth int) iter.Seq[point] {
	return func(yield func(point) bool) {
		for p := range enumerate(t, depth) {
			if !p.same && !yield(p) {
				return
			}
		}
	}
}

// enumerate is space with what it leaves out because equal clients do the same in each other's
// place.
func enumerate(t Target, depth int) iter.Seq[point] {
	return func(yield func(point) bool) {
		seen := map[string]bool{}
		give := func(w workload, triggered ...scenarios.TriggeredFault) bool {
			p := point{id: idOf(w, triggered), depth: len(triggered), workload: w.name}
			if p.same = seen[p.id]; !p.same {
				p.schedule = t.schedule(w, triggered...)
			}
			seen[p.id] = true
			return yield(p)
		}
		if depth < 0 {
			return
		}
		all := workloads(t)
		// They take longer than all the others, or show little without a fault: as many schedules with a fault as
		// there are faults come before them. Other leases tell most of these.
		rest, varied := leased(t, all), otherwise(t, all)
		for _, w := range all {
			if len(w.ends) > 0 && !w.soon {
				rest = append(rest, w)
			} else if !give(w) {
				return
			}
		}
		others := func() bool {
			for _, w := range rest {
				if !give(w) {
					return false
				}
			}
			rest = nil
			return true
		}
		vary := func(most int) bool {
			for ; most > 0 && len(varied) > 0; most-- {
				if !give(varied[0]) {
					return false
				}
				varied = varied[1:]
			}
			return true
		}
		if depth < 1 {
			_ = others() && vary(len(varied))
			return
		}
		soon := map[string]bool{} // by id: what came before its turn
		ahead := func() bool {
			list := impaired(t, all)
			for _, c := range list { // what either does alone is known before
				for _, one := range c.alone {
					id := idOf(c.workload, []scenarios.TriggeredFault{one})
					if seen[id] {
						continue
					}
					soon[id] = true
					if !give(c.workload, one) {
						return false
					}
				}
			}
			if depth < 2 {
				return true
			}
			for _, c := range list {
				soon[idOf(c.workload, c.triggered[:])] = true
				if !give(c.workload, c.triggered[0], c.triggered[1]) {
					return false
				}
			}
			return true
		}
		list, faults := single(t, all)
		for i, c := range list {
			if i == faults && (!others() || !ahead()) {
				return
			}
			if !soon[idOf(c.workload, []scenarios.TriggeredFault{c.triggered})] && !give(c.workload, c.triggered) {
				return
			}
			if i > faults && i%betweenVaried == 0 && !vary(1) {
				return
			}
		}
		if !others() || !vary(len(varied)) {
			return
		}
		if depth < 2 {
			return
		}
		for _, c := range pairs(t, all) {
			if !soon[idOf(c.workload, c.triggered[:])] && !give(c.workload, c.triggered[0], c.triggered[1]) {
				return
			}
		}
	}
}

// idOf names a schedule of the space: equal clients have the same.
func idOf(w workload, triggered []scenarios.TriggeredFault) string {
	return w.name + "|" + w.same(triggered)
}

type one struct {
	workload  workload
	triggered scenarios.TriggeredFault
	rank      int // of its fault
	turn      int // among those of its fault
	again     int // how often its fault was at the same place in another workload
}

// place is where in a client's act a fault begins, in whatever workload, and how it ends.
type place struct {
	client, do string
	manner     string // see workload.manner
	at         scenarios.Where
	message    int
	end        string
}

func (w workload) placeOf(s scenarios.TriggeredFault) place {
	p := place{s.When.Client, s.When.Do, w.manner(s.When.Client, s.When.Do, s.When.Nth), s.When.At, s.When.N, "late"}
	if s.When.Await != nil {
		p.client, p.do = s.When.Await.Client, s.When.Await.What
	}
	switch u := s.Until; {
	case u.AtOnce:
		p.end = "at once"
	case glitch(u):
		p.end = fmt.Sprint(u.Or.Leases)
	case u.Await != nil || u.Move.Client != "":
		p.end = "an event"
	}
	return p
}

// single gives every fault at every trigger that is new in its workload, and how many faults there are. They take
// turns, each with its trigger of the highest priority first: a search that is cut short has tried
// something of every fault, and a bug that takes a wrong clock is not found after all pauses. What happens every day has
// its second turn before what is rare has its first (everyTurn). Each
// fault is tried once at each place of each act, over all workloads, before any is tried there in another.
func single(t Target, all []workload) (list []one, faultsOfSpace int) {
	queues := map[string][]one{}
	for i := range all {
		for _, f := range faults(t, all[i].leading(t)) {
			queues[f.text] = append(queues[f.text], tried(t, all, i, f)...)
		}
	}
	for _, q := range queues {
		slices.SortStableFunc(q, func(a, b one) int { return a.turn - b.turn })
		again := map[place]int{}
		for i := range q {
			if q[i].workload.strikes != nil || t.Kept && q[i].workload.amid > 0 {
				continue // it is there for this fault, or for this kind of lock
			}
			p := q[i].workload.placeOf(q[i].triggered)
			q[i].again = again[p]
			again[p]++
		}
		slices.SortStableFunc(q, func(a, b one) int { return a.again - b.again })
		for turn := range q {
			q[turn].turn = turn
		}
		list = append(list, q...)
	}
	slices.SortFunc(list, func(a, b one) int {
		return cmp.Or(a.again-b.again, (everyTurn*a.turn+a.rank)-(everyTurn*b.turn+b.rank), a.turn-b.turn, strings.Compare(a.triggered.Fault.Text, b.triggered.Fault.Text))
	})
	return list, len(queues)
}

// everyTurn is how many ranks weigh as much as one turn: a crash of a client is tried at its second trigger before a full
// disk is tried at all.
const everyTurn = 4

// tried are the triggered faults that the space has of a fault in one workload, by priority, the highest
// first.
func tried(t Target, all []workload, i int, f fault) []one {
	var out []one
	trigger, n, later := scenarios.Trigger{}, -1, 0
	for _, s := range triggeredOf(t, all[i], f) {
		another := s.When == trigger // another end of the same
		if !another {
			trigger, n, later = s.When, n+1, 0
		}
		if all[i].strikes != nil || f.tells(t, s, another) && f.shows(all, i, s) {
			out = append(out, one{workload: all[i], triggered: s, rank: f.rank, turn: 2*f.order(t, all, i, s) + 2*n + later})
			later = 3 // another trigger tells more than another end
		}
	}
	return out
}

// shows says that a workload shows of a triggered fault what none before it does. What a wrong
// clock does shows only later, by what follows; what a glitch does, when a lease ends that
// somebody still relies on.
func (f fault) shows(all []workload, i int, s scenarios.TriggeredFault) bool {
	if f.word == "clock" {
		return true
	}
	before := slices.DeleteFunc(slices.Clone(all[:i]), func(w workload) bool { return w.strikes != nil })
	if f.glitches != nil && glitch(s.Until) {
		long := func(w workload) bool { return w.outlives() || w.renews() }
		if !long(all[i]) {
			return false
		}
		before = slices.DeleteFunc(before, func(w workload) bool { return !long(w) })
	}
	return all[i].reachesNewPoint(before, s.When)
}

// order is which one of the workloads a fault has its turn in. A wrong clock tells most where
// a section is longer than the lease, and everybody relies on when it ends, or where all ask at
// once, and each judges the others by its own; so does a glitch. A renewal does not wait until all
// is tried that happens without one, whether a client asks for it or its library.
func (f fault) order(t Target, all []workload, i int, s scenarios.TriggeredFault) int {
	first := slices.IndexFunc(all, workload.outlives)
	byLease := f.word == "clock" || f.glitches != nil && glitch(s.Until)
	switch {
	case all[i].name == stays: // it takes longer than the others
		return 2
	case t.Kept && all[i].name == works: // what keeps the lock is what a fault disturbs
		return -1
	case all[i].name == restarts && s.Until.AtOnce: // a holder that comes back has left behind what any other crash leaves
		return -1
	case all[i].strikes != nil, t.Kept && all[i].amid > 0:
		return 1
	case s.When.Do == history.Renew, s.When.Do == acts.Downgrade:
		return -1 // the acquire before it is no new place, and counts
	case s.When.Do == acts.Held && f.whom != "": // what the library answers by itself, by this clock or if it cannot ask
		return -1
	case !byLease || len(all[0].swaps) > 1 || first < 0 || i > first:
		return i
	case i == first:
		return 0
	}
	return i + 1
}

// leading are the clients that faults of the space fall on: a third does what the second
// does, a turn later.
func (w workload) leading(t Target) []string {
	if t.Permits > 1 {
		return clientNames[:len(w.programs)]
	}
	return clientNames[:min(2, len(w.programs))]
}

// triggeredOf are the triggered faults of one fault in one workload: at each of its triggers, with
// each of its ends.
func triggeredOf(t Target, w workload, f fault) []scenarios.TriggeredFault {
	var out []scenarios.TriggeredFault
	for _, a := range triggersOf(t, w, f) {
		for _, u := range untils(t, w, f, a) {
			s, err := scenarios.NewTriggeredFault(f.text, a, u)
			if err != nil {
				continue // a fault that the language does not know on this target
			}
			out = append(out, s)
		}
	}
	return out
}

// messages is how many messages of one act are tried as triggers: an acquire of most locks
// takes one to three, and one more for each time that a library asks again. After one that does not
// come, none is tried.
const messages = 5

// triggersOf are the triggers of a fault in a workload, the highest priority first: pauses matter
// most before writes, and a wrong clock or a bad link to a client that acquires the lock.
func triggersOf(t Target, w workload, f fault) []scenarios.Trigger {
	var out []scenarios.Trigger
	for i, p := range w.programs {
		c := clientNames[i]
		if f.whom != "" && f.whom != c || f.whom == "" && i > 1 {
			continue
		}
		if w.also != nil && c == w.also.Client {
			out = append(out, *w.also)
		}
		if w.amid > 0 {
			if f.idle && i == 0 {
				out = append(out, scenarios.Trigger{At: scenarios.Before, Client: c, Do: scenarios.Work, Nth: w.amid})
			}
			continue
		}
		for _, a := range moves(c, p) {
			if f.at(a) {
				out = append(out, a)
			}
			for _, where := range f.sent {
				for n := 1; asks(a.Do) && n <= messages && len(t.Servers) > 0; n++ {
					b := a
					b.At, b.N = where, n
					out = append(out, b)
				}
			}
		}
		if f.whom == c || f.whom == "" && i == 1 {
			out = append(out, scenarios.Trigger{At: scenarios.Event, Await: scenarios.AwaitClient(c, "waiting")})
		}
	}
	if w.strikes != nil {
		out = slices.DeleteFunc(out, func(a scenarios.Trigger) bool { return !w.strikes(f, a) })
	}
	order := map[string]int{history.Acquire: 0, history.Renew: 0, acts.Downgrade: 0, history.Release: 1}
	if f.word == "pause" || f.word == "kill" || len(f.sent) == 0 && !f.at(scenarios.Trigger{Do: history.Acquire}) {
		order = map[string]int{history.Write: 0, history.Release: 1, history.Renew: 1, acts.Downgrade: 1}
	}
	slices.SortStableFunc(out, func(a, b scenarios.Trigger) int { return priority(order, f, a) - priority(order, f, b) })
	return out
}

func priority(order map[string]int, f fault, a scenarios.Trigger) int {
	n, ok := order[a.Do]
	switch {
	case a.At == scenarios.After && a.Do == history.Acquire && f.whom == "":
		return -2 // and before the other one asks
	case a.At == scenarios.Event && f.whom == "":
		return -1 // what befalls a server tells most while one has the lock and another asks
	case a.At == scenarios.Event && f.word == "kill" && a.Await.Client != clientNames[0]:
		return -1 // what a dead waiter leaves in line keeps the others out; a dead holder is tried as A
	case a.At == scenarios.Event && f.word == "pause" && a.Await.Client != clientNames[0]:
		return 0 // the lock may be handed to one that does not hear of it
	case a.Do == acts.Held && a.At == scenarios.Before && f.word == "clock":
		return -1 // what the library answers by itself has no messages
	case !ok:
		n = 2
	}
	switch {
	case a.At != scenarios.Sent && a.At != scenarios.Answered:
	case f.word == "clock": // it matters most while something is measured with it
		n += 2*a.N - 3
	case f.word == "pause": // what is asked in two messages is not asked at once
		n += a.N
	default:
		n += 2 * a.N
	}
	return n
}
