package main

import (
	"encoding/json"
	"fmt"
	"os"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/nemesis"
)

type lockLine struct {
	Name    string `json:"name"`
	About   string `json:"about"`
	Cluster string `json:"cluster"`
	Fencing bool   `json:"fencing"`
	MinTTL  int64  `json:"min_ttl"` // ns
	Naive   bool   `json:"naive"`   // known to be wrong, here to be seen to break
}

func locksCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "locks", Short: "List the locks that can be tested", Args: noArguments,
		RunE: func(*cobra.Command, []string) error {
			lines := []lockLine{}
			for _, i := range clients.All() {
				lines = append(lines, lockLine{i.Name, i.About, i.Cluster, i.Fencing, int64(i.MinTTL), i.Naive})
			}
			if asJSON {
				return printJSON(lines)
			}
			return printTable("LOCK\tCLUSTER\tTOKENS\tWHAT IT IS", len(lines)+1, func(i int) string {
				if i == len(lines) {
					return "exec:COMMAND\t-\t?\tany program that speaks JSON lines (docs/exec.md)"
				}
				l := lines[i]
				about := l.About
				if l.Naive {
					about = "naive: " + about
				}
				return fmt.Sprintf("%s\t%s\t%s\t%s", l.Name, l.Cluster, yesNo(l.Fencing), about)
			})
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

func faultsCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "faults", Short: "List the faults and their targets", Args: noArguments,
		Long: `List the faults and the words that may follow each.

Any fault takes the word held as well (kill:one:held): it strikes only when a
client has read and not yet written. Targets: holder (the client that has read and not yet written), client (any),
leader, one, minority, majority, all (servers), or a node's name.`,
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
