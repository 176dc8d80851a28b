package compose

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/picklock/picklock/internal/format"
)

const (
	tailLines = 5         // of a log, that an error shows
	tailWidth = 240       // of such a line, in runes
	tailBytes = 64 * 1024 // of a log, that are read
	tailHead  = "; the last lines of "
)

// Tail returns the last lines of a log file as the end of an error message: "" if
// there is no such file. Stack traces are left out: they do not help the user of the
// server, and push out the line that does.
func Tail(path string) string {
	lines := LastLines(path)
	switch {
	case lines == nil:
		return ""
	case len(lines) == 0:
		return " (its log is empty)"
	}
	lines = format.WithoutTraces(lines)
	lines = lines[max(0, len(lines)-tailLines):]
	for i, l := range lines {
		if r := []rune(l); len(r) > tailWidth {
			lines[i] = string(r[:tailWidth]) + "…"
		}
	}
	return fmt.Sprintf("%s%s:\n  %s", tailHead, path, strings.Join(lines, "\n  "))
}

// WithoutTail cuts from an error's text the lines of a log that Tail has added, for places
// with room for one line.
func WithoutTail(text string) string {
	text, _, _ = strings.Cut(text, tailHead)
	text, _, _ = strings.Cut(text, "\n")
	return strings.TrimSpace(text)
}

// LastLines returns the last lines of a log file, 64 KB at most: nil if there is no such
// file, none if it is empty.
func LastLines(path string) []string {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	cut := false
	if size, err := f.Seek(0, io.SeekEnd); err == nil && size > tailBytes {
		_, err = f.Seek(-tailBytes, io.SeekEnd)
		cut = err == nil
	}
	if !cut {
		_, _ = f.Seek(0, io.SeekStart) // where even that fails, nothing is read
	}
	text, _ := io.ReadAll(io.LimitReader(f, tailBytes))
	lines := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	if cut && len(lines) > 1 {
		lines = lines[1:] // the first has lost its beginning
	}
	if len(lines) == 1 && strings.TrimSpace(lines[0]) == "" {
		return []string{}
	}
	return lines
}
