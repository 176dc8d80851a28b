package main

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/picklock/picklock/internal/format"
)

// report prints the table and writes it as JSON.
func (r runner) report(w io.Writer, done []record) error {
	all, err := load(bugsFile)
	if err != nil {
		return err
	}
	var b strings.Builder
	b.WriteString("| bug | library | broken, fixed | kind | result | schedules with up to one fault | found after | least | rate broken, fixed | picklock's cause | reported cause | accused in the fixed version |\n")
	b.WriteString("|---|---|---|---|---|---|---|---|---|---|---|---|\n")
	count := map[outcome]int{}
	accused := 0
	for _, rec := range done {
		i := slices.IndexFunc(all.Bugs, func(x bug) bool { return x.ID == rec.ID })
		b.WriteString(line(all.Bugs[i], rec))
		count[rec.Outcome]++
		accused += len(rec.Accused)
	}
	fmt.Fprintf(&b, "\n%d %s: %d found, %d shown, %d not found, %d unavailable. Lock bugs named in fixed versions: %d.\n",
		len(done), format.Noun(len(done), "bug", "bugs"), count[found], count[shown], count[notFound], count[unavailable], accused)
	if _, err := io.WriteString(w, b.String()); err != nil {
		return err
	}
	if count[unavailable] == len(done) {
		return nil // nothing was hunted for
	}
	return writeJSON(filepath.Join(r.out, "reported.json"), done)
}

// line is the bug's line of the table.
func line(b bug, rec record) string {
	after, least, rate, cause := "–", "–", "–", rec.Why
	if t := rec.Found; t != nil {
		after = fmt.Sprintf("%.0f s", t.Seconds)
		least = fmt.Sprintf("%d %s, %d steps", t.Faults, format.Noun(t.Faults, "fault", "faults"), t.Steps)
		rate = fmt.Sprintf("%d of %d", t.Broken.Hits, t.Broken.Runs)
		if b.Fixed != "" {
			rate += fmt.Sprintf(", %d of %d", t.Fixed.Hits, t.Fixed.Runs)
		}
		cause = t.Says
	}
	accused := "–"
	if rec.Accused != nil {
		accused = fmt.Sprint(len(rec.Accused))
		if len(rec.Accused) > 0 {
			accused += ": " + strings.Join(rec.Accused, "; ")
		}
	}
	fixed := b.Fixed
	if fixed == "" {
		fixed = "none"
	}
	cells := []string{fmt.Sprintf("[%s](%s)", b.ID, b.Link), b.Library, b.Broken + ", " + fixed, b.Kind, string(rec.Outcome), cmp.Or(rec.Tested, "–"), after, least, rate, cause, b.What, accused}
	for i, c := range cells {
		cells[i] = strings.ReplaceAll(strings.ReplaceAll(c, "|", `\|`), "\n", " ")
	}
	return "| " + strings.Join(cells, " | ") + " |\n"
}
