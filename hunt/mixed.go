package hunt

import (
	"slices"

	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/scenarios"
	acts "github.com/picklock/picklock/workloads"
)

// plain says that its clients do no more than have the lock and work: what one asks for besides shows nothing of what the others have chosen.
func (w workload) plain() bool {
	return !slices.ContainsFunc(w.programs, func(p scenarios.Program) bool {
		return slices.ContainsFunc(p, func(m scenarios.Move) bool {
			return m.Second || m.Other || m.Again || m.Cancelled || m.Do == history.Renew || m.Do == acts.Held || m.Do == acts.Downgrade
		})
	})
}

// staysLong are workloads for a lock that several have at once and whose clients ask for leases of their own. A has it for nearly three leases of the
// others, and B has it beside A and leaves. Two leases later, as many clients as may have it at once ask for it.
func staysLong(t Target) []workload {
	const long, beside, late = "work 2.4 leases, work 0.4 leases, ", "await A granted or 3 leases, ", "await A's 2nd work or 4 leases, "
	var programs []string // A's second work tells the others
	switch {
	case t.Mixed["lease@"+FirstClient] == "":
	case t.Permits > 1:
		programs = []string{"acquire, read, " + long + "release", beside + "acquire, read, release, " + late + "acquire, read, work 0.3 leases, release"}
		for range t.ClientNames()[2:] {
			programs = append(programs, late+"acquire, read, work 0.3 leases, release")
		}
	case t.Shared:
		programs = []string{
			"acquire shared, read, " + long + "read, release",
			beside + "acquire shared, read, work 0.1 leases, release",
			late + "acquire, read, write, release",
		}
	}
	if programs == nil {
		return nil
	}
	w := workload{name: "stays-long"}
	for _, text := range programs {
		w.programs = append(w.programs, scenarios.MustProgram(text, clientNames))
	}
	w.swaps = swaps(w.programs)
	return []workload{w}
}
