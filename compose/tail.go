package compose

import (
	"fmt"
	"io"
	"os"
	"strings"
)

// Tail returns the last lines of a log file as the end of an error message: "" if
// there is no such file.
func Tail(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
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
	lines = lines[max(0, len(lines)-5):]
	if len(lines) == 1 && lines[0] == "" {
		return " (its log is empty)"
	}
	return fmt.Sprintf("; the last lines of %s:\n  %s", f.Name(), strings.Join(lines, "\n  "))
}
