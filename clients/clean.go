package clients

import (
	"context"
	"fmt"
	"strings"
)

// Store is one place in which a service keeps things by name: keys, sessions, rows, tables.
type Store struct {
	// Prefix is what the locks of this package put before the name that a run gave.
	Prefix string
	// Given is the name that a run gave, of a name in the store; nil: what follows Prefix.
	Given func(name string) string
	// Each calls do for every name that begins with text, and perhaps for others: children
	// before their parents. do may delete the name.
	Each func(ctx context.Context, text string, do func(name string) error) error
	// Anywhere says that Each finds text anywhere in a name, not only at the beginning.
	Anywhere bool
	// Delete removes what has this name; false: nothing had.
	Delete func(ctx context.Context, name string) (bool, error)
	// Done removes what runs share, if no run has anything there any more; nil for nothing.
	Done func(ctx context.Context) error
}

func (s Store) given(name string) string {
	if s.Given != nil {
		return s.Given(name)
	}
	if rest, ok := strings.CutPrefix(name, s.Prefix); ok {
		return rest
	}
	return ""
}

// Clean removes what all clients' locks keep on the service under the mark of a run, and returns how many names that was. A mark is as MarkIn finds it. A name counts only if the part
// of it that the run gave begins with the mark.
func (s *Service) Clean(ctx context.Context, o Options, mark string) (n int, err error) {
	stores, clean := s.Stores, cleanOwn
	if s.foreign {
		stores, clean = s.ForeignStores, cleanForeign
	}
	err = stores(ctx, o, func(st Store) error {
		removed, err := clean(ctx, st, mark)
		n += removed
		return err
	})
	if err != nil {
		err = fmt.Errorf("%s: remove what has %s in its name: %w", s.Name, mark, err)
	}
	return n, err
}

// cleanOwn cleans a store of the locks of picklock.
func cleanOwn(ctx context.Context, st Store, mark string) (int, error) {
	// A user who may not delete learns it before a run has written anything.
	if _, err := st.Delete(ctx, st.Prefix+mark+"none"); err != nil {
		return 0, err
	}
	n, err := st.remove(ctx, st.Prefix+mark, func(name string) bool { return strings.HasPrefix(st.given(name), mark) })
	if err == nil && st.Done != nil {
		err = st.Done(ctx)
	}
	return n, err
}

// cleanForeign cleans a store of a program whose prefix is unknown. Names that only contain
// the mark may be a user's: they stay, and the error names one.
func cleanForeign(ctx context.Context, st Store, mark string) (int, error) {
	text, left, example := "", 0, ""
	if st.Anywhere {
		text = mark
	}
	n, err := st.remove(ctx, text, func(name string) bool {
		switch {
		case hasPart(name, mark):
			return true
		case strings.Contains(name, mark):
			left, example = left+1, name
		}
		return false
	})
	if err == nil && left > 0 {
		err = fmt.Errorf("%d names have a letter, a digit or a dash before it and may be yours, %q for one: remove them yourself, and have your program separate its prefix with another character, such as a colon", left, example)
	}
	return n, err
}

func (s Store) remove(ctx context.Context, text string, wanted func(name string) bool) (n int, err error) {
	err = s.Each(ctx, text, func(name string) error {
		if !wanted(name) {
			return nil
		}
		removed, err := s.Delete(ctx, name)
		if removed {
			n++
		}
		return err
	})
	return n, err
}

// Marks lists the marks of all runs whose locks keep something on the service, each once, in
// order.
func (s *Service) Marks(ctx context.Context, o Options) ([]string, error) {
	var names []string
	err := s.Stores(ctx, o, func(st Store) error {
		return st.Each(ctx, st.Prefix+MarkPrefix, func(name string) error {
			names = append(names, st.given(name))
			return nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("%s: look for what runs have left: %w", s.Name, err)
	}
	return MarksIn(names), nil
}

// ForForeignKeys is the service for locks of other programs, which put the name that a run gave
// anywhere into theirs; nil if they cannot be found.
func (s *Service) ForForeignKeys() *Service {
	if s == nil || s.ForeignStores == nil {
		return nil
	}
	return &Service{Name: s.Name, Fetch: s.Fetch, ForeignStores: s.ForeignStores, foreign: true}
}

// Foreign says that the service is for locks of other programs, of which Marks knows nothing.
func (s *Service) Foreign() bool { return s.foreign }
