package hunt

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/scenarios"
)

// mostFaults is how many faults a mutated schedule has at most where nobody has said it: more are seldom what it
// takes, and keep the lock from being granted at all.
const mostFaults = 4

// mutator changes schedules. It is not safe for concurrent use.
type mutator struct {
	t         Target
	most      int // faults in a schedule
	rng       *rand.Rand
	workloads []workload
	faults    map[string][]scenarios.TriggeredFault // by workload, all that the space has
	bandit    *bandit                               // of operators and of the faults that are added
	used      []string                              // the bandit's arms that made the last schedule
}

func newMutator(t Target, most int, seed uint64) *mutator {
	m := &mutator{t: t, most: most, rng: rand.New(rand.NewPCG(seed, 13)), workloads: slices.DeleteFunc(workloads(t), func(w workload) bool { return w.strikes != nil }), faults: map[string][]scenarios.TriggeredFault{}}
	m.bandit = newBandit(m.rng)
	for _, w := range m.workloads {
		for _, f := range faults(t, clientNames[:len(w.programs)]) {
			m.faults[w.name] = append(m.faults[w.name], triggeredOf(t, w, f)...)
		}
	}
	return m
}

// random draws a schedule of the same language that owes nothing to what was seen.
func (m *mutator) random() *scenarios.Scenario {
	m.used = nil
	w := m.workloads[m.rng.IntN(len(m.workloads))]
	s := m.t.schedule(w)
	for range 1 + m.rng.IntN(3) {
		m.addFault(s)
	}
	m.program(s)
	return m.whole(s)
}

// mutate makes a schedule that differs from s in one to three places.
func (m *mutator) mutate(s *scenarios.Scenario) *scenarios.Scenario {
	s = clone(s)
	m.used = nil
	for range 1 + m.rng.IntN(3) {
		operators := mutations
		switch {
		case m.most == 0:
			operators = []string{changesProgram}
		case len(s.TriggeredFaults) == 0:
			operators = mutationsOfNone
		}
		name := operators[m.bandit.choose(len(operators), func(i int) string { return operators[i] })]
		m.used = append(m.used, name)
		switch name {
		case addsFault:
			m.addFault(s)
		case dropsFault:
			i := m.rng.IntN(len(s.TriggeredFaults))
			s.TriggeredFaults = slices.Delete(s.TriggeredFaults, i, i+1)
		case changesEnd:
			m.end(&s.TriggeredFaults[m.rng.IntN(len(s.TriggeredFaults))])
		default:
			m.program(s)
		}
	}
	slices.Sort(m.used)
	m.used = slices.Compact(m.used)
	if n := len(s.TriggeredFaults); n > m.most { // another machine's search may have more
		s.TriggeredFaults = s.TriggeredFaults[:m.most]
	}
	return m.whole(s)
}

// The operators of mutation, as arms of the bandit.
const (
	operatorPrefix = "operator: "
	addsFault      = operatorPrefix + "add a fault"
	dropsFault     = operatorPrefix + "drop a fault"
	changesEnd     = operatorPrefix + "change how long a fault lasts"
	changesProgram = operatorPrefix + "change a program"
)

func isOperator(arm string) bool { return strings.HasPrefix(arm, operatorPrefix) }

var (
	mutationsOfNone = []string{addsFault, changesProgram}
	mutations       = []string{addsFault, changesProgram, dropsFault, changesEnd}
)

// addFault adds a fault, or replaces another if there are enough.
func (m *mutator) addFault(s *scenarios.Scenario) {
	all := m.faults[m.workloads[m.rng.IntN(len(m.workloads))].name]
	if len(all) == 0 || m.most == 0 {
		return
	}
	// Of a few that are drawn, the one whose fault and trigger brought most.
	few := make([]scenarios.TriggeredFault, faultsToChoose)
	for i := range few {
		few[i] = all[m.rng.IntN(len(all))]
	}
	arm := func(i int) string { return faultArm(few[i]) }
	st := few[m.bandit.choose(len(few), arm)]
	m.used = append(m.used, faultArm(st))
	if len(s.TriggeredFaults) >= m.most {
		s.TriggeredFaults[m.rng.IntN(len(s.TriggeredFaults))] = st
		return
	}
	s.TriggeredFaults = append(s.TriggeredFaults, st)
}

// faultsToChoose is among how many faults the bandit chooses: few enough that one whose kind brought
// nothing is drawn now and then.
const faultsToChoose = 4

// faultArm is the bandit's arm of a triggered fault: its kind and the act that triggers it.
func faultArm(st scenarios.TriggeredFault) string {
	do := st.When.Do
	if st.When.Await != nil {
		do = "event"
	}
	return "fault: " + st.Fault.Word + " at " + do
}

// end changes how long a fault lasts, log-uniformly between a tenth of a lease and four.
func (m *mutator) end(st *scenarios.TriggeredFault) {
	st.Until.Or = scenarios.Span{Leases: m.leases(0.1, 4)}
	if m.rng.IntN(2) == 0 {
		st.Until.Await, st.Until.Move = nil, scenarios.Trigger{}
	}
}

// leases draws a length of time log-uniformly, with two digits.
func (m *mutator) leases(low, high float64) float64 {
	x := math.Exp(math.Log(low) + m.rng.Float64()*(math.Log(high)-math.Log(low)))
	return math.Round(x*100) / 100
}

// program changes what a client does.
func (m *mutator) program(s *scenarios.Scenario) {
	c := s.Clients[m.rng.IntN(len(s.Clients))]
	p := slices.Clone(s.Programs[c])
	i := m.rng.IntN(len(p))
	ways := 5
	if m.t.Reentrant || m.t.Shared {
		ways++
	}
	switch m.rng.IntN(ways) {
	case 0: // think longer, or less long
		if j := slices.IndexFunc(p, func(mv scenarios.Move) bool { return mv.Do == scenarios.Work }); j >= 0 {
			p[j].Span = scenarios.Span{Leases: m.leases(0.05, 2.5)}
			break
		}
		fallthrough
	case 1:
		if after(p, i) {
			p = slices.Insert(p, i, scenarios.Move{Do: scenarios.Work, Span: scenarios.Span{Leases: m.leases(0.05, 2.5)}})
		}
	case 2:
		if after(p, i) {
			p = slices.Insert(p, i, scenarios.Move{Do: history.Renew})
		}
	case 3: // come back for more
		if len(p) < 16 {
			p = append(p, scenarios.Move{Do: history.Acquire}, scenarios.Move{Do: history.Read}, scenarios.Move{Do: history.Write}, scenarios.Move{Do: history.Release})
		}
	case 4: // give up early, or wait for as long as it takes
		for j := range p {
			if p[j].Do == history.Acquire {
				p[j].Span, p[j].Cancelled = scenarios.Span{}, false
				if m.rng.IntN(2) == 0 {
					p[j].Span.Leases, p[j].Cancelled = m.leases(0.1, 2), m.t.Cancels && m.rng.IntN(2) == 0
				}
			}
		}
	case 5:
		p = m.kind(p, i)
	}
	s.Programs[c] = p
}

// after says that a move put at i lies within a section.
func after(p scenarios.Program, i int) bool {
	for _, m := range slices.Backward(p[:i]) {
		switch m.Do {
		case history.Acquire:
			return true
		case history.Release:
			return false
		}
	}
	return false
}

// whole is s if it is a schedule that can be written and read; nil if not: a trigger may
// be gone, or a client that a fault names.
func (m *mutator) whole(s *scenarios.Scenario) *scenarios.Scenario {
	out, err := scenarios.Parse("schedule.yaml", s.Write())
	if err != nil {
		return nil
	}
	return out
}

// clone copies a schedule as far as mutation changes it.
func clone(s *scenarios.Scenario) *scenarios.Scenario {
	c := *s
	c.TriggeredFaults = slices.Clone(s.TriggeredFaults)
	c.Clients = slices.Clone(s.Clients)
	c.Programs = map[string]scenarios.Program{}
	for k, v := range s.Programs {
		c.Programs[k] = slices.Clone(v)
	}
	return &c
}
