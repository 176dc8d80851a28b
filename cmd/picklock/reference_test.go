package main

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/clients/register"
	"github.com/picklock/picklock/nemesis"
	"github.com/picklock/picklock/workloads"
)

var update = flag.Bool("update", false, "write docs/reference.md anew")

// The page lists what the packages' tables hold, so that a new lock, fault or
// anomaly is in it without anybody writing it down.
func TestReferenceIsCurrent(t *testing.T) {
	const path = "../../docs/reference.md"
	want := reference(t)
	if *update {
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("docs/reference.md is not what the tables say: go test ./cmd/picklock -run Reference -update\n%s", diff)
	}
}

func reference(t *testing.T) []byte {
	var b bytes.Buffer
	cell := func(s string) string { return strings.ReplaceAll(s, "|", `\|`) }
	table := func(title string, head ...string) {
		fmt.Fprintf(&b, "\n## %s\n\n| %s |\n|%s\n", title, strings.Join(head, " | "), strings.Repeat("---|", len(head)))
	}
	row := func(cells ...string) {
		for i := range cells {
			cells[i] = cell(cells[i])
		}
		fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | "))
	}
	b.WriteString("# Reference\n\nLocks, faults, workloads, fencing disciplines and anomalies, as the program has them.\n")
	var options []lockLine
	table("Locks (`--lock`)", "lock", "cluster", "fencing tokens", "kind", "what it is")
	for _, l := range lockTable.All() {
		about := l.About
		for _, runtime := range slices.Sorted(maps.Keys(emulated(t.Context(), l.Cluster))) {
			about += fmt.Sprintf("; on %s emulated by %s", runtime, emulated(t.Context(), l.Cluster)[runtime])
		}
		row("`"+l.Name+"`", l.Cluster, tokens(l.Fencing, l.Unlocked != nil), kindOf(l.Kind, l.Unlocked != nil), about)
		options = append(options, lockLine{Name: l.Name, Options: lockOptions(l)})
	}
	row("`exec:COMMAND`", "as told", "if it gives any", "mutex", "a program in any language: [exec.md](exec.md)")
	table("Options of the locks (`--lock-option NAME=VALUE`)", "lock", "option", "default", "perhaps safer", "what it is")
	for _, l := range options {
		for _, o := range l.Options {
			row("`"+l.Name+"`", "`"+o.Name+"`", o.Default, strings.Join(o.Safer, ", "), o.About)
		}
	}
	table("Faults (`--faults`)", "fault", "what it does", "how to write it")
	for _, k := range nemesis.Kinds() {
		row("`"+k.Name+"`", k.About, "`"+k.Name+k.Usage+"`")
	}
	table("Workloads (`--workload`)", "workload", "what a client does with the lock")
	for _, w := range workloads.All() {
		row("`"+w.Name+"`", w.About)
	}
	table("Fencing (`--fencing`)", "discipline", "what the register does")
	for _, d := range register.Disciplines() {
		row("`"+d.Name+"`", d.About)
	}
	table("Registers (`--register`)", "register", "what the protected resource is made of")
	for _, r := range backends {
		row("`"+r.Name+"`", r.About)
	}
	table("Anomalies", "anomaly", "property", "what it is")
	for _, a := range checker.Anomalies() {
		row("`"+a.Name+"`", "`"+a.Property+"`", a.Doc)
	}
	return b.Bytes()
}
