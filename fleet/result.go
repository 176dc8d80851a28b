package fleet

import (
	"time"

	"github.com/picklock/picklock/hunt"
	"github.com/picklock/picklock/results"
)

// Result says that an item is done, and where its payload is. The first result of an item counts.
type Result struct {
	Item      string    `json:"item"`
	Worker    string    `json:"worker"`
	Started   time.Time `json:"started"`
	Seconds   float64   `json:"seconds"`
	Runs      int       `json:"runs,omitempty"`
	Discarded int       `json:"discarded,omitempty"`
	Found     int       `json:"found,omitempty"`
	Object    string    `json:"object,omitempty"` // the payload's name; "" if there is none
	// DeadLetter is why the item is dead-lettered: the errors of the workers that tried it.
	DeadLetter string `json:"dead_letter,omitempty"`
	Skipped    bool   `json:"skipped,omitempty"` // its job's time was over before
}

// Payload is the outcome of an item.
type Payload struct {
	Portion *hunt.Portion `json:"portion,omitempty"` // of a slice and of a guided search
	Hunt    *hunt.Result  `json:"hunt,omitempty"`    // of a finish, without replay rates
	Finds   []hunt.Find   `json:"finds,omitempty"`   // of a finish: all; of a measure: the one
	Cell    *results.Cell `json:"cell,omitempty"`    // of a run
	Report  []byte        `json:"report,omitempty"`  // of a run that broke something: its report.html
}

// Worker is the state of a worker, as its heartbeats report it.
type Worker struct {
	Name    string    `json:"name"`
	Version string    `json:"version"`
	Since   time.Time `json:"since"`
	Seen    time.Time `json:"seen"`
	Item    string    `json:"item,omitempty"` // the item that it runs; "" while it waits
	Job     string    `json:"job,omitempty"`
	Done    int       `json:"done"` // items
	Runs    int       `json:"runs"`
	Busy    float64   `json:"busy"` // seconds spent on items
	Trouble string    `json:"trouble,omitempty"`
}
