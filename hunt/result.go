package hunt

import (
	"fmt"
	"math"
	"time"

	"github.com/picklock/picklock/internal/format"
)

// Result is what a hunt came to; it is what hunt.json holds.
type Result struct {
	Lock     string    `json:"lock"`
	Fencing  string    `json:"fencing"`
	TTL      int64     `json:"ttl"` // ns
	Strategy string    `json:"strategy"`
	Seed     uint64    `json:"seed"`
	Command  []string  `json:"command,omitempty"`
	Again    string    `json:"again,omitempty"` // how a counterexample is played again, its file and its name where CounterexampleFile and CounterexampleName stand; "": by picklock scenario run
	Started  time.Time `json:"started"`
	Seconds  float64   `json:"seconds"` // of the search, without what came after it

	Plays  int `json:"plays"` // all of them, those of confirmation too
	Void   int `json:"void"`
	Busy   int `json:"busy"` // of the void ones: this machine was too busy
	Failed int `json:"failed,omitempty"`
	// Granted counts the schedules, without those of confirmation, in which somebody got the
	// lock.
	Granted int `json:"granted"`
	States  int `json:"states"`
	// Depths say how much of the space was played, by the number of faults.
	Depths []Depth `json:"depths"`
	Guided int     `json:"guided"` // schedules beyond the space

	Counterexamples []*Counterexample `json:"counterexamples"`
	Impossible      []string          `json:"impossible,omitempty"` // faults that could not be done here, and why
	// Uneven are the faults that only some of those who played it together could do: shards or
	// workers whose rights are not the same.
	Uneven     []string `json:"uneven,omitempty"`
	Curve      []Sample `json:"curve"`
	CutShort   bool     `json:"cut_short,omitempty"`
	Unfinished []string `json:"unfinished,omitempty"` // what there was no time for after the search

	Versions map[string]string `json:"versions,omitempty"`
	CPU      float64           `json:"cpu_seconds,omitempty"`
	Starts   int               `json:"starts,omitempty"` // of clusters
}

// Unproved says why a hunt that found nothing proves nothing; "" if it does.
func (r *Result) Unproved() string {
	switch {
	case r.CutShort:
		return "the hunt was cut short"
	case r.Plays == 0:
		return "nothing was played"
	case len(r.Uneven) > 0:
		return fmt.Sprintf("%d %s, which only some of the machines could do: give all the same rights (picklock doctor); the first is %s",
			len(r.Uneven), format.Noun(len(r.Uneven), "fault was passed over", "faults were passed over"), r.Uneven[0])
	case r.Granted == 0 && r.Plays > r.Busy:
		return "in no schedule did anybody get the lock"
	case 2*r.Void > r.Plays:
		return fmt.Sprintf("%d of %d schedules could not be played as they were meant, %d of them because this machine was too busy", r.Void, r.Plays, r.Busy)
	}
	return ""
}

// What stands for the file of a counterexample, and for its name, in Result.Again.
const (
	CounterexampleFile = "{file}"
	CounterexampleName = "{name}"
)

// Depth is what was played of the schedules with so many faults.
type Depth struct {
	Faults int  `json:"faults"`
	Played int  `json:"played"`
	Void   int  `json:"void"` // could not be played as they were meant
	Broke  int  `json:"broke"`
	Done   bool `json:"done"` // there are no more of them
}

// Sample is the search at one moment.
type Sample struct {
	Seconds         float64 `json:"seconds"`
	Plays           int     `json:"plays"`
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
	FirstPlay   int      `json:"first_play"`
	FirstSecond float64  `json:"first_second"`
	FirstFaults int      `json:"first_faults"`
	FirstSteps  int      `json:"first_steps"`
	Faults      int      `json:"faults"`
	Steps       int      `json:"steps"`
	ShrinkPlays int      `json:"shrink_plays,omitempty"`
	// Larger is why it may not be the least that it takes; "": nothing more can be left away.
	Larger   string   `json:"larger,omitempty"`
	Seen     int      `json:"seen"`   // schedules that broke it this way
	Search   Rate     `json:"search"` // while others were played
	Alone    Rate     `json:"alone"`  // with the machine to itself
	Needed   []string `json:"needed,omitempty"`
	Remedies []Remedy `json:"remedies,omitempty"`
	// Without are the counterexample's faults, each with how often it came when that one was left away.
	Without []Remedy `json:"without,omitempty"`
	Proof   *Proof   `json:"proof,omitempty"` // of one play

	others int // schedules that were confirmed besides, because it did not come at will

	trail []string // larger schedules that showed it, the latest last
	share float64  // of the plays that showed it when it was found; 0: nearly all

	unmeasured, untried bool // there was no time to play it alone, and to try what might help
}

// Steady says that the counterexample can be shown at will.
func (w *Counterexample) Steady() bool {
	r := w.rate()
	return r.Plays > 0 && float64(r.Hits) >= 0.7*float64(r.Plays)
}

// rate is how often it came: with the machine to itself, if that was measured.
func (w *Counterexample) rate() Rate {
	if w.Alone.Plays == 0 {
		return w.Search
	}
	return w.Alone
}

// reliable says that it came nearly every time with the machine to itself, or half as often as
// when it was found.
func (w *Counterexample) reliable() bool {
	return w.Alone.nearlyAlways() || w.share > 0 && w.Alone.share() >= w.share/2
}

// Remedy is what might help, and whether it did.
type Remedy struct {
	Name   string `json:"name"`
	Rate   Rate   `json:"rate"`
	Why    string `json:"why,omitempty"` // it was not tried
	Others string `json:"others,omitempty"`
}

// Rate is of so many plays how many showed it.
type Rate struct {
	Hits  int `json:"hits"`
	Plays int `json:"plays"`
	Void  int `json:"void,omitempty"` // not counted
	// Missed are those of the plays in which a fault's anchor never came: that nothing broke
	// in them says little.
	Missed int `json:"missed,omitempty"`
}

// Helps says that a remedy was seen to help: the faults struck, and nothing broke.
func (r Rate) Helps() bool { return r.Hits == 0 && r.Plays > r.Missed }

// nearlyAlways is what a rate has to be for a schedule to replay at will.
func (r Rate) nearlyAlways() bool { return float64(r.Hits) >= 0.95*float64(r.Plays) }

// share is the part of the plays that showed it.
func (r Rate) share() float64 { return float64(r.Hits) / float64(max(1, r.Plays)) }

func (r *Rate) take(hit bool) {
	r.Plays++
	if hit {
		r.Hits++
	}
}

// Interval is where the true rate lies, at 95 % (E. B. Wilson, Probable inference, the law
// of succession, and statistical inference, 1927).
func (r Rate) Interval() (low, high float64) {
	if r.Plays == 0 {
		return 0, 1
	}
	const z = 1.96
	n, p := float64(r.Plays), float64(r.Hits)/float64(r.Plays)
	mid := (p + z*z/(2*n)) / (1 + z*z/n)
	half := z / (1 + z*z/n) * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	return max(0, mid-half), min(1, mid+half)
}
