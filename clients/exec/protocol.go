package exec

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/history"
)

// Request is a line that a program reads.
type Request struct {
	ID      int64             `json:"id"`
	Op      string            `json:"op"` // open, acquire, renew, holds, downgrade, release or close
	Servers []string          `json:"servers,omitempty"`
	Shared  string            `json:"directory,omitempty"` // see Options.Directory
	Client  string            `json:"client,omitempty"`
	TTL     int64             `json:"ttl_ms,omitempty"`
	Options map[string]string `json:"options,omitzero"`
	Key     string            `json:"key,omitempty"`
	Mode    string            `json:"mode,omitempty"` // of an acquire: "shared", or nothing for an exclusive one
	Timeout int64             `json:"timeout_ms,omitempty"`
	Cancel  int64             `json:"cancel_ms,omitempty"` // of an acquire: when its user cancels it

	asked int64 // when (history.Now)
}

// Answer is a line that a program writes, an event included.
type Answer struct {
	ID       int64  `json:"id"`
	OK       *bool  `json:"ok"`
	Error    string `json:"error"`
	Definite bool   `json:"definite"`
	Token    int64  `json:"token"`
	Lease    int64  `json:"lease_ms"`
	Since    int64  `json:"since_ns"`
	Expired  bool   `json:"expired"`  // of an acquire
	Watchdog *bool  `json:"watchdog"` // of an acquire; nil: as declared
	Held     *bool  `json:"held"`     // of holds
	Event    string `json:"event"`    // "lost" or "renewed", in a line that answers nothing
	Key      string `json:"key"`

	line      string            // as the child wrote it
	abilities clients.Abilities // of an open
	grant     *childGrant       // of an acquire that was granted
}

// The requests that are answered with a grant.
const (
	acquireOp   = "acquire"
	downgradeOp = "downgrade"
)

const (
	// LongestLine is how many bytes a line that a program writes may have.
	LongestLine = 64 << 10
	// OpenWithin is how long a program may take to answer open. To start a JVM with several clients of a library
	// takes seconds of a processor's time, of which a busy machine gives it a tenth.
	OpenWithin = 45 * time.Second

	maxLease = int64(10 * 365 * 24 * time.Hour / time.Millisecond) // in lease_ms
)

// Grace is how long after its time-out an answer may come: the program has the same
// deadline, and needs a moment to report that it passed.
func Grace(ttl time.Duration) time.Duration {
	return min(max(ttl, 250*time.Millisecond), 2*time.Second)
}

// Command runs a program's command by sh. A plain command replaces the shell, so that a
// kill of the shell is a kill of the command.
func Command(command string) *exec.Cmd {
	if !strings.ContainsAny(command, "|&;<>(){}=!\n") {
		command = "exec " + command
	}
	cmd := exec.Command("sh", "-c", command)
	cmd.Env = append(os.Environ(), javaOptions(os.Getenv(javaVariable)))
	return cmd
}

// javaVariable has options for every JVM that a program starts.
const javaVariable = "JAVA_TOOL_OPTIONS"

// javaOptions keep a JVM from sharing a file with others. The file is named by the process number,
// and clients have the same numbers in namespaces of their own. A JVM that finds the file locked
// reports it on standard output, among its answers.
func javaOptions(own string) string {
	return javaVariable + "=" + strings.TrimSpace("-XX:-UsePerfData "+own)
}

// Declared is what an answer to open declares. It may still contradict itself: see Check.
func Declared(line []byte) (clients.Abilities, error) {
	var a clients.Abilities
	declared := struct {
		*clients.Abilities
		Reentrant bool `json:"reentrant"`
	}{Abilities: &a}
	if err := json.Unmarshal(line, &declared); err != nil {
		return a, err
	}
	if declared.Reentrant && a.Kind == "" {
		a.Kind = clients.Reentrant
	}
	return a, nil
}

// LeaseWithin checks the lease of an answer whose request was sent at sent.
func LeaseWithin(a Answer, sent int64) error {
	if a.Lease < 0 || a.Lease > maxLease {
		return fmt.Errorf("lease_ms out of range: want 0 to %d", maxLease)
	}
	if a.Since == 0 {
		return nil
	}
	return SinceWithin(a, sent, history.Now())
}

// SinceWithin returns an error for a since_ns that is not from from to now. It may be earlier if the lease was not over
// by from: that of a session is counted from its last renewal, which can come before the acquire.
func SinceWithin(a Answer, from, now int64) error {
	since := a.Since
	const year = 365 * 24 * int64(time.Hour)
	wall := time.Now().UnixNano()
	switch {
	case since >= from && since <= now, since > 0 && since < from && a.Lease > (from-since)/int64(time.Millisecond):
		return nil
	case since > wall-year && since < wall+year:
		return fmt.Errorf("since_ns %d is a wall clock's time (time.time_ns?): give the monotonic clock's, as time.monotonic_ns()", since)
	case since > 0 && since < from && slices.ContainsFunc([]int64{1e3, 1e6, 1e9}, func(unit int64) bool {
		return since <= now/unit && since >= from/unit
	}):
		return fmt.Errorf("since_ns %d is not in nanoseconds: the monotonic clock stands at %d", since, now)
	case since > now:
		return fmt.Errorf("since_ns %d out of range: it is later than now, %d on CLOCK_MONOTONIC", since, now)
	}
	return fmt.Errorf("since_ns %d out of range: the acquire was asked for at %d on CLOCK_MONOTONIC, when such a lease was over", since, from)
}
