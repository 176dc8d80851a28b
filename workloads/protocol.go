// Package workloads knows what a client does with a lock: the critical sections,
// and the worker process that runs them and reports what it does. It must not
// know faults or verdicts, nor which lock it drives.
package workloads

import (
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/history"
)

// Config is a worker's first line of input.
type Config struct {
	Process  string   `json:"process"`
	Lock     string   `json:"lock"`
	Servers  []string `json:"servers"`
	Register string   `json:"register"` // host:port
	// Backend is what the register is made of, and Fencing its discipline, which its
	// clients bring about where it is no server of ours; "" for our own.
	Backend string `json:"backend,omitempty"`
	Fencing string `json:"fencing,omitempty"`
	// Directory is one that all clients share, "" where there is none.
	Directory string `json:"directory,omitempty"`
	// Workload is "" where it depends on what the lock declares: CommandGo says it.
	Workload string   `json:"workload"`
	Keys     []string `json:"keys"`

	TTL  time.Duration `json:"ttl"`
	Hold time.Duration `json:"hold"` // between the read and the write, 0.5 to 1.5 times
	// Reach is the part of its lease at which a long section ends at the latest (see
	// linger.go); 0: there are no long ones.
	Reach   float64           `json:"reach,omitempty"`
	Rate    float64           `json:"rate"`    // critical sections a second at most; 0: no limit
	Wait    time.Duration     `json:"wait"`    // how long one acquire may wait
	Timeout time.Duration     `json:"timeout"` // of every other operation
	Renew   bool              `json:"renew"`   // a watchdog renews the lease every TTL/3
	Check   bool              `json:"check"`   // look at the remaining lease right before the write
	Ignore  bool              `json:"ignore"`  // never ask the client library whether the grant was lost
	Extra   map[string]string `json:"extra,omitempty"`
	// Abilities are what the user says that the lock can do (clients.Options).
	Abilities map[string]string `json:"abilities,omitempty"`
	// Scripted: the client takes its acts from the harness, one at a time, and
	// tells when it waits and when it is woken.
	Scripted bool `json:"scripted,omitempty"`

	Seed  uint64 `json:"seed"`
	Start int64  `json:"start"` // history.Now() at the run's start
	// Grants is how many grants the process had before: a worker that is started
	// again must not reuse their names.
	Grants int `json:"grants"`
}

// Command is a later line of input.
type Command struct {
	Do string `json:"do"`           // CommandGo, or an act of a scripted client
	ID int64  `json:"id,omitempty"` // of an act; its Done repeats it
	// Workload, of CommandGo, is what to do where the Config left it open.
	Workload string `json:"workload,omitempty"`
}

// CommandGo starts the critical sections. The end of input stops them.
const CommandGo = "go"

// Done ends one act of a scripted client.
type Done struct {
	ID      int64   `json:"id"`
	Outcome Outcome `json:"outcome"`
	Error   string  `json:"error,omitempty"`
}

// Outcome says what an act came to.
type Outcome string

const (
	Granted Outcome = "granted" // an acquire
	Did     Outcome = "ok"      // anything else
	Refused Outcome = "refused" // by the register's discipline
	NotHeld Outcome = "not held"
	Expired Outcome = "expired" // a check: the client knows that its lease is over
	Failed  Outcome = "failed"  // for certain
	Open    Outcome = "unknown" // it may have taken effect
	Cannot  Outcome = "cannot"  // the lock has no such operation
)

// Message is one line of a worker's output.
type Message struct {
	Event *history.Event `json:"event,omitempty"`
	Ready bool           `json:"ready,omitempty"` // the lock is open, waiting for CommandGo
	// Abilities, with Ready, are what a lock declares that is known only once it is open.
	Abilities *clients.Abilities `json:"abilities,omitempty"`
	Error     string             `json:"error,omitempty"` // the worker gives up
	Done      *Done              `json:"done,omitempty"`
	// Waiting: the service has put the client in line, or refused it for now.
	Waiting bool `json:"waiting,omitempty"`
	// Woken: the service has told the waiting client that something changed.
	Woken bool `json:"woken,omitempty"`
	// Warning is what makes the run prove less than its user may think.
	Warning string `json:"warning,omitempty"`
}

// output writes messages, each whole and at once: the harness must learn of a
// step before it is taken, and a killed worker must not leave half a line.
type output struct {
	start int64
	mu    sync.Mutex
	w     io.Writer
	err   error
}

func (o *output) send(m Message) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		return
	}
	if m.Event != nil {
		// Under the lock, so that a process's events are in the order of their times.
		m.Event.Time = history.Now() - o.start
	}
	line, err := json.Marshal(m)
	if err == nil {
		_, err = o.w.Write(append(line, '\n'))
	}
	if err != nil {
		o.err = fmt.Errorf("report to the harness: %w", err)
	}
}

func (o *output) failed() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}
