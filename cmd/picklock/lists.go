package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/compose"
	"github.com/picklock/picklock/nemesis"
	"github.com/picklock/picklock/scenarios"
)

type lockLine struct {
	Name    string `json:"name"`
	About   string `json:"about"`
	Cluster string `json:"cluster"`
	Fencing bool   `json:"fencing"`
	Kind    string `json:"kind"`    // rw, semaphore or reentrant; "" for a mutex
	MinTTL  int64  `json:"min_ttl"` // ns
	Naive   bool   `json:"naive"`   // known to be wrong, here to be seen to break
	// Options are set with --lock-option.
	Options []lockOption `json:"options,omitempty"`
	Aliases []string     `json:"aliases,omitempty"`
	NoLock  bool         `json:"no_lock"` // a way to do without one
	// Emulated names what stands in for the service, by runtime.
	Emulated map[string]string `json:"emulated,omitempty"`
}

type lockOption struct {
	Name    string `json:"name"`
	About   string `json:"about"`
	Default string `json:"default"`
	// Safer are the values, other than the default, that a hunt tries as a remedy.
	Safer []string `json:"safer,omitempty"`
}

func lockOptions(i clients.Info) []lockOption {
	var out []lockOption
	for _, o := range i.Options {
		safer := slices.DeleteFunc(slices.Clone(o.Safer), func(value string) bool { return value == o.Default })
		out = append(out, lockOption{o.Name, o.About, o.Default, safer})
	}
	return out
}

// rows are the lock's lines in the table: its own and one for each option.
func (l lockLine) rows() []string {
	about := l.About
	if l.Naive {
		about = "naive: " + about
	}
	if l.NoLock {
		about = strings.TrimPrefix(about, "no lock: ") // the column before says so
	}
	out := []string{fmt.Sprintf("%s\t%s\t%s\t%s\t%s", l.Name, l.Cluster, tokens(l.Fencing, l.NoLock), kindOf(l.Kind, l.NoLock), about)}
	for _, runtime := range slices.Sorted(maps.Keys(l.Emulated)) {
		out = append(out, fmt.Sprintf("\t\t\t\t  with --runtime %s the service is emulated by %s", runtime, l.Emulated[runtime]))
	}
	for _, o := range l.Options {
		values := "default: " + o.Default
		if len(o.Safer) > 0 {
			values += "; perhaps safer: " + strings.Join(o.Safer, ", ")
		}
		out = append(out, fmt.Sprintf("\t\t\t\t  --lock-option %s=...: %s (%s)", o.Name, o.About, values))
	}
	return out
}

// tokens says whether a lock gives fencing tokens.
func tokens(fencing, noLock bool) string {
	if noLock {
		return "no lock"
	}
	return yesNo(fencing)
}

// kindOf names what a lock promises.
func kindOf(kind string, noLock bool) string {
	switch {
	case noLock:
		return "-"
	case kind == "":
		return "mutex"
	}
	return kind
}

// emulated names what stands in for a cluster's service, by runtime; a cluster that
// cannot be loaded is none that is built in.
func emulated(ctx context.Context, cluster string) map[string]string {
	def, err := compose.Load(ctx, cluster)
	if err != nil {
		return nil
	}
	out := map[string]string{}
	for _, runtime := range []string{"local", "docker"} {
		if names := def.Emulators(runtime); len(names) > 0 {
			out[runtime] = strings.Join(names, ", ")
		}
	}
	return out
}

func listCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "list", Short: "List the locks, faults or scenarios", Args: noArguments,
		Example: `  picklock list locks
  picklock list faults
  picklock list scenarios --json`,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(listLocksCommand(), listFaultsCommand(), listScenariosCommand())
	return c
}

func listLocksCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "locks", Short: "List the locks that can be tested", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			lines := []lockLine{}
			for _, i := range lockTable.All() {
				lines = append(lines, lockLine{
					i.Name, i.About, i.Cluster, i.Fencing, i.Kind, int64(i.MinTTL), i.Naive, lockOptions(i), i.Aliases,
					i.Unlocked != nil, emulated(cmd.Context(), i.Cluster),
				})
			}
			if asJSON {
				return printJSON(lines)
			}
			var rows []string
			for _, l := range lines {
				rows = append(rows, l.rows()...)
			}
			rows = append(rows, "exec:COMMAND\t-\t?\tmutex\tany program that speaks JSON lines; docs/reference/exec.md has it ready for redis-py, kazoo, Curator and node-redlock",
				"\t\t\t\t  --lock-option NAME=...: handed to the program")
			return printTable("LOCK\tCLUSTER\tTOKENS\tKIND\tWHAT IT IS", len(rows), func(i int) string { return rows[i] })
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

type faultLine struct {
	Name  string `json:"name"`
	Usage string `json:"usage"`
	About string `json:"about"`
}

func listFaultsCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "faults", Short: "List the faults and their targets", Args: noArguments,
		Long: `List the faults and the words that may follow each.

all is every fault that the lock's cluster can take, two at a time, aimed at those who
matter: holder, waiter, leader, majority. Some critical sections are longer than the
lease then. run.json names what was drawn from.

A name alone (pause) strikes any one server or any one client. Any fault takes the word
held as well (kill:one:held): it strikes only when a client has read and not yet written.
Targets: holder (the client that has read and not yet written), waiter (one that has asked
for the lock and has no answer yet), client (any), server or one (any server), leader,
minority, majority, all (servers), or a node's name. none is no fault.

A partition can have a shape instead: halves (two groups of servers and clients), bridge
(two groups, and one server that both reach), ring (each server hears only its neighbours,
a majority, and no two hear the same). A clock jumps (+5s, -1m), runs at a rate (x1.1: 1.1 s
in a true second), or strobes (strobe:50ms: to and fro every 4.2 ms).`,
		RunE: func(*cobra.Command, []string) error {
			lines := []faultLine{}
			for _, k := range nemesis.Kinds() {
				lines = append(lines, faultLine{k.Name, k.Name + k.Usage, k.About})
			}
			if asJSON {
				return printJSON(lines)
			}
			return printTable("FAULT\tWHAT IT DOES\tHOW TO WRITE IT", len(lines), func(i int) string {
				return fmt.Sprintf("%s\t%s\t%s", lines[i].Name, lines[i].About, lines[i].Usage)
			})
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

type scenarioLine struct {
	Name    string   `json:"name"`
	About   string   `json:"about"`
	Source  string   `json:"source,omitempty"`
	Locks   []string `json:"locks"`
	Fencing []string `json:"fencing"`
	Faults  []string `json:"faults"`
}

func listScenariosCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "scenarios", Short: "List the catalogue of scenarios", Args: noArguments,
		RunE: func(*cobra.Command, []string) error {
			all, err := scenarios.All()
			if err != nil {
				return err
			}
			if asJSON {
				lines := []scenarioLine{}
				for _, s := range all {
					lines = append(lines, scenarioLine{s.Name, s.About, s.Source, s.Locks, s.Fencing, s.Faults()})
				}
				return printJSON(lines)
			}
			return printTable("SCENARIO\tLOCKS\tFAULTS", len(all), func(i int) string {
				s := all[i]
				return fmt.Sprintf("%s\t%s\t%s", s.Name, strings.Join(s.Locks, " "), orNone(s.Faults()))
			})
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func printJSON(v any) error {
	enc := json.NewEncoder(os.Stdout)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

func printTable(head string, rows int, row func(int) string) error {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, head)
	for i := range rows {
		fmt.Fprintln(w, row(i))
	}
	return w.Flush()
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
