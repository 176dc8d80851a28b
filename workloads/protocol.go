// Package workloads knows what a client does with a lock: the critical sections,
// and the worker process that runs them and reports events. It must not
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
	Settings
	Process string   `json:"process"`
	Servers []string `json:"servers"` // of the lock's service, host:port
	// External is how to reach servers that run already; nil for picklock's own.
	External *clients.External `json:"external,omitempty"`
	// RegisterAddr is where the protected resource listens, host:port.
	RegisterAddr string `json:"register_addr"`
	// Directory is one that all clients share, "" if there is none.
	Directory string `json:"directory,omitempty"`
	// KeyNames are the locks' keys.
	KeyNames []string      `json:"key_names"`
	Wait     time.Duration `json:"wait"`    // how long one acquire may wait
	Timeout  time.Duration `json:"timeout"` // of every other operation
	// Extra are the lock's own options (clients.Options), and Abilities what the user
	// declares that the lock can do.
	Extra     map[string]string `json:"extra,omitempty"`
	Abilities map[string]string `json:"abilities,omitempty"`
	// Scripted: the client gets its acts from the harness, one at a time, and reports
	// when it waits and when it is woken.
	Scripted bool `json:"scripted,omitempty"`

	Start int64 `json:"start"` // history.Now() at the run's start
	// Grants is how many grants the process had before: a worker that is started
	// again must not reuse their names.
	Grants int `json:"grants"`
	// Again: the client was killed and starts again. If its lock cannot be opened yet, because
	// the service does not answer, it tries again.
	Again bool `json:"again,omitempty"`
}

// Command is a later line of input.
type Command struct {
	Do string `json:"do"`           // CommandGo, or an act of a scripted client
	ID int64  `json:"id,omitempty"` // of an act; its Done repeats it
	// Workload, of CommandGo, is what to do if the Config does not say it.
	Workload string `json:"workload,omitempty"`
	// Key, of CommandKey, is the lock's key from now on, and Timeout the client's; 0 for that of the Config.
	Key     string        `json:"key,omitempty"`
	Timeout time.Duration `json:"timeout,omitempty"`
	// WarmKey, of CommandKey, is a key that nobody else asks for. A client whose lock was opened since it last did acquires
	// and releases it first, so that its connections are there: else what a run's first message is, a greeting or the
	// lock's own request, depends on what ran before. Nothing of that is recorded. "" leaves it out.
	WarmKey string `json:"warm_key,omitempty"`
}

const (
	// CommandGo starts the critical sections. The end of input stops them.
	CommandGo = "go"
	// CommandKey lets a scripted client forget its grant and go on with another key. It keeps
	// its connections and its session.
	CommandKey = "key"
	// CommandReopen lets a scripted client open its lock anew, so that no connection, session or
	// timer is left of the one before.
	CommandReopen = "reopen"
	// CommandCancel lets a scripted client give up its current act. Only that act answers.
	CommandCancel = "cancel"
)

// Done ends one act of a scripted client.
type Done struct {
	ID      int64   `json:"id"`
	Outcome Outcome `json:"outcome"`
	Error   string  `json:"error,omitempty"`
}

// Outcome is the outcome of an act.
type Outcome string

const (
	Granted Outcome = "granted" // an acquire
	Did     Outcome = "ok"      // anything else
	Refused Outcome = "refused" // by the register's fencing mode
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
	// Abilities, with Ready, are what a lock declares once it is open.
	Abilities *clients.Abilities `json:"abilities,omitempty"`
	Error     string             `json:"error,omitempty"` // the worker gives up
	Done      *Done              `json:"done,omitempty"`
	// Waiting: the service has put the client in line, or refused it for now.
	Waiting bool `json:"waiting,omitempty"`
	// Woken: the service has notified the waiting client of a change.
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
