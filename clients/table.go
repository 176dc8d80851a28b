package clients

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/picklock/picklock/internal/suggest"
)

// Table is the locks that a program knows, by name. A program makes its table (all.Locks has
// everything) and passes it to what has to find a lock. The nil Table has none.
type Table struct {
	byName  map[string]Info
	program func(command string) (Info, error)
}

// NewTable makes a table of these locks, whose names differ. program makes the lock of a
// name "exec:COMMAND"; nil if the table has no such names.
func NewTable(program func(command string) (Info, error), locks ...Info) *Table {
	t := &Table{byName: make(map[string]Info, len(locks)), program: program}
	for _, i := range locks {
		t.byName[i.Name] = i
	}
	return t
}

// Add puts one more lock into the table, before anything is looked up there.
func (t *Table) Add(i Info) error {
	switch _, twice := t.byName[i.Name]; {
	case i.Name == "" || i.Open == nil:
		return errors.New("a lock needs a name and an Open")
	case twice || i.IsExec():
		return fmt.Errorf("the name %q is taken", i.Name)
	}
	t.byName[i.Name] = i
	return nil
}

// All lists the locks by name.
func (t *Table) All() []Info {
	if t == nil {
		return nil
	}
	out := make([]Info, 0, len(t.byName))
	for _, i := range t.byName {
		out = append(out, i)
	}
	slices.SortFunc(out, func(a, b Info) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// Lookup finds a lock by its name or an alias, a library's in another version by "NAME@VERSION", or
// makes one of "exec:COMMAND".
func (t *Table) Lookup(name string) (Info, error) {
	if t == nil {
		return Info{}, fmt.Errorf("lock %q: no locks are known here", name)
	}
	if command, ok := strings.CutPrefix(name, ExecPrefix); ok && t.program != nil {
		return t.program(command)
	}
	if i, ok := t.byName[name]; ok {
		return i, nil
	}
	if base, version, ok := strings.Cut(name, "@"); ok {
		i, err := t.Lookup(base)
		switch {
		case err != nil:
			return i, err
		case i.Library == nil:
			return Info{}, fmt.Errorf("lock %s has no other versions: want the name of a library's lock before @ (see picklock list locks)", base)
		}
		return i.Library.At(version)
	}
	names := make([]string, 0, len(t.byName))
	for _, i := range t.All() {
		if slices.Contains(i.Aliases, name) {
			return i, nil
		}
		names = append(names, i.Name)
	}
	if t.program == nil {
		return Info{}, suggest.Unknown("lock", name, names)
	}
	return Info{}, fmt.Errorf("%w; a program of your own is exec:COMMAND", suggest.Listed("lock", name, names, "picklock list locks"))
}

// ForForeignKeys is the service of that name for other programs' locks (see
// Service.ForForeignKeys).
func (t *Table) ForForeignKeys(name string) (*Service, error) {
	var names []string
	for _, i := range t.All() {
		s := i.Service.ForForeignKeys()
		switch {
		case s == nil || slices.Contains(names, s.Name):
			continue
		case s.Name == name:
			return s, nil
		}
		names = append(names, s.Name)
	}
	return nil, suggest.Unknown("service of which picklock can remove what locks of your own leave", name, names)
}
