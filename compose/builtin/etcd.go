package builtin

import (
	"context"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

// etcd runs one member with etcd's own flags; it handles signals itself and never
// returns.
func etcd(_ context.Context, args []string) error {
	etcdmain.Main(append([]string{"etcd"}, args...))
	return nil
}
