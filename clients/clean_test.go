package clients_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/picklock/picklock/clients"
)

// shelf is a store in memory.
type shelf struct {
	names   []string
	refuses error
}

func (s *shelf) service(prefix string) *clients.Service {
	stores := func(_ context.Context, _ clients.Options, do func(clients.Store) error) error {
		return do(clients.Store{
			Prefix: prefix,
			Each: func(_ context.Context, _ string, do func(string) error) error {
				for _, name := range slices.Clone(s.names) { // it narrows nothing
					if err := do(name); err != nil {
						return err
					}
				}
				return nil
			},
			Delete: func(_ context.Context, name string) (bool, error) {
				i := slices.Index(s.names, name)
				if s.refuses != nil || i < 0 {
					return false, s.refuses
				}
				s.names = slices.Delete(s.names, i, i+1)
				return true, nil
			},
		})
	}
	return &clients.Service{Name: "shelf", Stores: stores, ForeignStores: stores}
}

// Whatever a store lists, a name is removed only if the part that the run gave begins with the
// mark.
func TestClean(t *testing.T) {
	const mark = "picklock-abcdefghij-"
	s := &shelf{names: []string{
		"locks/" + mark + "k0", "locks/" + mark + "k0/1", // the run's
		"locks/my-" + mark + "k0", "my/locks/" + mark, mark + "k0", "locks/picklock-aaaaaaaaaa-k0", "locks/picklock-k0", "other",
	}}
	theirs := slices.Clone(s.names[2:])
	service := s.service("locks/")
	if marks, err := service.Marks(t.Context(), clients.Options{}); err != nil || !slices.Equal(marks, []string{"picklock-aaaaaaaaaa-", mark}) {
		t.Errorf("marks are %q, %v", marks, err)
	}
	if n, err := service.Clean(t.Context(), clients.Options{}, mark); n != 2 || err != nil || !slices.Equal(s.names, theirs) {
		t.Errorf("%d removed, %v, left are %q", n, err, s.names)
	}
	s.refuses = errors.New("may not delete")
	if _, err := service.Clean(t.Context(), clients.Options{}, "picklock-bbbbbbbbbb-"); !errors.Is(err, s.refuses) {
		t.Errorf("nothing is there and the user may not delete: %v", err)
	}
}

// Of a program that puts any prefix before a name, only names with the mark at the beginning of a
// part are removed.
func TestCleanForeign(t *testing.T) {
	const mark = "picklock-abcdefghij-"
	s := &shelf{names: []string{
		mark, mark + "k0", "lock:" + mark + "k0", "lock_" + mark + "k0", "/a/" + mark + "k0/1", "{" + mark + "k0}:q", "of " + mark, "my-" + mark + "/" + mark, "\x00\x16" + mark, // the run's
		"my-" + mark + "k0", "x" + mark + "k0", "0" + mark, "é" + mark, "picklock-abcdefghij", "picklock-aaaaaaaaaa-k0", "other",
	}}
	theirs := slices.Clone(s.names[9:])
	service := s.service("locks/").ForForeignKeys()
	n, err := service.Clean(t.Context(), clients.Options{}, mark)
	if n != 9 || !slices.Equal(s.names, theirs) {
		t.Errorf("%d removed, left are %q", n, s.names)
	}
	if err == nil || !strings.Contains(err.Error(), "4 names") || !strings.Contains(err.Error(), mark) {
		t.Errorf("four names have the mark elsewhere: %v", err)
	}
	s.names = slices.DeleteFunc(s.names, func(name string) bool { return strings.Contains(name, mark) })
	if n, err := service.Clean(t.Context(), clients.Options{}, mark); n != 0 || err != nil {
		t.Errorf("nothing has the mark: %d, %v", n, err)
	}
	if !service.Foreign() || (&clients.Service{}).ForForeignKeys() != nil {
		t.Error("a service without ForeignStores cannot find what other programs keep")
	}
}
