package locktest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// crashed is how a Go program begins to say that it broke down.
var crashed = regexp.MustCompile(`(?m)^(panic: |fatal error: |SIG[A-Z]+: )`)

// crashLines is how much of a stack is shown.
const crashLines = 40

// crash finds what a client said that broke down, in its log: the beginning of a panic
// and its stack; "" if none did. dir is the folder of a run, or a pattern of such.
func crash(dir string) string {
	logs, err := filepath.Glob(filepath.Join(dir, "nodes", "*.log"))
	if err != nil {
		return "" // the folder's name is no pattern
	}
	for _, path := range logs {
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		at := crashed.FindIndex(text)
		if at == nil {
			continue
		}
		lines := strings.Split(strings.TrimSpace(string(text[at[0]:])), "\n")
		more := ""
		if len(lines) > crashLines {
			lines, more = lines[:crashLines], "\n\t... all of it: "+path
		}
		name := strings.TrimSuffix(filepath.Base(path), ".log")
		return "\nclient " + name + " broke down:\n\t" + strings.Join(lines, "\n\t") + more
	}
	return ""
}
