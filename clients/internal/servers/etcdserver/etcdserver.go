// Package etcdserver starts etcd for the tests of the locks on it.
package etcdserver

import (
	"fmt"
	"net/url"
	"testing"

	"go.etcd.io/etcd/server/v3/embed"

	"github.com/picklock/picklock/clients/contract"
	"github.com/picklock/picklock/clients/internal/servers"
)

// Part is the server's process: its value is the data directory, client port and peer
// port.
var Part = servers.Part{Variable: "PICKLOCK_TEST_ETCD", Do: serve}

// Start starts one server. The test binary's TestMain has to know Part.
func Start(t testing.TB) []*contract.Server {
	port := servers.FreePort(t)
	return Part.Start(t, port, fmt.Sprintf("%s %s %s", t.TempDir(), port, servers.FreePort(t)))
}

func serve(v string) error {
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
