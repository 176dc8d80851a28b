package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/picklock/picklock/checker/verdict"
	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/hunt"
	"github.com/picklock/picklock/scenarios"
)

// hazards are the columns of the table, in their order.
var hazards = []string{noFault, clientStopped, "delayed write", "messages late or lost", clientClock, serverClock, serversFail}

const (
	noFault       = "no fault"
	clientStopped = "client stopped"
	clientClock   = "client's clock wrong"
	serverClock   = "server's clock wrong"
	serversFail   = "servers fail"
)

// register is what a schedule calls the protected resource.
const register = "register"

// hazardOf is the column of a fault, which falls on clients or else on servers.
func hazardOf(f scenarios.Fault, clients []string) string {
	onClient := slices.ContainsFunc(slices.Concat(f.Nodes, f.Peers), func(node string) bool { return slices.Contains(clients, node) })
	switch {
	case f.Word == "clock" && onClient:
		return clientClock
	case f.Word == "clock":
		return serverClock
	case f.Word == "hold" && slices.Contains(slices.Concat(f.Nodes, f.Peers), register):
		return "delayed write"
	case !onClient:
		return serversFail
	case f.Word == "pause", f.Word == "kill":
		return clientStopped
	}
	return "messages late or lost"
}

// hazardsOf are the columns of a schedule: one for each of its faults.
func hazardsOf(schedule string) ([]string, error) {
	s, err := scenarios.Parse("schedule", []byte(schedule))
	if err != nil {
		return nil, err
	}
	return columnsOf(s.TriggeredFaults, s.Clients), nil
}

// columnsOfBug are those of the faults of a counterexample, without those that may only have been on.
func columnsOfBug(w *hunt.Counterexample) ([]string, error) {
	s, err := scenarios.Parse("schedule", []byte(w.Schedule))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", w.Name, err)
	}
	return columnsOf(w.Involved(s), s.Clients), nil
}

func columnsOf(faults []scenarios.TriggeredFault, clients []string) []string {
	out := []string{}
	for _, f := range faults {
		if h := hazardOf(f.Fault, clients); !slices.Contains(out, h) {
			out = append(out, h)
		}
	}
	if len(out) == 0 {
		out = append(out, noFault)
	}
	return out
}

// row is what the table says of one lock.
type row struct {
	lock   clients.Info
	result *hunt.Result   // nil: there was no hunt
	ran    map[string]int // schedules that ran as planned, by column
	all    int            // schedules that ran as planned
	kept   string         // the line that the page has of a hunt that is not here
}

// count reads the schedules that were run, a line of JSON each. One that was discarded proves nothing, and does not
// count; one that was run again counts once.
func (r *row) count(runs io.Reader) error {
	r.ran = map[string]int{}
	seen := map[string]bool{}
	lines := json.NewDecoder(runs)
	for {
		var one hunt.Ran
		err := lines.Decode(&one)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read what was run: %w", err)
		}
		if one.Discarded != "" || seen[one.Schedule] {
			continue
		}
		seen[one.Schedule] = true
		columns, err := hazardsOf(one.Schedule)
		if err != nil {
			return fmt.Errorf("read a schedule that was run: %w", err)
		}
		r.all++
		for _, c := range columns {
			r.ran[c]++
		}
	}
}

// every are the counterexamples, and those that show the same bug by other faults.
func (r row) every() []*hunt.Counterexample {
	var out []*hunt.Counterexample
	for _, w := range r.result.Counterexamples {
		out = append(append(out, w), w.Variants...)
	}
	return out
}

// causes say of each lock bug of a hunt whose doing it is, and count them: together they are the lock bugs of the
// hunt's verdict. Variants of one are the same bug.
func (r row) causes() (string, error) {
	const library, failure, client, server, unconfirmed = "by the library", "when servers fail", "by a client's clock", "by the server's clock", "unconfirmed"
	count := map[string]int{}
	for _, w := range r.result.Counterexamples {
		if w.Class() != verdict.Bug {
			continue
		}
		columns, err := columnsOfBug(w)
		if err != nil {
			return "", err
		}
		switch {
		case slices.Contains(columns, serverClock) && !slices.ContainsFunc(columns, func(c string) bool { return c != serverClock && c != clientStopped }):
			// A holder that stops leaves its lock to the lease, which ends by that clock.
			count[server]++
		case !w.Steady():
			count[unconfirmed]++
		case slices.Equal(columns, []string{clientClock}):
			count[client]++
		case slices.Equal(columns, []string{serversFail}):
			count[failure]++
		default:
			count[library]++
		}
	}
	var out []string
	for _, cause := range []string{library, failure, client, server, unconfirmed} {
		if count[cause] > 0 {
			out = append(out, fmt.Sprintf("%d %s", count[cause], cause))
		}
	}
	return strings.Join(out, ", "), nil
}

// cells are what was found in each column: the gravest, or the number of schedules in which nothing was.
func (r row) cells() ([]string, error) {
	bugs, hazardous := map[string][]string{}, map[string]bool{}
	for _, w := range r.every() {
		columns, err := columnsOfBug(w)
		if err != nil {
			return nil, err
		}
		for _, c := range columns {
			if w.Hazard() {
				hazardous[c] = true
			} else if text := said(w, len(columns) > 1); !slices.Contains(bugs[c], text) {
				bugs[c] = append(bugs[c], text)
			}
		}
	}
	var out []string
	for _, c := range hazards {
		switch {
		case len(bugs[c]) > 0:
			out = append(out, strings.Join(bugs[c], "; "))
		case hazardous[c]:
			out = append(out, "hazard")
		case r.ran[c] == 0:
			out = append(out, "–")
		default:
			out = append(out, fmt.Sprintf("none in %d", r.ran[c]))
		}
	}
	return out, nil
}

// enough is how many runs alone say how often something comes; if there are fewer, those beside other runs count, too.
const enough = 3

// said is a lock bug with how often its counterexample came.
func said(w *hunt.Counterexample, more bool) string {
	rate := w.Alone
	if rate.Runs < enough {
		rate = hunt.Rate{Hits: rate.Hits + w.Search.Hits, Runs: rate.Runs + w.Search.Runs}
	}
	out := fmt.Sprintf("%s, %d of %d", w.Anomaly, rate.Hits, rate.Runs)
	if w.Steady() {
		out = "lock bug: " + out
	} else {
		out = "unconfirmed: " + out
	}
	if more {
		out += ", with a fault of another column"
	}
	return out
}

// outcome is the hunt's verdict with its own counts, and whose doing its lock bugs are.
func (r row) outcome() (string, error) {
	why := r.result.Unproved()
	bugs, hazards, resource := r.result.Failures()
	switch {
	case bugs+hazards+resource == 0 && why != "":
		return verdict.Unknown.Word() + ": " + why, nil
	case bugs+hazards+resource == 0:
		return verdict.True.Word(), nil
	}
	out := verdict.Failed(bugs, hazards, resource)
	causes, err := r.causes()
	if err != nil {
		return "", err
	}
	if causes != "" {
		out += " (" + causes + ")"
	}
	if bugs == 0 && why != "" {
		out += "; undecided whether it has lock bugs: " + why
	}
	return out, nil
}

// print writes the table.
func print(w io.Writer, rows []row) error {
	head := append([]string{"lock", "library", "language", "service", "promises", "outcome", "schedules"}, hazards...)
	text := "| " + strings.Join(head, " | ") + " |\n" + strings.Repeat("|---", len(head)) + "|\n"
	var missing []string
	for _, r := range rows {
		if r.result == nil && r.kept != "" {
			text += r.kept + "\n"
			continue
		}
		if r.result == nil {
			missing = append(missing, "`"+r.lock.Name+"`")
			continue
		}
		cells, err := r.cells()
		if err != nil {
			return err
		}
		outcome, err := r.outcome()
		if err != nil {
			return err
		}
		lib := r.lock.Library
		of := fmt.Sprint(r.all)
		text += "| " + strings.Join(append([]string{"`" + r.lock.Name + "`", lib.Name + " " + lib.Version, lib.Language, r.lock.Cluster, links(lib.Promises), outcome, of}, cells...), " | ") + " |\n"
	}
	if len(missing) > 0 {
		text += "\nNot hunted: " + strings.Join(missing, ", ") + ".\n"
	}
	_, err := io.WriteString(w, text)
	return err
}

// links are the pages of the documentation, numbered.
func links(pages []string) string {
	var out []string
	for i, p := range pages {
		out = append(out, fmt.Sprintf("[%d](%s)", i+1, p))
	}
	return strings.Join(out, ", ")
}
