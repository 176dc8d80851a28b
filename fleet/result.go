package fleet

import (
	"time"

	"github.com/picklock/picklock/hunt"
	"github.com/picklock/picklock/results"
)

// Result says that an item is done, and where what came of it is. The first result of an item
// counts, whoever sends another.
type Result struct {
	Item    string    `json:"item"`
	Worker  string    `json:"worker"`
	Started time.Time `json:"started"`
	Seconds float64   `json:"seconds"`
	Plays   int       `json:"plays,omitempty"`
	Void    int       `json:"void,omitempty"`
	Ways    int       `json:"ways,omitempty"`
	Object  string    `json:"object,omitempty"` // the payload's name; "" where there is none
	// Dead is why nobody could do it: the failures of the workers that tried.
	Dead    string `json:"dead,omitempty"`
	Skipped bool   `json:"skipped,omitempty"` // its job's time was over before
}

// Payload is what came of an item.
type Payload struct {
	Portion *hunt.Portion `json:"portion,omitempty"` // of a slice and of a guided search
	Hunt    *hunt.Result  `json:"hunt,omitempty"`    // of a finish, but for what is measured
	Finds   []hunt.Find   `json:"finds,omitempty"`   // of a finish: all; of a measure: the one
	Cell    *results.Cell `json:"cell,omitempty"`    // of a run
	Report  []byte        `json:"report,omitempty"`  // of a run in which something broke: its report.html
}

// Worker is what a worker says of itself while it lives.
type Worker struct {
	Name    string    `json:"name"`
	Version string    `json:"version"`
	Since   time.Time `json:"since"`
	Seen    time.Time `json:"seen"`
	Item    string    `json:"item,omitempty"` // what it does now
	Job     string    `json:"job,omitempty"`
	Done    int       `json:"done"`  // items
	Plays   int       `json:"plays"` // schedules
	Busy    float64   `json:"busy"`  // seconds in which it played
	Trouble string    `json:"trouble,omitempty"`
}
