package compose

import (
	"fmt"
	"path/filepath"
)

// check refuses what could only be found wrong after a start. It is fine with nil.
func (l *Local) check() error {
	if l == nil {
		return nil
	}
	for _, c := range []struct {
		key   string
		words []string
	}{{"command", l.Command}, {"prepare", l.Prepare}, {"version", l.Version}} {
		if len(c.words) > 0 && c.words[0] == "" {
			return fmt.Errorf("x-picklock: local: %s: the name of the program is empty", c.key)
		}
	}
	if l.User < 0 {
		return fmt.Errorf("x-picklock: local: user %d: want a user id above 0, or 0 where any will do", l.User)
	}
	for _, pattern := range l.Path {
		if _, err := filepath.Match(pattern, ""); err != nil {
			return fmt.Errorf("x-picklock: local: path %q: %w", pattern, err)
		}
	}
	for i, n := range l.Needs {
		switch {
		case (n.Program == "") == (n.File == ""):
			return fmt.Errorf("x-picklock: local: needs, number %d: want either a program or a file", i+1)
		case n.Package == "" && n.Hint == "":
			return fmt.Errorf("x-picklock: local: needs, number %d: want the package that has it, or a hint what to do", i+1)
		}
	}
	return nil
}
