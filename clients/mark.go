package clients

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MarkPrefix begins the mark of a run, which is in the names of all that it makes on servers
// which it has not started.
const MarkPrefix = "picklock-"

// marks is what a mark looks like: ten letters and digits (base32) follow the prefix.
var marks = regexp.MustCompile(`^` + MarkPrefix + `[a-z2-7]{10}-`)

// MarkIn is the mark of the run that gave a name, "" if no run did. The name is what a run
// chooses, without what its lock or its service puts before it: a name that has a mark further
// on may be a user's.
func MarkIn(name string) string { return marks.FindString(name) }

// hasPart says whether a part of a name begins with mark. A part begins where the name does, and
// after any character but letters, digits and dashes.
func hasPart(name, mark string) bool {
	for from := 0; ; {
		i := strings.Index(name[from:], mark)
		if i < 0 {
			return false
		}
		i += from
		if before, _ := utf8.DecodeLastRuneInString(name[:i]); i == 0 || before != '-' && !unicode.IsLetter(before) && !unicode.IsDigit(before) {
			return true
		}
		from = i + 1
	}
}

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
