package clients

import (
	"fmt"
	"net/url"
	"os"
	"testing"

	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/goleak"
)

// A test binary with this variable set is an etcd server: its value is the data
// directory, client port and peer port. A server in the tests' own process could not be
// killed.
const etcdServer = "PICKLOCK_TEST_ETCD"

// One with this variable set is a worker with the exec lock of that name.
const execParent = "PICKLOCK_TEST_PARENT"

func TestMain(m *testing.M) {
	if v := os.Getenv(execParent); v != "" {
		fmt.Fprintln(os.Stderr, parent(v))
		os.Exit(1)
	}
	if v := os.Getenv(etcdServer); v != "" {
		fmt.Fprintln(os.Stderr, serveEtcd(v))
		os.Exit(1)
	}
	if v := os.Getenv(fileHolder); v != "" {
		fmt.Fprintln(os.Stderr, holdFile(v))
		os.Exit(1)
	}
	if v := os.Getenv(dynamoServer); v != "" {
		fmt.Fprintln(os.Stderr, serveDynamo(v))
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

func serveEtcd(v string) error {
	var dir, client, peer string
	if _, err := fmt.Sscan(v, &dir, &client, &peer); err != nil {
		return err
	}
	c := embed.NewConfig()
	c.Dir = dir
	// A lease is at least 1.5 election timeouts: 1 s leases need this.
	c.TickMs, c.ElectionMs = 50, 500
	c.UnsafeNoFsync = true
	at := func(port string) []url.URL { return []url.URL{{Scheme: "http", Host: "127.0.0.1:" + port}} }
	c.ListenClientUrls, c.AdvertiseClientUrls = at(client), at(client)
	c.ListenPeerUrls, c.AdvertisePeerUrls = at(peer), at(peer)
	c.InitialCluster = c.InitialClusterFromName(c.Name)
	e, err := embed.StartEtcd(c)
	if err != nil {
		return err
	}
	return <-e.Err()
}
