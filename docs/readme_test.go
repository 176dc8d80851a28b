package docs_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// table reads the rows of the first table whose head begins with scenario
// and lock: by these two, the cells by their columns' names. A scenario is written once.
func table(text string) map[[2]string]map[string]string {
	out := map[[2]string]map[string]string{}
	var columns []string
	scenario := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "|") {
			if columns != nil {
				break
			}
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		switch {
		case columns == nil && cells[0] == "scenario":
			columns = cells[2:]
			continue
		case columns == nil || strings.HasPrefix(cells[0], "---"):
			continue
		case cells[0] != "":
			scenario = cells[0]
		}
		row := map[string]string{}
		for i, c := range columns {
			row[c] = cells[2+i]
		}
		out[[2]string{scenario, cells[1]}] = row
	}
	return out
}

// The README's few lines are lines of the measured table, so that neither says what the
// other does not.
func TestReadmeShowsTheMatrix(t *testing.T) {
	few, all := table(read(t, "README.md")), table(read(t, "docs/results/matrix.md"))
	if len(few) < 8 || len(all) < 100 {
		t.Fatalf("%d lines in the README, %d in docs/results/matrix.md", len(few), len(all))
	}
	for key, row := range few {
		measured, ok := all[key]
		if !ok {
			t.Errorf("docs/results/matrix.md has no line for %s on %s", key[0], key[1])
			continue
		}
		for _, column := range slices.Sorted(maps.Keys(row)) {
			if row[column] != measured[column] {
				t.Errorf("%s on %s, %s: the README says %q, docs/results/matrix.md %q", key[0], key[1], column, row[column], measured[column])
			}
		}
	}
}

// A newcomer sees what it is, how to begin, and a picture on the first screen; the
// long table is elsewhere.
func TestReadmeIsShort(t *testing.T) {
	text := read(t, "README.md")
	if n := strings.Count(text, "\n"); n > 100 {
		t.Errorf("README.md has %d lines, want at most 100", n)
	}
	if i := strings.Index(text, "!["); i < 0 || strings.Count(text[:i], "\n") > 30 {
		t.Error("README.md shows no picture within its first 30 lines")
	}
	if n := len(table(text)); n > 12 {
		t.Errorf("the README's table has %d lines, want at most 12", n)
	}
}
