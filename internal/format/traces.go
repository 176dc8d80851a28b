package format

import "strings"

// WithoutTraces leaves out of a program's output what follows the line of an exception or a panic: indented lines,
// in Go's traces the names of functions, too, up to the trace's end, and Node's version, with which it ends.
// What has nothing else is left as it is.
func WithoutTraces(lines []string) []string {
	var out []string
	trace := false // of Go: it is the last that the program says
	for _, l := range lines {
		if strings.HasPrefix(l, "goroutine ") && strings.HasSuffix(strings.TrimSpace(l), ":") {
			trace = true
		}
		indented := len(l) > 0 && (l[0] == ' ' || l[0] == '\t')
		if trace || indented || strings.TrimSpace(l) == "" || strings.HasPrefix(l, "Node.js v") {
			continue
		}
		out = append(out, l)
	}
	if len(out) == 0 {
		return lines
	}
	return out
}
