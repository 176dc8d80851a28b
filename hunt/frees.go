package hunt

import (
	"fmt"
	"time"

	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/scenarios"
)

// frees is the workload of a release that frees nothing, or not all that its client had taken: B asks for the lock when A has given it back, long before the
// lease ends. B had the lock once before: nothing has to be started, or connected, any more. In the other workloads a client that is kept waiting by what is left of
// a lease has asked before the release, or the lease is too short to tell that from a slow answer. What remains of it after one lost answer shows there, too.
const frees = "frees"

// The same for a lock that is entered once more, and for one that is shared.
const (
	freesNested = "frees-nested"
	freesShared = "frees-shared"
)

// freeing are their programs, for a lock with leases, or one that is renewed by itself.
func freeing(t Target) [][]string {
	if t.Granted == 0 && !t.Watchdog {
		return nil
	}
	program := func(name, section, last string) []string {
		return []string{name,
			"await after B's release or 3 leases, " + section,
			fmt.Sprintf("acquire, read, write, release, await after A's %srelease or 4 leases, acquire, read, write, release", last),
		}
	}
	if t.Permits > 1 {
		return permitFreed(t)
	}
	texts := [][]string{program(frees, "acquire, read, work 0.25 leases, write, release", "")}
	if t.Reentrant {
		texts = append(texts, program(freesNested, "acquire, read, acquire, work 0.25 leases, write, release, release", "2nd "))
	}
	if t.Shared {
		texts = append(texts, program(freesShared, "acquire shared, read, work 0.25 leases, release", ""), crashFreed(t))
	}
	return texts
}

// freesCrashed is the workload of a reader that dies, and of another one that has the lock for longer: a writer asks when that has given it back.
// The writer has had it twice before: how fast it is answered shows by the second time. In the other workloads the dead reader's lease is over when
// a writer has waited for it, or the lock is somebody's for as long as a writer waits.
const freesCrashed = "frees-crashed"

// crashFreed are its programs.
func crashFreed(t Target) []string {
	stays := "work 0.7 leases, renew, work 0.5 leases, renew, work 0.1 leases"
	if t.Kept {
		stays = "work 1.4 leases"
	}
	return []string{freesCrashed,
		"await after C's 2nd release or 3 leases, acquire shared, read, await B granted or 3 leases, release",
		"await A granted or 4 leases, acquire shared, read, " + stays + ", release",
		"acquire, read, release, acquire, read, write, release, await after B's release or 7 leases, acquire, read, write, release",
	}
}

// crashOfSharer is that A dies while it shares the lock.
func crashOfSharer(f fault, at scenarios.Trigger) bool {
	return f.word == "kill" && f.whom == clientNames[0] && at.At == scenarios.Before && at.Do == history.Release
}

// permitFreed are the programs for a semaphore: A gives its permit back, the others have all but one, and A asks for that.
func permitFreed(t Target) [][]string {
	names := t.ClientNames()
	out := []string{frees, fmt.Sprintf("acquire, read, work 0.25 leases, release, await %s granted or 2 leases, acquire, read, release", names[t.Permits-1])}
	for i := 1; i < t.Permits; i++ {
		after := "after A's release"
		if i > 1 {
			after = names[i-1] + " granted"
		}
		out = append(out, fmt.Sprintf("await %s or 3 leases, acquire, read, work 0.95 leases, release", after))
	}
	return [][]string{out}
}

// requestLost is that the answer to A's first request for the lock, or to its release, is lost, at once or after a moment.
func requestLost(f fault, at scenarios.Trigger) bool {
	asks := at.At == scenarios.Sent && (at.Do == history.Acquire || at.Do == history.Release)
	return asks && lostAnswer(f)
}

// keptLease is a lease of which enough is left, when it is given back, to tell that it still runs from a slow answer; and it is so many of the target's,
// which is longer where clients are slow.
const (
	keptLease  = 2 * time.Second
	keptLeases = 3
)
