// Package verdict is what a verdict says: the properties of a lock, the anomalies that
// break them, and how those bring one another about. It knows no history and not how
// anything is found.
package verdict

import (
	"encoding/json"
	"fmt"
)

// Validity is the answer to one question: true, false or unknown.
type Validity int

const (
	Unknown Validity = iota
	True
	False
)

func (v Validity) String() string { return [...]string{"unknown", "true", "false"}[v] }

// MarshalJSON writes true, false or "unknown".
func (v Validity) MarshalJSON() ([]byte, error) {
	if v == Unknown {
		return []byte(`"unknown"`), nil
	}
	return []byte(v.String()), nil
}

// UnmarshalJSON reads what MarshalJSON writes.
func (v *Validity) UnmarshalJSON(b []byte) error {
	switch string(b) {
	case "true":
		*v = True
	case "false":
		*v = False
	default:
		var s string
		if err := json.Unmarshal(b, &s); err != nil {
			return err
		}
		if s != "unknown" {
			return fmt.Errorf("%q is no verdict: want true, false or \"unknown\"", s)
		}
		*v = Unknown
	}
	return nil
}

// The properties, in the order in which they are reported.
const (
	Exclusion = "exclusion"
	Belief    = "belief"
	Tokens    = "tokens"
	Register  = "register"
	Liveness  = "liveness"
)

// Properties lists all properties.
var Properties = []string{Exclusion, Belief, Tokens, Register, Liveness}

// Verdict is what verdict.json holds.
type Verdict struct {
	Valid Validity `json:"valid"`
	Why   string   `json:"why,omitempty"` // of an unknown verdict: what was missing
	// Promises is the verdict on what the lock promises: Valid without its lease hazards and the faults of the resource. It is
	// True only where that was tried. PromisesWhy is what was missing where Valid is False and it
	// is Unknown.
	Promises    Validity            `json:"promises"`
	PromisesWhy string              `json:"promises_why,omitempty"`
	Properties  map[string]Property `json:"properties"`
	Anomalies   []Anomaly           `json:"anomalies"`
	Stats       Stats               `json:"stats"`
}

// Property is the verdict on one property.
type Property struct {
	Valid     Validity `json:"valid"`
	Required  bool     `json:"required"`
	Anomalies int      `json:"anomalies"`
	Why       string   `json:"why"` // what the verdict rests on, or what was missing
}

// Anomaly is one way in which the history breaks a property, with its evidence.
type Anomaly struct {
	Name      string   `json:"name"`
	Property  string   `json:"property"`
	Key       string   `json:"key"`
	Processes []string `json:"processes"`
	Grants    []string `json:"grants,omitempty"`
	More      int      `json:"more,omitempty"`    // grants that have the same part in it and are not named: a semaphore's can be very many
	Time      int64    `json:"time"`              // ns since the run's start: when the harm was done
	Events    []int64  `json:"events"`            // the evidence: indexes in history.jsonl
	Effects   []int64  `json:"effects,omitempty"` // the evidence: sequence numbers in register.jsonl
	Victims   []int64  `json:"victims,omitempty"` // sequence numbers of all updates lost at once; the evidence is of the first
	Faults    []string `json:"faults"`            // that touched those it is about at a time that mattered
	// Bystanders were on as well, between the first and the last of the events, and had no
	// part that can be seen: they were on others, or at another time, or too briefly.
	Bystanders []string `json:"bystanders,omitempty"`
	// Suspect is the fault that most likely brought it about; nil: the history shows none
	// that did.
	Suspect *Suspect `json:"suspect,omitempty"`
	Cause   string   `json:"cause,omitempty"` // e.g. lease-outlived
	// Sizes are the figures that the explanation speaks of, in ns, by name:
	// "overlap", "late", "remaining".
	Sizes       map[string]int64 `json:"sizes,omitempty"`
	Explanation string           `json:"explanation"`
}

// Stats counts what the run did.
type Stats struct {
	Events       int                   `json:"events"`
	Grants       int                   `json:"grants"`
	Contested    int                   `json:"contested"`              // grants that another client was waiting for
	Writes       int                   `json:"writes"`                 // accepted by the register
	Rejected     int                   `json:"rejected"`               // refused by the register
	Unknown      int                   `json:"unknown"`                // operations whose outcome the client never learnt
	Acknowledged int                   `json:"acknowledged,omitempty"` // updates of the add workload
	LostUpdates  int                   `json:"lost_updates,omitempty"` // acknowledged and gone from the final state
	Faults       map[string]FaultCount `json:"faults"`
	Stalls       int                   `json:"stalls,omitempty"`        // how often the machine itself stood still; see checker.Stall
	Waits        *Waits                `json:"waits,omitempty"`         // of the acquires that were granted
	FirstGrant   int64                 `json:"first_grant,omitempty"`   // ns
	FirstAnomaly int64                 `json:"first_anomaly,omitempty"` // ns, of a required property
	Duration     int64                 `json:"duration,omitempty"`      // ns, to the last event
	NoLock       bool                  `json:"no_lock,omitempty"`       // the register alone was judged, as clients shared it without a lock
}

// Waits is how long clients waited for the lock, in ns: from an acquire's invoke
// to its ok.
type Waits struct {
	P50 int64 `json:"p50"`
	P95 int64 `json:"p95"`
	P99 int64 `json:"p99"`
	Max int64 `json:"max"`
}

// FaultCount counts one fault's injections.
type FaultCount struct {
	Injected  int `json:"injected"`
	Confirmed int `json:"confirmed"`
}
