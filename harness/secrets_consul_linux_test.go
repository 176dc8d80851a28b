//go:build linux

package harness_test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/picklock/picklock/internal/access"
	"github.com/picklock/picklock/internal/testkit"
)

// consulBehindTLS is a Consul that denies a client without a token.
func consulBehindTLS(t *testing.T) guarded {
	t.Helper()
	need(t, "consul")
	g := guarded{addr: freeAddr(t), lock: "consul", found: "stale-write", args: []string{"--lock-option", "delay=1ms"}}
	ca, cert, key := testkit.Certificate(t)
	g.ca = ca
	port := func(addr string) int {
		_, text, _ := net.SplitHostPort(addr)
		n, _ := strconv.Atoi(text)
		return n
	}
	config, err := json.Marshal(map[string]any{
		"server": true, "bootstrap_expect": 1, "node_name": "test", "data_dir": t.TempDir(), "bind_addr": "127.0.0.1", "client_addr": "127.0.0.1",
		"ports": map[string]int{"http": -1, "https": port(g.addr), "server": port(freeAddr(t)), "serf_lan": port(freeAddr(t)), "serf_wan": -1, "grpc": -1, "grpc_tls": -1, "dns": -1},
		"tls":   map[string]any{"https": map[string]any{"cert_file": cert, "key_file": key, "ca_file": ca}},
		"acl":   map[string]any{"enabled": true, "default_policy": "deny", "tokens": map[string]string{"initial_management": secret, "agent": secret}},

		"session_ttl_min": "1s", "performance": map[string]int{"raft_multiplier": 1}, "disable_update_check": true, "log_level": "warn",
	})
	file := filepath.Join(t.TempDir(), "consul.json")
	if err == nil {
		err = os.WriteFile(file, config, 0o600) // the test looks for the word on command lines
	}
	if err != nil {
		t.Fatal(err)
	}
	startOutside(t, g.addr, exec.Command("consul", "agent", "-config-file="+file))
	tls, err := access.Access{TLS: true, CA: ca}.Config("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{TLSClientConfig: tls}
	t.Cleanup(transport.CloseIdleConnections)
	c, err := api.NewClient(&api.Config{Address: g.addr, Scheme: "https", HttpClient: &http.Client{Transport: transport}, Token: secret})
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) { // a session needs its node's health check, which the leader makes
		if _, _, err = c.Session().Create(&api.SessionEntry{Name: "not yours"}, nil); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	for _, key := range []string{"k0", "picklock/k0", "picklock/picklock-k0", "picklock-semaphore/picklock-k0/.lock"} {
		if _, err := c.KV().Put(&api.KVPair{Key: key, Value: []byte("not yours")}, nil); err != nil {
			t.Fatal(err)
		}
	}
	g.dump = func() map[string]string {
		keys, _, err1 := c.KV().List("", nil)
		sessions, _, err2 := c.Session().List(nil)
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		out := map[string]string{}
		for _, k := range keys {
			out[k.Key] = fmt.Sprint(k.ModifyIndex, string(k.Value))
		}
		for _, s := range sessions {
			out[s.ID] = s.Name
		}
		return out
	}
	return g
}
