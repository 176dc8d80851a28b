package hunt

import (
	"slices"

	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/scenarios"
	acts "github.com/picklock/picklock/workloads"
)

// The workloads of a release that comes when the other kind of holder has the lock: it must not end what is not its own. A lock that
// is renewed comes to that by faults, in the other workloads.
const (
	readerOutlives = "reader-outlives"
	writerOutlives = "writer-outlives"
)

// The workloads of a writer that stops waiting for a reader: what it leaves behind to be the next must not keep other readers out for good.
const (
	writerGivesUp = "writer-gives-up"
	writerCancels = "writer-cancels"
)

// entersRenewed is the workload of a holder that renews its lease in an inner section, which it leaves then: the outer one goes on, and no count may be lost by the renewal.
const entersRenewed = "enters-renewed"

// downgradesLate is the workload of a writer that goes on to read when much of its lease is over, and reads for nearly as long as the new one promises.
const downgradesLate = "downgrades-late"

// writerDies is that this writer is killed while it waits.
func writerDies(f fault, at scenarios.Trigger) bool {
	return f.word == "kill" && f.whom == clientNames[1] && at.At == scenarios.Event
}

// kindWorkloads are workloads of what a lock can do that is no mutex: who holds a reentrant one enters it once more, and
// readers share a read-write lock.
func kindWorkloads(t Target) [][]string {
	var texts [][]string
	if t.Reentrant {
		texts = append(texts,
			[]string{"enters", // A leaves an inner section long before the outer one
				"acquire, read, acquire, work 0.1 leases, release, work 0.5 leases, write, release",
				"await A granted or 3 leases, acquire, read, work 0.3 leases, write, release",
				"await B granted or 3 leases, acquire, read, write, release"},
			[]string{"enters-late", // A enters once more in the middle of its lease, and goes on beyond the lease's end
				"acquire, read, work 0.6 leases, acquire, work 0.7 leases, write, release, release",
				"await A granted or 3 leases, acquire, read, work 0.3 leases, write, release",
				"await B granted or 3 leases, acquire, read, write, release"},
			[]string{"enters-lost", // A enters once more when its lease is over and B has the lock
				"acquire, read, work 1.2 leases, acquire, work 0.3 leases, write, release, release",
				"await A granted or 3 leases, acquire, read, work 0.8 leases, write, release",
				"await B granted or 3 leases, acquire, read, write, release"},
			[]string{"enters-before", // A's section follows one that A had entered twice, and is longer than the lease
				"acquire, acquire, read, release, release, acquire, read, work 1.3 leases, write, release",
				"await after A's 3rd acquire or 3 leases, acquire, read, work 0.3 leases, write, release",
				"await B granted or 3 leases, acquire, read, write, release"},
			[]string{entersRenewed,
				"acquire, read, work 0.5 leases, acquire, renew, release, work 0.6 leases, write, release",
				"await A granted or 3 leases, acquire, read, work 0.5 leases, write, release"})
	}
	if t.Shared {
		texts = append(texts,
			[]string{"readers", // two share the lock, the second one leaves first, and a writer waits for both
				"acquire shared, read, work 0.6 leases, read, release",
				"await A granted or 3 leases, acquire shared, read, work 0.2 leases, release",
				"await B granted or 3 leases, acquire, read, write, release"},
			[]string{"joins", // B comes to share the lock late, and stays longer than A's first lease
				"acquire shared, read, work 0.6 leases, read, work 0.6 leases, read, release",
				"await after A's work or 3 leases, acquire shared, read, work 0.7 leases, read, release",
				"await B granted or 3 leases, acquire, read, write, release"},
			[]string{"between", // a reader asks while a writer waits for another reader
				"acquire shared, read, work 0.2 leases, work 0.3 leases, read, release",
				"await A granted or 3 leases, acquire, read, work 0.3 leases, write, release",
				"await A's 2nd work or 3 leases, acquire shared, read, work 0.3 leases, read, release"},
			[]string{"beside", // two readers ask while a writer has the lock
				"acquire, read, work 0.4 leases, write, release",
				"await A granted or 3 leases, acquire shared, read, work 0.4 leases, read, release",
				"await A granted or 3 leases, acquire shared, read, work 0.4 leases, read, release"},
			[]string{"among", // a reader waits between two writers
				"acquire, read, work 0.4 leases, write, release",
				"await A granted or 3 leases, acquire shared, read, work 0.3 leases, read, release",
				"await B waiting or 3 leases, work 0.2 leases, acquire, read, work 0.2 leases, write, release"},
			[]string{"behind", // a reader asks while a writer waits for another one
				"acquire, read, work 0.4 leases, write, release",
				"await A granted or 3 leases, acquire, read, work 0.3 leases, write, release",
				"await B waiting or 3 leases, work 0.2 leases, acquire shared, read, work 0.2 leases, read, release"},
			[]string{"ahead", // two writers wait for a reader
				"acquire shared, read, work 0.4 leases, read, release",
				"await A granted or 3 leases, acquire, read, work 0.3 leases, write, release",
				"await B waiting or 3 leases, work 0.2 leases, acquire, read, work 0.2 leases, write, release"},
			[]string{readerOutlives, // A's share is over when a writer has the lock, and A gives it back then
				"acquire shared, read, work 1.3 leases, read, release",
				"await A granted or 3 leases, acquire, read, work 0.6 leases, write, release",
				"await B granted or 3 leases, acquire, read, write, release"},
			[]string{writerOutlives, // A's lease is over when a reader has the lock, and A gives it back then
				"acquire, read, work 1.3 leases, write, release",
				"await A granted or 3 leases, acquire shared, read, work 0.6 leases, read, release",
				"await B granted or 3 leases, acquire, read, write, release"},
			[]string{writerGivesUp,
				"acquire shared, read, work 0.6 leases, read, release",
				"await A granted or 3 leases, acquire within 0.3 leases, read, write, release",
				"await after A's release or 6 leases, acquire shared, read, release"},
			[]string{"race-shared", // two readers and a writer ask at once
				"acquire shared, read, work 0.1 leases, read, release",
				"acquire, read, work 0.1 leases, write, release",
				"acquire shared, read, work 0.1 leases, read, release"})
	}
	if t.Shared && t.Cancels {
		texts = append(texts,
			[]string{writerCancels,
				"acquire shared, read, work 0.6 leases, read, release",
				"await A granted or 3 leases, acquire cancelled after 0.3 leases, read, write, release",
				"await after A's release or 6 leases, acquire shared, read, release"})
	}
	if t.Downgrades {
		texts = append(texts,
			[]string{"downgrades", // a writer goes on to read, and another one waits for it
				"acquire, read, write, work 0.2 leases, downgrade, read, work 0.5 leases, read, release",
				"await A granted or 3 leases, acquire, read, work 0.2 leases, write, release",
				"await after A's downgrade or 3 leases, acquire shared, read, work 0.3 leases, read, release"},
			[]string{"downgrades-long", // and reads for longer than a lease, which its library may renew
				"acquire, read, write, downgrade, read, work 1.4 leases, read, release",
				"await A granted or 3 leases, acquire, read, work 0.2 leases, write, release",
				"await after A's downgrade or 3 leases, acquire, read, work 0.2 leases, write, release"},
			[]string{downgradesLate,
				"acquire, read, write, work 0.6 leases, downgrade, read, work 0.8 leases, read, release",
				"await A granted or 3 leases, acquire, read, work 0.3 leases, write, release"})
	}
	return texts
}

// manner is how a client has the lock at a trigger: shared, or nested; "" for neither. A fault there tells
// something else than at the same act of a client that has the lock alone.
func (w workload) manner(client, do string, nth int) string {
	for i, p := range w.programs {
		if clientNames[i] != client {
			continue
		}
		entries, shared := 0, false
		for _, m := range p {
			if m.Do == history.Acquire {
				entries, shared = entries+1, m.Shared
			}
			shared = shared || m.Do == acts.Downgrade
			if m.Do == do {
				nth--
			}
			switch {
			case nth <= 0 && shared:
				return history.Shared
			case nth <= 0 && entries > 1:
				return history.Nested
			case nth <= 0:
				return ""
			case m.Do == history.Release && !m.Again:
				entries--
			}
		}
	}
	return ""
}

// kind changes a program as only a lock of the target's kind allows: a section is entered once more, or another one is
// shared or is so no more.
func (m *mutator) kind(p scenarios.Program, i int) scenarios.Program {
	if m.t.Shared {
		if j := slices.IndexFunc(p[i:], func(m scenarios.Move) bool { return m.Do == history.Acquire }); j >= 0 {
			p[i+j].Shared = !p[i+j].Shared
		}
	}
	if m.t.Reentrant && after(p, i) {
		p = slices.Insert(p, i, scenarios.Move{Do: history.Acquire})
		p = slices.Insert(p, i+1+m.rng.IntN(len(p)-i), scenarios.Move{Do: history.Release})
	}
	return p
}

// inner are the sections within others of a program: the place of each acquire under a grant, and of its release.
func inner(p scenarios.Program) [][2]int {
	var out [][2]int
	var open []int
	for i, m := range p {
		switch {
		case m.Do == history.Acquire:
			open = append(open, i)
		case m.Do != history.Release || len(open) == 0:
		default:
			if len(open) > 1 {
				out = append(out, [2]int{open[len(open)-1], i})
			}
			open = open[:len(open)-1]
		}
	}
	return out
}
