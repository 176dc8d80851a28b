package etcd

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/contract"
	"github.com/picklock/picklock/clients/internal/servers/etcdserver"
)

// Clean removes the keys of the locks here below their folder, and those of other programs on all
// pages. A key that only contains the mark is a user's.
func TestClean(t *testing.T) {
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
	count := func() int64 {
		t.Helper()
		r, err := c.Get(ctx, "", clientv3.WithPrefix(), clientv3.WithCountOnly())
		if err != nil {
			t.Fatal(err)
		}
		return r.Count
	}
	put("/picklock/my-" + mark + "k0")
	put("/picklock/app/" + mark + "k0")
	if all, err := service().Marks(ctx, o); err != nil || !slices.Equal(all, []string{mark}) {
		t.Errorf("marks are %q, %v", all, err)
	}
	if n, err := service().Clean(ctx, o, mark); n != 1 || err != nil || count() != pageKeys+15 {
		t.Errorf("%d of the locks here removed, %v, %d are left", n, err, count())
	}
	put("/picklock/" + mark + "k0/1")
	put("/app/x" + mark + "k0")
	if n, err := service().ForForeignKeys().Clean(ctx, o, mark); n != 5 || err == nil || !strings.Contains(err.Error(), "2 names") {
		t.Errorf("%d removed, %v", n, err)
	}
	if n := count(); n != pageKeys+12 {
		t.Errorf("%d are left", n)
	}
}
