package clients

import "context"

// Service is what a run has to know of a lock's service if that runs already and others use
// it, too.
type Service struct {
	Name string
	// Fetch gets what clients need and cannot reach from their own networks, and puts it into
	// this process's environment; nil for nothing.
	Fetch func(ctx context.Context, a External) error
	// Prepare makes on the service what the locks of one run share; nil for nothing. Clean
	// removes it.
	Prepare func(ctx context.Context, o Options, mark string) error
	// Stores calls do for each place in which the locks of this package keep something, one
	// after the other, with a connection that lasts until do returns.
	Stores func(ctx context.Context, o Options, do func(Store) error) error
	// ForeignStores is Stores for other programs' locks; nil if their names cannot be listed.
	ForeignStores func(ctx context.Context, o Options, do func(Store) error) error

	foreign bool // see ForForeignKeys
}

// Locks are the service's locks.
func (s *Service) Locks(all ...Info) []Info {
	for i := range all {
		all[i].Service = s
	}
	return all
}
