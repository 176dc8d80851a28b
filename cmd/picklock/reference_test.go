package main

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/clients/register"
	"github.com/picklock/picklock/nemesis"
	"github.com/picklock/picklock/workloads"
)

var update = flag.Bool("update", false, "write the tables of docs/reference anew")

const commandPage = "cli.md"

// Tables of the reference stand between these lines of their page.
const (
	tableBegin = "<!-- Written by go test ./cmd/picklock -run Reference -update: %s -->\n"
	tableEnd   = "<!-- End -->\n"
)

// TestReferenceIsCurrent: the pages list what the packages' tables hold, so that a new
// lock, fault or anomaly is in them without anybody writing it down.
func TestReferenceIsCurrent(t *testing.T) {
	for page, tables := range reference(t) {
		path := "../../docs/reference/" + page
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		got := string(b)
		want := got
		for _, name := range slices.Sorted(maps.Keys(tables)) {
			begin := fmt.Sprintf(tableBegin, name)
			before, rest, found := strings.Cut(want, begin)
			_, after, closed := strings.Cut(rest, tableEnd)
			if !found || !closed {
				t.Fatalf("%s has no place for the table %q: the lines %q and %q", path, name, begin, tableEnd)
			}
			want = before + begin + "\n" + tables[name] + "\n" + tableEnd + after
		}
		if *update {
			if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s is not what the tables say: go test ./cmd/picklock -run Reference -update\n%s", path, diff)
		}
	}
}

// TestCommandReferenceIsCurrent: docs/reference/cli.md has what --help prints of each command.
func TestCommandReferenceIsCurrent(t *testing.T) {
	const path = "../../docs/reference/" + commandPage
	var b strings.Builder
	b.WriteString("# Command line\n\nWhat `--help` prints of each command. [Exit codes](exit-codes.md) have a page of their own.\n\n" +
		"<!-- Written by go test ./cmd/picklock -run Reference -update -->\n")
	var each func(c *cobra.Command)
	each = func(c *cobra.Command) {
		if c.Hidden || c.Name() == "help" || c.Name() == "completion" {
			return
		}
		about := c.Long
		if about == "" {
			about = c.Short
		}
		fmt.Fprintf(&b, "\n## %s\n\n```text\n%s\n\n%s\n```\n", c.CommandPath(), strings.TrimSpace(about), strings.TrimSpace(c.UsageString()))
		for _, sub := range c.Commands() {
			each(sub)
		}
	}
	root := newRoot()
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	each(root)
	if *update {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(b.String(), string(got)); diff != "" {
		t.Errorf("%s is not what --help prints: go test ./cmd/picklock -run Reference -update\n%s", path, diff)
	}
}

// reference makes the tables: by page, by name.
func reference(t *testing.T) map[string]map[string]string {
	cell := func(s string) string { return strings.ReplaceAll(s, "|", `\|`) }
	table := func(rows [][]string, head ...string) string {
		var b strings.Builder
		fmt.Fprintf(&b, "| %s |\n|%s\n", strings.Join(head, " | "), strings.Repeat("---|", len(head)))
		for _, cells := range rows {
			for i := range cells {
				cells[i] = cell(cells[i])
			}
			fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | "))
		}
		return b.String()
	}
	var locks, options, libraries, faults, work, fencing, registers, anomalies [][]string
	for _, l := range lockTable.All() {
		about := l.About
		for _, runtime := range slices.Sorted(maps.Keys(emulated(t.Context(), l.Cluster))) {
			about += fmt.Sprintf("; on %s emulated by %s", runtime, emulated(t.Context(), l.Cluster)[runtime])
		}
		locks = append(locks, []string{"`" + l.Name + "`", l.Cluster, tokensWord(l.Fencing, l.Unlocked != nil), kindOf(l.Kind, l.Unlocked != nil), about})
		if lib := l.Library; lib != nil {
			var pages []string
			for n, page := range lib.Promises {
				pages = append(pages, fmt.Sprintf("[%d](%s)", n+1, page))
			}
			libraries = append(libraries, []string{"`" + l.Name + "`", lib.Language, "`" + lib.Name + "`", lib.Version, strings.Join(pages, " ")})
		}
		for _, o := range lockOptions(l) {
			options = append(options, []string{"`" + l.Name + "`", "`" + o.Name + "`", o.Default, strings.Join(o.Safer, ", "), o.Also, o.About})
		}
	}
	locks = append(locks, []string{"`exec:COMMAND`", "set by `--cluster`", "if it gives any", "mutex", "a program in any language: [exec protocol](exec.md)"})
	for _, k := range nemesis.Kinds() {
		faults = append(faults, []string{"`" + k.Name + "`", k.About, "`" + k.Name + k.Usage + "`"})
	}
	for _, w := range workloads.All() {
		work = append(work, []string{"`" + w.Name + "`", w.About})
	}
	for _, d := range register.FencingModes() {
		fencing = append(fencing, []string{"`" + d.Name + "`", d.About})
	}
	for _, r := range backends {
		registers = append(registers, []string{"`" + r.Name + "`", r.About})
	}
	for _, a := range checker.Anomalies() {
		anomalies = append(anomalies, []string{"`" + a.Name + "`", a.Title, "`" + a.Property + "`", a.Doc})
	}
	return map[string]map[string]string{
		"locks.md": {
			"locks":     table(locks, "lock", "cluster", "fencing tokens", "kind", "what it is"),
			"libraries": table(libraries, "lock", "language", "library", "tested version", "what its documentation promises"),
			"options":   table(options, "lock", "option", "default", "perhaps safer", "a hunt also tries", "what it is"),
		},
		"faults.md": {"grammar": strings.ReplaceAll(faultGrammar, "\n", " ") + "\n", "faults": table(faults, "fault", "what it does", "how to write it")},
		"workloads.md": {
			"workloads": table(work, "workload", "what a client does with the lock"),
			"fencing":   table(fencing, "mode", "what the register does"),
			"registers": table(registers, "register", "what the protected resource is made of"),
		},
		"anomalies.md": {"anomalies": table(anomalies, "anomaly", "shown as", "property", "what it is")},
	}
}

// tokensWord says whether a lock gives fencing tokens.
func tokensWord(fencing, noLock bool) string {
	switch {
	case noLock:
		return "no lock"
	case fencing:
		return "yes"
	}
	return "no"
}
