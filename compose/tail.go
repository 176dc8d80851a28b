package compose

import (
	"fmt"
	"io"
	"os"
	"strings"
)

// tailLines is how many lines of a log an error shows.
const tailLines = 5

// Tail returns the last lines of a log file as the end of an error message: "" if
// there is no such file.
func Tail(path string) string {
	lines := LastLines(path)
	switch {
	case lines == nil:
		return ""
	case len(lines) == 0:
		return " (its log is empty)"
	}
	lines = lines[max(0, len(lines)-tailLines):]
	return fmt.Sprintf("; the last lines of %s:\n  %s", path, strings.Join(lines, "\n  "))
}

// LastLines returns the last lines of a log file, 2 KB at most: nil if there is no such
// file, none if it is empty.
func LastLines(path string) []string {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	const most = 2048
	if size, err := f.Seek(0, io.SeekEnd); err == nil && size > most {
		_, _ = f.Seek(-most, io.SeekEnd) // on failure the beginning is shown instead
	} else {
		_, _ = f.Seek(0, io.SeekStart)
	}
	text, _ := io.ReadAll(io.LimitReader(f, most))
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if len(lines) == 1 && lines[0] == "" {
		return []string{}
	}
	return lines
}
