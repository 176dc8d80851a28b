package harness

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/compose"
	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/internal/percentile"
	"github.com/picklock/picklock/results"
)

// paceClients want one lock when it is measured under contention.
const paceClients = 5

// Paces measures the matrix's locks one after the other: first all of them alone,
// then all of them contended, then all of them with a failover, so that whatever
// else the machine does affects none of them alone. limit is the length of each run.
// What is finished in o.Out is kept, as with Matrix.
func Paces(ctx context.Context, o MatrixOptions, limit time.Duration, told func(p results.Pace, what string)) ([]results.Pace, error) {
	cells, err := o.Cells()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUsage, err)
	}
	if o.Out, err = filepath.Abs(o.Out); err != nil {
		return nil, err
	}
	var paces []results.Pace
	for _, c := range cells {
		if !slices.ContainsFunc(paces, func(p results.Pace) bool { return p.Lock == c.Lock }) {
			paces = append(paces, results.Pace{Lock: c.Lock, Clients: paceClients})
		}
	}
	slices.SortFunc(paces, func(a, b results.Pace) int { return strings.Compare(a.Lock, b.Lock) })
	for _, what := range []string{"alone", "contended", "recovery"} {
		for i := range paces {
			if err := o.pace(ctx, &paces[i], what, limit); err != nil {
				return nil, err
			}
			if told != nil {
				told(paces[i], what)
			}
		}
	}
	return paces, nil
}

// pace makes one of a lock's runs. What the lock or the machine cannot do is in
// the pace; an error means that picklock itself failed.
func (o MatrixOptions) pace(ctx context.Context, p *results.Pace, what string, limit time.Duration) error {
	name := strings.Trim(unsafeInName().ReplaceAllString(p.Lock, "-"), ".-")
	dir := filepath.Join(o.Out, "pace", name[:min(len(name), 60)]+"_"+what)
	args := []string{"run", "--lock", p.Lock, "--fencing", "none", "--ttl", "1s", "--work-time", "1ms", "--seed", "1", "--out", dir, "--runtime", o.Runtime, "--json"}
	if o.Cluster != "" {
		args = append(args, "--cluster", o.Cluster)
	}
	args = slices.Concat(args, optionFlags(o.Extra), abilityFlags(o.Abilities))
	fault := ""
	switch what {
	case "alone":
		args = append(args, "--clients", "1", "--duration", limit.String())
	case "contended":
		args = append(args, "--clients", strconv.Itoa(paceClients), "--duration", limit.String())
	case "recovery":
		var err error
		if fault, err = o.recoveryFault(ctx, p.Lock); err != nil {
			return err
		}
		if fault == "" {
			return nil
		}
		// Several faults, each with time to recover.
		args = append(args, "--clients", strconv.Itoa(paceClients), "--faults", fault, "--duration", (4 * limit).String())
	}
	v, why, err := o.paceRun(ctx, dir, args)
	if err != nil {
		return err
	}
	if why != "" {
		p.Why = strings.TrimPrefix(p.Why+"; "+what+": "+why, "; ")
		return nil
	}
	if rel, err := filepath.Rel(o.Out, dir); err == nil {
		p.Dirs = append(p.Dirs, filepath.ToSlash(rel))
	}
	grants, faults, err := grantsAndFaults(filepath.Join(dir, results.HistoryFile), fault)
	if err != nil {
		return err
	}
	var waited *results.Waited
	if w := v.Stats.Waits; w != nil {
		waited = &results.Waited{P50: w.P50, P99: w.P99, Max: w.Max}
	}
	switch what {
	case "alone":
		p.Alone = waited
	case "contended":
		p.Contended = waited
		if n := len(grants); n > 1 {
			p.Rate = float64(n-1) / time.Duration(grants[n-1]-grants[0]).Seconds()
		}
	case "recovery":
		times := outages(grants, faults)
		p.Fault, p.Faults, p.Recovered = fault, len(times), waitedOf(times)
	}
	return nil
}

// recoveryFault is what takes the lock's service away for a while: a failover where
// there are replicas, the death of the leader where one leads, that of a server
// where none does; "" where there is no server.
func (o MatrixOptions) recoveryFault(ctx context.Context, lock string) (string, error) {
	info, err := o.Table.Lookup(lock)
	if err != nil {
		return "", err
	}
	name := o.Cluster
	if name == "" {
		name = info.Cluster
	}
	if name == "" || name == "none" {
		return "", nil
	}
	def, err := compose.Load(ctx, name)
	if err != nil {
		return "", err
	}
	servers := def.Servers()
	switch {
	case len(servers) == 0:
		return "", nil
	case slices.ContainsFunc(servers, func(s compose.Service) bool { return s.Spec.Promote != nil }):
		return "failover", nil
	case len(servers) > 1 && slices.ContainsFunc(servers, func(s compose.Service) bool { return s.Spec.Leader != nil }):
		return "kill:leader", nil
	}
	return "kill:one", nil
}

// paceRun makes a run as a user would. why says what kept it from being made.
func (o MatrixOptions) paceRun(ctx context.Context, dir string, args []string) (v checker.Verdict, why string, err error) {
	stored := filepath.Join(dir, results.VerdictFile)
	if b, err := os.ReadFile(stored); err == nil && json.Unmarshal(b, &v) == nil {
		return v, "", nil
	}
	if err := os.RemoveAll(dir); err != nil {
		return v, "", fmt.Errorf("clear an unfinished run: %w", err)
	}
	cmd := Again(ctx, o.Self, args)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	runErr := cmd.Run()
	if ctx.Err() != nil {
		return v, "", fmt.Errorf("interrupted: %w", ctx.Err())
	}
	var exit *exec.ExitError
	if runErr != nil && !errors.As(runErr, &exit) {
		return v, "", fmt.Errorf("start picklock: %w", runErr)
	}
	if code := cmd.ProcessState.ExitCode(); code < 0 || code > 2 {
		return v, lastLine(stderr.String()), nil
	}
	if err := json.Unmarshal(stdout.Bytes(), &v); err != nil {
		return v, "", fmt.Errorf("picklock %s: read its verdict: %w", strings.Join(args, " "), err)
	}
	return v, "", nil
}

// grantsAndFaults reads from a run's history when grants came, and when the fault took effect.
func grantsAndFaults(path, fault string) (grants, faults []int64, err error) {
	base, _, _ := strings.Cut(fault, ":")
	err = history.StreamFile(path, func(e *history.Event) error {
		name, _, _ := strings.Cut(e.F, ":")
		switch {
		// Without a lock an update stands for the grant under which it would be made.
		case e.Type == history.OK && (e.F == history.Acquire || e.F == history.Add && e.Grant == ""):
			grants = append(grants, e.Time)
		case e.Process == history.Nemesis && e.Phase == history.Begin && e.Confirmed && name == base:
			faults = append(faults, e.Time)
		}
		return nil
	})
	return grants, faults, err
}

// outages is, for each fault, the longest time without a grant that began or went
// on after it and before the next fault: a service that dies may answer what is
// under way, so that the first grant after a fault says nothing.
func outages(grants, faults []int64) []int64 {
	var out []int64
	for i, s := range faults {
		longest := int64(-1)
		for j := 0; j+1 < len(grants); j++ {
			from, to := grants[j], grants[j+1]
			if to > s && (i+1 == len(faults) || from < faults[i+1]) {
				longest = max(longest, to-max(from, s))
			}
		}
		if longest >= 0 {
			out = append(out, longest)
		}
	}
	return out
}

// waitedOf sums times up; nil for none.
func waitedOf(times []int64) *results.Waited {
	if len(times) == 0 {
		return nil
	}
	slices.Sort(times)
	return &results.Waited{P50: percentile.Of(times, 50), P99: percentile.Of(times, 99), Max: times[len(times)-1]}
}
