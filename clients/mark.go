package clients

import (
	"regexp"
	"slices"
)

// MarkPrefix begins the mark of a run, which is in the names of all that it makes on servers
// which it has not started.
const MarkPrefix = "picklock-"

// marks is what a mark looks like: ten letters and digits (base32) follow the prefix.
var marks = regexp.MustCompile(`^` + MarkPrefix + `[a-z2-7]{10}-`)

// MarkIn is the mark of the run that gave a name, "" where no run did. The name is what a run
// chooses, without what its lock or its service puts before it: one that has a mark further
// on is somebody else's.
func MarkIn(name string) string { return marks.FindString(name) }

// MarksIn are the marks in names, each once, in order.
func MarksIn(names []string) []string {
	var out []string
	for _, name := range names {
		if mark := MarkIn(name); mark != "" {
			out = append(out, mark)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
