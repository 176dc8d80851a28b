package clients

import "context"

// Service is what a run has to know of a lock's service where that runs already and others
// use it, too.
type Service struct {
	Name string
	// Fetch gets what clients need and can get only where all of the machine's network is,
	// which theirs is not, and puts it into this process's environment; nil for nothing.
	Fetch func(ctx context.Context, a External) error
	// Prepare makes on the service what the locks of one run use together; nil for nothing.
	// Clean removes it.
	Prepare func(ctx context.Context, o Options, mark string) error
	// Clean removes from the service all that the locks of this package keep there for
	// locks whose keys begin with mark, whoever took them, and returns how much that was. A
	// mark is of lower-case letters, digits and dashes, and in no name of anybody else's.
	Clean func(ctx context.Context, o Options, mark string) (int, error)
	// CleanAll is Clean for locks of anybody's, which keep what they keep under any name
	// that contains mark: it looks at the names of all that the service has. nil where that
	// cannot be done.
	CleanAll func(ctx context.Context, o Options, mark string) (int, error)
	// Names lists what the locks of this package keep on the service, each under the name that a
	// run gave it, without what the lock or the service puts before it, whichever runs made
	// it; with it may be what others keep.
	Names func(ctx context.Context, o Options) ([]string, error)
}

// ForForeignKeys is the service for locks of anybody's; nil where what they leave cannot be found.
func (s *Service) ForForeignKeys() *Service {
	if s == nil || s.CleanAll == nil {
		return nil
	}
	return &Service{Name: s.Name, Fetch: s.Fetch, Clean: s.CleanAll}
}

// Locks are the service's locks.
func (s *Service) Locks(all ...Info) []Info {
	for i := range all {
		all[i].Service = s
	}
	return all
}
