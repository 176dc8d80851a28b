package verdict

import "slices"

// Suspect is an injected fault that, by all that the history shows, brought an anomaly
// about. It is likely, not certain: that the same without the fault does not break, only
// another run can show.
type Suspect struct {
	Fault string   `json:"fault"`          // e.g. kill
	Nodes []string `json:"nodes"`          // the nodes that it was on, as the history names them
	More  int      `json:"more,omitempty"` // how many nodes are not named
	On    Side     `json:"on"`             // where it mattered
	Begin int64    `json:"begin"`          // ns since the run's start
	End   int64    `json:"end"`            // ns; the history's end where it was never healed
	// Earlier says that a server had failed before the grant, or its last renewal: it did not forget that, but may have
	// come back without knowing of it.
	Earlier bool `json:"earlier,omitempty"`
}

// Side is where a fault mattered.
type Side string

// The sides of a lock at which a fault can matter.
const (
	OnServer   Side = "server"   // at the lock's service, or between its servers
	OnClient   Side = "client"   // at a client of the anomaly, or on its links
	OnResource Side = "resource" // at what the lock protects
	OnMachine  Side = "machine"  // the machine stood still; nobody injected it
)

// Kind is what the fault was and where: "kill of a server".
func (s *Suspect) Kind() string {
	switch {
	case s == nil:
		return ""
	case s.On == OnMachine:
		return "a machine that stood still"
	case s.On == OnResource:
		return s.Fault + " of the resource"
	}
	return s.Fault + " of a " + string(s.On)
}

// Early is one lock that was given away while a lease had time left.
type Early struct {
	Lease, Left int64 // ns; a Lease of 0 is not known
	// Asked is how long before the first client had its answer the second one sent the
	// request that was granted, in ns; not above 0 where it did not.
	Asked int64
	// Crowd: there were several leases, which together left no room. The figures are of the latest, and say nothing of a share.
	Crowd bool
}

// AtOnce says that two requests that were under way at once were both granted, within a twentieth of the lease.
func (e Early) AtOnce() bool {
	return e.Lease > 0 && e.Left > e.Lease-e.Lease/20 && e.Asked > 0
}

// AtOnce says that most of the time two requests that were under way at once were both
// granted, within a twentieth of the lease.
func AtOnce(list []Early) bool {
	n := 0
	for _, e := range list {
		if e.AtOnce() {
			n++
		}
	}
	return 2*n > len(list)
}

// HabitOf says which of a list a habit of the lock explains that some of them show, those of proof: to grant two requests
// at once, or to give a lease away after a share of it. At least half of those show it, and three, or two that agree closely.
func HabitOf(list []Early, proof func(i int) bool) func(i int) bool {
	var proofs []Early
	for i, e := range list {
		if proof(i) {
			proofs = append(proofs, e)
		}
	}
	low, steady := mostAt(proofs)
	atOnce := len(proofs) >= leastOfHabit && AtOnce(proofs)
	return func(i int) bool {
		e := []Early{list[i]}
		return steady && list[i].share() >= low-closeWithin || atOnce && AtOnce(e)
	}
}

// Of a habit: how many times it has to show at least, and in how many percent of a lease more it still does.
const (
	leastOfHabit, steadyWithin = 3, 15
	leastOfClose, closeWithin  = 2, 2
)

// share is how much of the lease was over, in percent; negative if that is not known.
func (e Early) share() float64 {
	if e.Crowd || e.Lease <= 0 || e.Left <= 0 || e.Left >= e.Lease {
		return -1
	}
	return 100 * (1 - float64(e.Left)/float64(e.Lease))
}

// mostAt is the least share from which on, and not far beyond, half of a list were cut short.
func mostAt(list []Early) (low float64, ok bool) {
	var shares []float64
	for _, e := range list {
		shares = append(shares, e.share())
	}
	slices.Sort(shares)
	for i, low := range shares {
		within := func(percent float64) int {
			n, _ := slices.BinarySearch(shares, low+percent)
			return n - i
		}
		n := within(steadyWithin)
		if low >= 5 && 2*n >= len(list) && (n >= leastOfHabit || within(closeWithin) >= leastOfClose) {
			return low, true
		}
	}
	return 0, false
}

// AgreedShare is SteadyShare, and of two leases the share at which both were cut short, if that is nearly the same.
func AgreedShare(list []Early) (percent float64, ok bool) {
	if len(list) == leastOfClose {
		return mostAt(list)
	}
	return SteadyShare(list)
}

// SteadyShare says that leases were cut short again and again at about the same share of
// their length, and at which, in percent.
func SteadyShare(list []Early) (percent float64, ok bool) {
	var shares []float64
	for _, e := range list {
		if share := e.share(); share >= 0 {
			shares = append(shares, share)
		}
	}
	if len(shares) < 3 || 2*len(shares) < len(list) {
		return 0, false
	}
	slices.Sort(shares)
	// The first waiter to be granted it comes just after the end; other waiters were busy, and come later.
	low, middle := shares[0], shares[len(shares)/2]
	return low, low >= 5 && middle-low <= 15
}
