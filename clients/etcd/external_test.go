package etcd

import (
	"fmt"
	"slices"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/contract"
	"github.com/picklock/picklock/clients/internal/servers/etcdserver"
)

// Of locks of anybody's, all that has the mark in its name goes, on whatever page of the keys
// it is; and names are those of the locks here alone, as a run has chosen them.
func TestCleanAll(t *testing.T) {
	t.Parallel()
	const mark = "picklock-abcdefghij-"
	o := clients.Options{Servers: contract.Addrs(etcdserver.Start(t))[:1]}
	ctx := contract.Within(t, 60*time.Second)
	c, err := newClient(o, clientv3.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	put := func(key string) {
		t.Helper()
		if _, err := c.Put(ctx, key, "x"); err != nil {
			t.Fatal(err)
		}
	}
	for i := range pageKeys + 10 {
		put(fmt.Sprintf("/other/%05d", i))
	}
	for _, key := range []string{"/app/" + mark + "k0", mark, "zz/" + mark + "k0/1", "/picklock/" + mark + "k0/1"} {
		put(key)
	}
	all, err := service().Names(ctx, o)
	if err != nil || !slices.Equal(all, []string{mark + "k0/1"}) {
		t.Errorf("names are %q, %v", all, err)
	}
	if n, err := service().CleanAll(ctx, o, mark); n != 4 || err != nil {
		t.Errorf("%d removed, %v", n, err)
	}
	r, err := c.Get(ctx, "", clientv3.WithPrefix(), clientv3.WithCountOnly())
	if err != nil || r.Count != pageKeys+10 {
		t.Errorf("%d are left, %v", r.Count, err)
	}
}
