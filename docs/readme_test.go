package docs_test

import (
	"path/filepath"
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

// hazards are the columns of the README's table: the scenarios and the fencing mode whose cells of
// docs/results/matrix.md they sum up.
var hazards = map[string]struct {
	scenarios string
	fencing   string
}{
	"client paused":      {"pause-holder", "none"},
	"write delayed":      {"delayed-write", "none"},
	"both, fenced":       {"pause-holder delayed-write", "read-write"},
	"wrong clock":        {"client-clock-jump server-clock-drift redlock-clock-drift redlock-clock-jump waiter-clock-ahead postgres-now postgres-clock-timestamp", "none"},
	"crash, failover":    {"aof-everysec-powerloss redlock-crash-restart sentinel-lost-lock failover-lost-lock postgres-failover postgres-restart holder-crashes waiter-crashes crash-in-acquire", "none"},
	"release or renewal": {"del-without-owner kubernetes-wrong-release late-renewal renewal-after-release pause-in-release sleeping-release answer-of-release-lost", "none"},
}

// sum is the gravest result of a lock in some scenarios of the matrix; "–" if none was run.
func sum(all map[[2]string]map[string]string, lock, scenarios, fencing string) string {
	out := "–"
	for _, scenario := range strings.Fields(scenarios) {
		cell := all[[2]string{scenario, lock}][fencing]
		switch {
		case strings.HasPrefix(cell, "✗") && strings.Contains(cell, "granted-early") || strings.Contains(cell, "wrong-release"):
			return "lock bug"
		case strings.HasPrefix(cell, "✗"):
			out = "hazard"
		case strings.HasPrefix(cell, "pass") && out == "–":
			out = "pass"
		}
	}
	return out
}

// TestReadmeSumsUpTheMatrix: what the README says of a lock is what the matrix measured.
func TestReadmeSumsUpTheMatrix(t *testing.T) {
	all := table(read(t, "docs/results/matrix.md"))
	if len(all) < 150 {
		t.Fatalf("%d lines in docs/results/matrix.md", len(all))
	}
	var columns []string
	locks := 0
	for line := range strings.Lines(read(t, "README.md")) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		switch {
		case len(cells) == len(hazards)+1 && cells[0] == "lock":
			columns = cells[1:]
		case columns == nil || strings.HasPrefix(cells[0], "---"):
		case len(cells) != len(columns)+1:
			columns = nil
		default:
			locks++
			for i, c := range columns {
				h, ok := hazards[c]
				if !ok {
					t.Fatalf("unknown column %q", c)
				}
				if want := sum(all, strings.Trim(cells[0], "`"), h.scenarios, h.fencing); cells[i+1] != want {
					t.Errorf("%s, %s: the README says %q, docs/results/matrix.md %q", cells[0], c, cells[i+1], want)
				}
			}
		}
	}
	if locks != 10 {
		t.Errorf("%d locks in the table, want 10", locks)
	}
}

// TestMatrixHasTheCatalogue: the page says every scenario, so it has every one.
func TestMatrixHasTheCatalogue(t *testing.T) {
	page := read(t, "docs/results/matrix.md")
	files, err := filepath.Glob("../scenarios/*.yaml")
	if err != nil || len(files) < 60 {
		t.Fatalf("%d scenarios: %v", len(files), err)
	}
	for _, f := range files {
		if name := strings.TrimSuffix(filepath.Base(f), ".yaml"); !strings.Contains(page, "\n| "+name+" |") {
			t.Errorf("docs/results/matrix.md has no line of %s", name)
		}
	}
}

// TestReadmeIsShort: a newcomer sees a picture and a first command on the first screen.
func TestReadmeIsShort(t *testing.T) {
	text := read(t, "README.md")
	if n := strings.Count(text, "\n"); n > 130 {
		t.Errorf("README.md has %d lines, want at most 130", n)
	}
	if i := strings.Index(text, "!["); i < 0 || strings.Count(text[:i], "\n") > 30 {
		t.Error("README.md shows no picture within its first 30 lines")
	}
	if i := strings.Index(text, "make demo"); i < 0 || strings.Count(text[:i], "\n") > 20 {
		t.Error("README.md shows no command within its first 20 lines")
	}
}
