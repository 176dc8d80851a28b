package hunt

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/picklock/picklock/internal/format"
	"github.com/picklock/picklock/scenarios"
)

// Result is what a hunt came to; it is what hunt.json holds.
type Result struct {
	Lock     string   `json:"lock"`
	Fencing  string   `json:"fencing"`
	TTL      int64    `json:"ttl"` // ns
	Strategy string   `json:"strategy"`
	Seed     uint64   `json:"seed"`
	Command  []string `json:"command,omitempty"`
	// Find are the anomalies that alone were looked for; none: all that break a required property.
	Find []string `json:"find,omitempty"`
	// IgnoreHazards: lease hazards were not looked for.
	IgnoreHazards bool `json:"ignore_hazards,omitempty"`
	// Replay is how a counterexample is replayed, with its file and its name where
	// CounterexampleFile and CounterexampleName stand; "": by picklock scenario run.
	Replay  string    `json:"replay,omitempty"`
	Started time.Time `json:"started"`
	Seconds float64   `json:"seconds"` // of the search, without what came after it

	Runs      int `json:"runs"`               // all of them, those of confirmation too, and those of a search that this one goes on with
	Searched  int `json:"searched,omitempty"` // of these, those of the search itself: they took Seconds
	Discarded int `json:"discarded"`
	Busy      int `json:"busy"` // of the discarded ones: this machine was too busy
	Failed    int `json:"failed,omitempty"`
	// FailedWhy is why picklock failed in the first of them.
	FailedWhy string `json:"failed_why,omitempty"`
	// Granted counts the schedules, without those of confirmation, in which a client got the
	// lock.
	Granted int `json:"granted"`
	States  int `json:"states"`
	// Depths say how much of the space was run, by the number of faults.
	Depths []Depth `json:"depths"`
	// Uncovered are the reasons for what was run and proves nothing, and for what was left out.
	Uncovered []Uncovered `json:"uncovered,omitempty"`
	// FaultRuns are how many runs with each kind of fault went as planned: 0 for one that the search did not come to.
	FaultRuns map[string]int `json:"fault_runs,omitempty"`
	// Decided are how many runs that went as planned have decided each property; nil if that is not known.
	Decided map[string]int `json:"decided,omitempty"`
	Guided  int            `json:"guided"` // schedules beyond the space
	// GuidedDiscarded are those of them that were discarded.
	GuidedDiscarded int `json:"guided_discarded,omitempty"`
	// Regret is how many more of them would have brought something new, had each been made with the
	// operator that turned out best.
	Regret  float64 `json:"regret,omitempty"`
	Verdict string  `json:"verdict,omitempty"` // Summary, as it is printed

	Counterexamples []*Counterexample `json:"counterexamples"`
	Infeasible      []string          `json:"infeasible,omitempty"` // faults that could not be done here, and why
	// Uneven are the faults that only some of those who ran it together could do: shards or
	// workers whose rights are not the same.
	Uneven   []string `json:"uneven,omitempty"`
	Curve    []Sample `json:"curve"`
	CutShort bool     `json:"cut_short,omitempty"`
	// Stopped is why the search ended before its time without being interrupted: run after run failed.
	Stopped    string   `json:"stopped,omitempty"`
	Unfinished []string `json:"unfinished,omitempty"` // what there was no time for after the search
	// NotSeenAgain is how the lock broke before this hunt went on, where that was not confirmed then, nor seen again.
	NotSeenAgain []string `json:"not_seen_again,omitempty"`

	Versions map[string]string `json:"versions,omitempty"`
	CPU      float64           `json:"cpu_seconds,omitempty"`
	// Processors is how many processors the machine of the hunt has; 0 where CPU is not known.
	Processors int `json:"processors,omitempty"`
	Starts     int `json:"starts,omitempty"` // of clusters
}

// Used is the part of the processors' time that the hunt took; 0 where it is not known.
func (r *Result) Used() float64 {
	if r.Processors == 0 || r.Seconds == 0 {
		return 0
	}
	return r.CPU / r.Seconds / float64(r.Processors)
}

// Unproved says why a hunt that found nothing proves nothing; "" if it does.
func (r *Result) Unproved() string {
	switch {
	case r.CutShort:
		return "the hunt was interrupted"
	case r.Stopped != "":
		return "the search ended early: " + r.Stopped
	case r.Runs == 0:
		return "no schedule was run"
	case len(r.NotSeenAgain) > 0:
		return fmt.Sprintf("before it went on, the lock broke once (%s), and this was not seen again", strings.Join(r.NotSeenAgain, ", "))
	case len(r.Uneven) > 0:
		return fmt.Sprintf("%d %s that only some of the machines could inject: give all the same rights (picklock doctor); the first is %s",
			len(r.Uneven), format.Noun(len(r.Uneven), "fault was skipped", "faults were skipped"), r.Uneven[0])
	case r.Granted == 0 && r.Runs > r.Busy:
		return "no client got the lock in any schedule"
	case len(r.Find) > 0 && len(r.unshown()) == len(r.Find):
		return fmt.Sprintf("no run can have shown %s: the lock does not promise what %s, or nothing was tried on that", format.And(r.Find), format.Noun(len(r.Find), "it breaks", "they break"))
	case !r.startTried():
		return "fewer than half of the schedules without faults ran"
	case !r.faultsTried():
		return "no schedule with a fault ran as planned"
	case 2*r.Failed > r.Runs+r.Failed:
		return fmt.Sprintf("picklock failed to run %d of %d schedules", r.Failed, r.Runs+r.Failed)
	case 2*r.Discarded > r.Runs:
		return fmt.Sprintf("%d of %d runs were discarded, %d of them because this machine was too busy", r.Discarded, r.Runs, r.Busy)
	}
	return ""
}

// startTried reports whether as many schedules ran as planned as half of those without a fault, which come first.
func (r *Result) startTried() bool {
	there, ran := 0, r.Guided-r.GuidedDiscarded
	for _, d := range r.Depths {
		ran += d.Ran
		if d.Faults == 0 {
			there += d.Space - d.Infeasible
		}
	}
	return 2*ran >= there
}

// Untried are the kinds of faults with which no schedule ran as planned, though some could have.
func (r *Result) Untried() []string {
	var out []string
	for kind, runs := range r.FaultRuns {
		if runs == 0 {
			out = append(out, kind)
		}
	}
	slices.Sort(out)
	return out
}

// ranWith counts a run that went as planned by the kinds of its faults.
func (r *Result) ranWith(faults []scenarios.TriggeredFault) {
	for _, kind := range kindsOf(faults) {
		r.FaultRuns[kind]++
	}
}

// couldRun notes kinds of faults that this machine and the cluster have.
func (r *Result) couldRun(faults []scenarios.TriggeredFault) {
	for _, kind := range kindsOf(faults) {
		r.FaultRuns[kind] += 0
	}
}

// kindsOf are the kinds of faults, each once.
func kindsOf(faults []scenarios.TriggeredFault) []string {
	var kinds []string
	for _, st := range faults {
		kinds = append(kinds, kindOf(st.Fault.Word))
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}

// faultsTried reports whether a schedule with a fault ran as planned, if there is one.
func (r *Result) faultsTried() bool {
	there, ran := 0, r.Guided-r.GuidedDiscarded
	for _, d := range r.Depths {
		if d.Faults > 0 {
			there, ran = there+d.Space, ran+d.Ran
		}
	}
	return there == 0 || ran > 0
}

// What stands for the file of a counterexample, and for its name, in Result.Replay.
const (
	CounterexampleFile = "{file}"
	CounterexampleName = "{name}"
)

// Sample is the search at one moment.
type Sample struct {
	Seconds         float64 `json:"seconds"`
	Runs            int     `json:"runs"`
	States          int     `json:"states"`
	Counterexamples int     `json:"counterexamples"`
}

// Counterexample is one way to break the lock: the smallest schedule that is known for a signature.
type Counterexample struct {
	Signature
	Name        string   `json:"name"` // of the scenario, and of its file
	Explanation string   `json:"explanation"`
	Anomalies   []string `json:"anomalies"`
	Schedule    string   `json:"schedule"` // as a scenario's file has it
	FirstRun    int      `json:"first_run"`
	FirstSecond float64  `json:"first_second"`
	FirstFaults int      `json:"first_faults"`
	FirstSteps  int      `json:"first_steps"`
	Faults      int      `json:"faults"`
	Steps       int      `json:"steps"`
	ShrinkRuns  int      `json:"shrink_runs,omitempty"`
	// Larger is why it may not be the least that it takes; "": nothing more can be left away.
	Larger      string       `json:"larger,omitempty"`
	Seen        int          `json:"seen"`   // schedules that broke it this way
	Search      Rate         `json:"search"` // while others were run
	Alone       Rate         `json:"alone"`  // with the machine to itself
	Needed      []string     `json:"needed,omitempty"`
	Mitigations []Mitigation `json:"mitigations,omitempty"`
	// Without are the counterexample's faults, each with how often it came when that one was left away.
	Without  []Mitigation `json:"without,omitempty"`
	Evidence *Evidence    `json:"evidence,omitempty"` // of one run
	// Faultless is how often it came when its program was run without any fault, where that was tried.
	Faultless Rate `json:"faultless,omitzero"`
	// Acts are its releases and renewals, where it was compared with others that do the same harm.
	Acts []Act `json:"acts,omitempty"`
	// Variants show the same bug, or lease hazard, by other faults: without the same acts, none of them breaks the lock.
	Variants []*Counterexample `json:"variants,omitempty"`
	// ByChance are faults in whose schedules it came as well, and no more often than in any other.
	ByChance []string `json:"by_chance,omitempty"`
	// HazardsByChance are faults in whose schedules a lease hazard came, and no more often than in any other.
	HazardsByChance []string `json:"hazards_by_chance,omitempty"`
	// After is the schedule that ran before it on the same servers and clients; of one that never
	// came again it may be the cause.
	After string `json:"after,omitempty"`
	// There was no time to run it alone as often as was asked for, to find out what causes it and what might help, and which acts it
	// needs.
	Unmeasured bool `json:"unmeasured,omitempty"`
	Untried    bool `json:"untried,omitempty"`
	Uncompared bool `json:"uncompared,omitempty"`

	others int // schedules that were confirmed besides, because it was intermittent

	actsOf        string        // the schedule that Acts are of
	took          time.Duration // of the run that showed it first; 0: not known
	faultless     Rate          // of its program without its faults, if that may tell whether they matter
	acceptedSteps []string      // larger schedules that showed it, the latest last
	hitRate       float64       // of the runs that showed it when it was found; 0: nearly all
}

// enoughToSay is how many runs there have to be until a counterexample is called reproducible: one
// run of one says nothing.
const enoughToSay = 3

// Steady reports whether the counterexample is reproducible.
func (w *Counterexample) Steady() bool {
	r := w.rate()
	if r.Runs < enoughToSay && w.Alone.Runs > 0 {
		r = Rate{Hits: w.Alone.Hits + w.Search.Hits, Runs: w.Alone.Runs + w.Search.Runs}
	}
	return r.Runs >= enoughToSay && float64(r.Hits) >= 0.7*float64(r.Runs)
}

// rate is how often it came: with the machine to itself, if that was measured.
func (w *Counterexample) rate() Rate {
	if w.Alone.Runs == 0 {
		return w.Search
	}
	return w.Alone
}

// reliable says that it came nearly every time with the machine to itself, or half as often as
// when it was found.
func (w *Counterexample) reliable() bool {
	return w.Alone.nearlyAlways() || w.hitRate > 0 && w.Alone.hitRate() >= w.hitRate/2
}

// Mitigation is a change that might prevent a counterexample, and how often it did.
type Mitigation struct {
	Name string `json:"name"`
	Rate Rate   `json:"rate"`
	Why  string `json:"why,omitempty"` // it was not tried
	// Instead is the harmless fault that was injected in place of the one that was left away; "" for none.
	Instead string `json:"instead,omitempty"`
	Others  string `json:"others,omitempty"`
}

// Rate is of so many runs how many showed it.
type Rate struct {
	Hits      int `json:"hits"`
	Runs      int `json:"runs"`
	Discarded int `json:"discarded,omitempty"` // not counted
	// Missed are those of the runs in which a fault's trigger never came: that nothing broke
	// in them says little.
	Missed int `json:"missed,omitempty"`
	// Beside is how many of the runs were made at once where the machine did nothing else; 0: one at a time, or it did.
	Beside int `json:"beside,omitempty"`
}

// enoughWithout is how many runs of a changed counterexample in which nothing failed show that the change prevents it, however
// often it comes unchanged; fewer do where it comes so often that they would show it, but for a chance of 5 %.
const enoughWithout = 10

// Helps reports whether a change to a counterexample, which comes as often as unchanged says, was seen to prevent it: the faults took
// effect, nothing failed, and that is not by chance.
func (r Rate) Helps(unchanged Rate) bool {
	n := r.Runs - r.Missed
	low, _ := unchanged.oneSided()
	return r.Hits == 0 && n > 0 && (n >= enoughWithout || math.Pow(1-low, float64(n)) < 0.05)
}

// nearlyAlways is what a rate has to be for a schedule to be reproducible.
func (r Rate) nearlyAlways() bool { return float64(r.Hits) >= 0.95*float64(r.Runs) }

// hitRate is the part of the runs that showed it.
func (r Rate) hitRate() float64 { return float64(r.Hits) / float64(max(1, r.Runs)) }

// add takes in more runs of the same.
func (r *Rate) add(more Rate) {
	r.Hits += more.Hits
	r.Runs += more.Runs
	r.Discarded += more.Discarded
	r.Missed += more.Missed
}

func (r *Rate) take(hit bool) {
	r.Runs++
	if hit {
		r.Hits++
	}
}

// Interval is where the true rate lies, at 95 % (E. B. Wilson, Probable inference, the law
// of succession, and statistical inference, 1927).
func (r Rate) Interval() (low, high float64) {
	return r.interval(1.96)
}

// oneSided is a bound that the true rate is below, or above, with 95 %.
func (r Rate) oneSided() (low, high float64) { return r.interval(1.645) }

// interval is Wilson's, for a quantile of the normal distribution.
func (r Rate) interval(z float64) (low, high float64) {
	if r.Runs == 0 {
		return 0, 1
	}
	n, p := float64(r.Runs), float64(r.Hits)/float64(r.Runs)
	mid := (p + z*z/(2*n)) / (1 + z*z/n)
	half := z / (1 + z*z/n) * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	return max(0, mid-half), min(1, mid+half)
}
