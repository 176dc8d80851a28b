package hunt

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/scenarios"
	acts "github.com/picklock/picklock/workloads"
)

// workload is what the clients of a schedule do: client i carries out programs[i].
type workload struct {
	name     string
	programs []scenarios.Program
	swaps    []map[string]string // of clients that change nothing
	lease    time.Duration       // 0: the target's
	// amid: it is there for what the lock's library does by itself while its client works, and faults begin before
	// the move of this number in which A works, and nowhere else; 0: they begin anywhere.
	amid int
	// strikes chooses the faults that are tried in it, and where; nil: all of them. Such a workload is there for
	// one thing, and is no base for schedules that are drawn at random.
	strikes func(f fault, at scenarios.Trigger) bool
	// also is a trigger that the other workloads do not have; nil: none.
	also *scenarios.Trigger
	// ends are how those faults end; nil: as in all other workloads.
	ends []scenarios.Until
	// soon: it is run without a fault before any, whatever its ends.
	soon bool
	// ignores: its clients go on if their library reports the loss of a lock.
	ignores bool
	extra   map[string]string // options of the lock, besides the target's
}

// outlives says that a section is longer than the lease.
func (w workload) outlives() bool {
	return slices.ContainsFunc(w.programs, func(p scenarios.Program) bool {
		return slices.ContainsFunc(p, func(m scenarios.Move) bool { return m.Do == scenarios.Work && m.Span.Leases > 1 })
	})
}

// renews says that a lease is extended.
func (w workload) renews() bool {
	return slices.ContainsFunc(w.programs, func(p scenarios.Program) bool {
		return slices.ContainsFunc(p, func(m scenarios.Move) bool { return m.Do == history.Renew })
	})
}

// leased are the workloads that tell how long a lease is kept, once with each of the target's
// other leases.
func leased(t Target, all []workload) []workload {
	var out []workload
	for _, lease := range t.Leases {
		for _, w := range all {
			if w.amid == 0 && w.name != asksHeld && w.strikes == nil && (w.outlives() || w.renews()) {
				w.name, w.lease = fmt.Sprintf("%s at %v", w.name, lease), lease
				out = append(out, w)
			}
		}
	}
	return out
}

// workloads are what is searched: a bug that no program can reach is not found, however
// many faults are injected. A has the lock first in all of them, as far as one can say.
func workloads(t Target) []workload {
	texts := [][]string{
		{"overlap", // A's section and what follows it, with two who wait
			"acquire, read, work 0.2 leases, write, release",
			"await A granted or 3 leases, acquire, read, work 0.3 leases, write, release",
			"await B granted or 3 leases, acquire, read, write, release"},
		{"outlive", // a section that is longer than the lease, and B's begins before A's ends
			"acquire, read, work 1.3 leases, write, release",
			"await A granted or 3 leases, acquire, read, work 0.6 leases, write, release",
			"await B granted or 3 leases, acquire, read, write, release"},
		{"again", // both come back for more
			"acquire, read, write, release, acquire, read, work 0.1 leases, write, release",
			"await A granted or 3 leases, acquire, read, write, release, acquire, read, write, release"},
		{renews, // A extends its lease, and works for nearly as long as that promises
			"acquire, read, work 0.6 leases, renew, work 0.85 leases, write, release",
			"await A granted or 3 leases, acquire, read, work 0.3 leases, write, release",
			"await B granted or 3 leases, acquire, read, write, release"},
		{"give-up", // B does not wait for long, with C behind it, and comes back; A's work tells C when B is waiting
			"acquire, read, work 0.15 leases, work 0.55 leases, write, release",
			"await A granted or 3 leases, acquire within 0.3 leases, read, write, release, acquire, read, work 0.3 leases, write, release",
			"await A's 2nd work or 3 leases, acquire, read, write, release"},
		{"race", // all ask at once
			"acquire, read, work 0.1 leases, write, release",
			"acquire, read, work 0.1 leases, write, release",
			"acquire, read, work 0.1 leases, write, release"},
		{works, // A's library renews its lease while A works
			"acquire, read, work 0.5 leases, work 2 leases, write, release",
			"await A granted, acquire, read, write, release"},
		{later, // A comes back, and its library renews the next lease as well
			"acquire, read, work 2 leases, release, acquire, read, work 2 leases, write, release",
			"await A's 2nd work or 15 leases, acquire, read, write, release"},
		{alone, // A extends its lease again and again, and nobody else asks meanwhile
			"acquire, read, work 0.6 leases, renew, work 0.6 leases, renew, work 0.6 leases, renew, write, release",
			"await A done or 9 leases, acquire, read, write, release",
			"await A done or 9 leases, acquire, read, write, release"},
		{renewsSoon, // A extends its lease when most of it is left, and works for nearly as long as that promises
			"acquire, read, work 0.2 leases, renew, work 0.9 leases, write, release",
			"await A granted or 3 leases, acquire, read, work 0.3 leases, write, release"},
		{lives, // A extends its lease again and again while B waits, and C asks when A has done its last or died
			"acquire, read, renew for 8 leases, write, release",
			"await A granted or 3 leases, acquire, read, write, release",
			"await A done or 12 leases, acquire, read, write, release"},
		{turns, // all come back again and again
			"acquire, read, write, release, again 33 times",
			"acquire, read, write, release, again 33 times",
			"acquire, read, write, release, again 33 times"},
		{restarts, // A dies as the holder, starts again and asks at once, as who it was
			"acquire, read, work 0.2 leases, write, release, acquire, read, work " + t.anew() + " leases, write, release",
			"await A granted or 3 leases, acquire, read, work 0.6 leases, write, release",
			"await B granted or 3 leases, acquire, read, write, release"},
		{lapses, // A stops waiting while its grant is on the way
			"acquire within 0.1 leases, read, write, release",
			"await after A's acquire or 3 leases, acquire, read, write, release",
			"await B granted or 3 leases, acquire, read, write, release"},
		{comesBack, // A asks again while the answer to its earlier request is on the way, and others have the lock
			"acquire, read, write, release, acquire, read, work 0.5 leases, write, release",
			"await A granted or 0.3 leases, acquire, read, work 0.8 leases, write, release, acquire, read, work 0.8 leases, write, release",
			"await B granted or 3 leases, acquire, read, work 0.8 leases, write, release"},
	}
	texts = append(slices.Concat(texts, cancelling(t), twoKeys()), fiveClients, returning)
	if t.Holds {
		texts = append(texts, []string{asksHeld, // A asks whether it still holds the lock when B has it
			"acquire, read, work 1.3 leases, held?, write, release",
			"await A granted or 3 leases, acquire, read, work 0.6 leases, write, release"},
			[]string{asksTwice,
				"acquire, read, held?, work 0.5 leases, held?, write, release",
				"await A granted or 3 leases, acquire, read, work 0.9 leases, write, release"})
	}
	texts = slices.Insert(texts, kindsFrom, kindWorkloads(t)...)
	if t.ReleasesTwice {
		texts = append(texts, releaseTwice(t))
	}
	if t.Holds && t.Kept {
		texts = append(texts, []string{asksLater, // A works on for long, and asks whether it still holds the lock when B has had it
			"acquire, read, work 0.5 leases, work 2 leases, held?, write, release",
			"await A granted, acquire, read, write, release"})
	}
	if t.Kept {
		texts = append(texts, longHolds(t)...)
	}
	texts = slices.Concat(texts, forgetful(t), oneLost(t), freeing(t), withOther(t))
	if t.Permits > 1 {
		texts = append(crowd(t.Permits), cancellingCrowd(t)...)
		for _, text := range [][]string{renewedPermit(t), renewedBeside(), permitTakenBy(t), permitRenewedBy(t), renewsLateBy(t)} {
			if text != nil {
				texts = append(texts, text)
			}
		}
		texts = slices.Concat(texts, forgetful(t), freeing(t))
		if t.ReleasesTwice && len(t.ClientNames()) == t.Permits+2 { // one waits while all permits are taken
			texts = append(texts, releaseTwice(t))
		}
	}
	var out []workload
	for _, text := range texts {
		w := workload{name: text[0], lease: t.leaseOf(text[0]), amid: amid[text[0]], strikes: narrow[text[0]].strikes, also: narrow[text[0]].also, ends: narrow[text[0]].ends, soon: narrow[text[0]].soon, ignores: narrow[text[0]].ignores}
		for _, program := range text[1:] {
			w.programs = append(w.programs, scenarios.MustProgram(program, clientNames))
		}
		w.swaps = swaps(w.programs)
		out = append(out, w)
	}
	return out
}

// kindsFrom is the place of the workloads of a kind of lock: after those that every lock must bear.
const kindsFrom = 2

// works is the workload of what a library does by itself.
const works = "works"

// later is the workload of what a library does by itself for a grant after the first one: a watchdog may have ended
// with that, or by an error in it.
const later = "later"

// amid is in which work of A the faults of these workloads begin.
var amid = map[string]int{works: 2, later: 1, secluded: 1, asksLater: 2, unanswered: 1}

// laterEnds are after a short glitch, after the lease, and when most libraries have given a request up.
var laterEnds = []scenarios.Until{
	{Or: scenarios.Span{Leases: 0.7}},
	{Or: scenarios.Span{Leases: 1.6}},
	{Or: scenarios.Span{Leases: 10}},
}

// asksHeld is the workload of a client that asks whether it holds the lock.
const asksHeld = "asks"

// asksTwice is the workload of a client that asks whether it holds the lock while it has it, which must change nothing, and asks again: a library that has made a new
// connection since, and with it lost the lock, must say so.
const asksTwice = "asks-twice"

// questionLost is that the answer to A's first question is lost, with its connection or without.
func questionLost(f fault, at scenarios.Trigger) bool {
	return at.At == scenarios.Sent && at.Do == acts.Held && at.Nth == 1 && lostAnswer(f)
}

// asksLater is the same for a lock that its library, or its session, keeps: what takes it away befalls the client while it works.
const asksLater = "asks-later"

// crowd are workloads for a lock that several hold at once. It does not protect what they would write.
func crowd(permits int) [][]string {
	n := len(Target{Permits: permits}.ClientNames())
	race, late := []string{"race"}, []string{"late"}
	for i := range n {
		race = append(race, "acquire, read, work 0.3 leases, release")
		if i == 0 {
			late = append(late, "acquire, read, work 1.3 leases, release")
			continue
		}
		late = append(late, fmt.Sprintf("await %s granted or 3 leases, acquire, read, work 0.5 leases, release", clientNames[i-1]))
	}
	again := append([]string{"again"}, race[1:]...)
	for i := range again[1:] {
		again[i+1] = strings.Repeat(again[i+1]+", ", 2)
		again[i+1] = strings.TrimSuffix(again[i+1], ", ")
	}
	// All permits of the first ones are over when they give them back, and ask again: what such a release frees is another client's.
	expired := []string{"expired"}
	for i := range n {
		program, await := "acquire, read, work 0.9 leases, release", ""
		if i < permits {
			program = "acquire, read, work 1.3 leases, release, acquire, read, work 0.3 leases, release"
		}
		if i > 0 {
			await = fmt.Sprintf("await %s granted or 3 leases, ", clientNames[i-1])
		}
		expired = append(expired, await+program)
	}
	return [][]string{race, late, again, expired}
}

// moves counts how often a program makes a move, and lists each as a trigger's client,
// word and number.
func moves(client string, p scenarios.Program) []scenarios.Trigger {
	count := map[string]int{}
	var out []scenarios.Trigger
	for _, m := range p {
		count[m.Do]++
		out = append(out, scenarios.Trigger{At: scenarios.Before, Client: client, Do: m.Do, Nth: count[m.Do]})
	}
	return out
}

// asks says that the move is one that the lock service hears of.
func asks(do string) bool {
	return do == history.Acquire || do == history.Release || do == history.Renew || do == acts.Held || do == acts.Downgrade
}

// touches says that the move is one that the register hears of.
func touches(do string) bool {
	return do == history.Read || do == history.Write || do == history.Add
}

// reachesNewPoint says that a trigger is at a point that none of the earlier workloads comes to: until
// then its client has done something else, or the others began otherwise.
func (w workload) reachesNewPoint(earlier []workload, a scenarios.Trigger) bool {
	name := a.Client
	if a.Await != nil {
		name = a.Await.Client
	}
	c := slices.Index(clientNames, name)
	if c < 0 {
		return true
	}
	for _, e := range earlier {
		if c < len(e.programs) && e.begins(w, c) && prefixThrough(w.programs[c], a) == prefixThrough(e.programs[c], a) {
			return false
		}
	}
	return true
}

// begins says that the other clients begin as they do in another workload.
func (w workload) begins(as workload, client int) bool {
	for i := range min(len(w.programs), len(as.programs)) {
		if i != client && w.programs[i][0].String() != as.programs[i][0].String() {
			return false
		}
	}
	return true
}

// prefixThrough is a program up to the move of a trigger.
func prefixThrough(p scenarios.Program, a scenarios.Trigger) string {
	do, nth := a.Do, a.Nth
	if do == "" { // an event: it waits for its first grant
		do, nth = history.Acquire, 1
	}
	for i, m := range p {
		if m.Do != do {
			continue
		}
		if nth--; nth <= 0 {
			return p[:i+1].String()
		}
	}
	return p.String()
}
