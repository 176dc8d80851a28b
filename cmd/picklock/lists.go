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
	"unicode/utf8"

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
	Language string            `json:"language"`          // of the lock's client
	Library  string            `json:"library,omitempty"` // in a language other than Go: as its registry names it
	Version  string            `json:"version,omitempty"` // of it: the tested one
}

// lockLineOf is a lock as the list has it.
func lockLineOf(ctx context.Context, i clients.Info) lockLine {
	l := lockLine{
		Name: i.Name, About: i.About, Cluster: i.Cluster, Fencing: i.Fencing, Kind: i.Kind, MinTTL: int64(i.MinTTL), Naive: i.Naive,
		Options: lockOptions(i), Aliases: i.Aliases, NoLock: i.Unlocked != nil, Emulated: emulated(ctx, i.Cluster), Language: "Go",
	}
	if i.Library != nil {
		l.Language, l.Library, l.Version = i.Library.Language, i.Library.Name, i.Library.Version
	}
	return l
}

type lockOption struct {
	Name    string `json:"name"`
	About   string `json:"about"`
	Default string `json:"default"`
	// Safer are the values, other than the default, that a hunt tries as a mitigation.
	Safer []string `json:"safer,omitempty"`
	// Also is a value that a hunt tries besides the default.
	Also string `json:"also,omitempty"`
}

func lockOptions(i clients.Info) []lockOption {
	var out []lockOption
	for _, o := range i.Options {
		safer := slices.DeleteFunc(slices.Clone(o.Safer), func(value string) bool { return value == o.Default })
		out = append(out, lockOption{o.Name, o.About, o.Default, safer, o.Also})
	}
	return out
}

// entry is the lock as the list shows it.
func (l lockLine) entry() listEntry {
	about := l.About
	if l.Naive {
		about = "naive: " + about
	}
	e := listEntry{name: l.Name, facts: []string{"cluster " + l.Cluster, kindOf(l.Kind, l.NoLock)}, texts: []string{about}}
	if l.NoLock {
		e.texts[0] = strings.TrimPrefix(about, "no lock: ") // the facts say so
	} else {
		e.facts = append(e.facts, map[bool]string{true: "fencing tokens", false: "no tokens"}[l.Fencing])
	}
	if l.Library != "" {
		e.facts = append(e.facts, l.Language)
		e.texts = append(e.texts, fmt.Sprintf("tested with %s %s; --lock %s@VERSION runs another", l.Library, l.Version, l.Name))
	}
	for _, runtime := range slices.Sorted(maps.Keys(l.Emulated)) {
		e.texts = append(e.texts, fmt.Sprintf("with --runtime %s the service is emulated by %s", runtime, l.Emulated[runtime]))
	}
	for _, o := range l.Options {
		values := "default: " + o.Default
		if len(o.Safer) > 0 {
			values += "; perhaps safer: " + strings.Join(o.Safer, ", ")
		}
		if o.Also != "" {
			values += "; a hunt also tries: " + o.Also
		}
		e.texts = append(e.texts, fmt.Sprintf("--lock-option %s=...: %s (%s)", o.Name, o.About, values))
	}
	return e
}

// kindOf names what a lock promises.
func kindOf(kind string, noLock bool) string {
	switch {
	case noLock:
		return "no lock"
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
				lines = append(lines, lockLineOf(cmd.Context(), i))
			}
			if asJSON {
				return printJSON(lines)
			}
			var entries []listEntry
			for _, l := range lines {
				entries = append(entries, l.entry())
			}
			return printEntries(append(entries, listEntry{
				name: "exec:COMMAND", facts: []string{"your own program"},
				texts: []string{"any program that speaks JSON lines (docs/reference/exec.md)", "--lock-option NAME=...: passed to the program"},
			}))
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
		Long: `List the faults and the words that may follow each. run, hunt and the file of a campaign
take the same.

` + faultGrammar + `

In a run, all is every fault that the lock's cluster can take, two at a time, aimed at those who
matter: holder, waiter, leader, majority. Some critical sections are longer than the
lease then. run.json names what was drawn from.

A name alone (pause) is injected into any one server or any one client. Any fault takes the
word held as well (kill:one:held): it is injected only when a client has read and not yet
written.
Targets: holder (the client that has read and not yet written), waiter (one that has asked
for the lock and has no answer yet), client (any), server or one (any server), leader,
minority, majority, all (servers), or a node's name.

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
			var entries []listEntry
			for _, l := range lines {
				entries = append(entries, listEntry{name: l.Name, texts: []string{l.About, l.Usage}})
			}
			return printEntries(entries)
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
			var entries []listEntry
			for _, s := range all {
				entries = append(entries, listEntry{name: s.Name, facts: []string{"faults: " + orNone(s.Faults())}, texts: []string{s.About, "locks: " + strings.Join(s.Locks, " ")}})
			}
			return printEntries(entries)
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

// listEntry is what a list says of one thing: its name with some facts, and texts below.
type listEntry struct {
	name  string
	facts []string
	texts []string
}

// listWidth is how wide a line of a list is at most.
const listWidth = 100

// printEntries prints entries in lines of at most listWidth columns.
func printEntries(entries []listEntry) error {
	var b strings.Builder
	for _, e := range entries {
		head := e.name
		if len(e.facts) > 0 {
			head = fmt.Sprintf("%-32s %s", e.name, strings.Join(e.facts, ", "))
		}
		fmt.Fprintln(&b, head)
		for _, text := range e.texts {
			for i, line := range wrapped(text, listWidth-6) {
				indent := "    "
				if i > 0 {
					indent = "      "
				}
				fmt.Fprintln(&b, indent+line)
			}
		}
	}
	_, err := fmt.Fprint(os.Stdout, b.String())
	return err
}

// wrapped breaks a text into lines of at most width columns: between words, or, where a word is
// longer, before the alternatives of a syntax.
func wrapped(text string, width int) []string {
	var lines []string
	for utf8.RuneCountInString(text) > width {
		head := string([]rune(text)[:width+1])
		at := strings.LastIndex(head, " ")
		if at <= 0 {
			if at = strings.LastIndexAny(head[:len(head)-1], "|["); at <= 0 {
				at = len(string([]rune(text)[:width]))
			}
		}
		lines = append(lines, text[:at])
		text = strings.TrimPrefix(text[at:], " ")
	}
	return append(lines, text)
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
