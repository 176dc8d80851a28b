//go:build linux

package harness_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/picklock/picklock/internal/access"
	"github.com/picklock/picklock/internal/testkit"
)

// kubernetesBehindTLS is an API server to which a kubeconfig with a token leads.
func kubernetesBehindTLS(t *testing.T) guarded {
	t.Helper()
	need(t, "kubernetes")
	addr := freeAddr(t)
	_, port, _ := net.SplitHostPort(addr)
	g := guarded{addr: addr, lock: "kubernetes-lease", found: "stale-write"}
	ca, cert, key := testkit.Certificate(t)
	etcd, peer := freeAddr(t), "http://"+freeAddr(t)
	startOutside(t, etcd, exec.Command(program, "server", "etcd", "--name=etcd", "--data-dir="+t.TempDir(), "--listen-client-urls=http://"+etcd, "--advertise-client-urls=http://"+etcd,
		"--listen-peer-urls="+peer, "--initial-advertise-peer-urls="+peer, "--initial-cluster=etcd="+peer, "--unsafe-no-fsync", "--log-level=error"))
	dir := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	tokens := write("tokens.csv", secret+`,picklock,1,"system:masters"`+"\n")
	startOutside(t, addr, exec.Command("kube-apiserver", "--etcd-servers=http://"+etcd, "--bind-address=127.0.0.1", "--secure-port="+port, "--endpoint-reconciler-type=none",
		"--cert-dir="+dir, "--tls-cert-file="+cert, "--tls-private-key-file="+key, "--service-account-issuer=https://picklock.invalid", "--service-account-key-file="+cert,
		"--service-account-signing-key-file="+key, "--token-auth-file="+tokens, "--authorization-mode=RBAC", "--service-cluster-ip-range=10.96.0.0/16"))
	config := func(token string) string {
		return write("kubeconfig", fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"x","clusters":[{"name":"x","cluster":{"server":"https://%s","certificate-authority":%q}}],
"users":[{"name":"x","user":{"token":%q}}],"contexts":[{"name":"x","context":{"cluster":"x","user":"x","namespace":"default"}}]}`, addr, ca, token))
	}
	t.Setenv("KUBECONFIG", config(secret))
	g.deny = func() { config("another word") }
	trust, err := access.Access{TLS: true, CA: ca}.Config("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	c := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trust.RootCAs}, DisableKeepAlives: true}}
	ask := func(method, path, body string) (string, int) {
		t.Helper()
		req, err := http.NewRequest(method, "https://"+addr+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+secret)
		req.Header.Set("Content-Type", "application/json")
		resp, err := c.Do(req)
		if err != nil {
			return err.Error(), 0
		}
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body)
		return string(text), resp.StatusCode
	}
	const leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
	lease := `{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"picklock-k0"},"spec":{"holderIdentity":"not yours"}}`
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(100 * time.Millisecond) { // its port is open before it serves
		text, code := ask(http.MethodPost, leases, lease)
		if code == http.StatusCreated {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d %s", code, text)
		}
	}
	name := regexp.MustCompile(`"name":"([^"]*)","namespace":"default","uid":"([^"]*)","resourceVersion":"([^"]*)"`)
	g.dump = func() map[string]string {
		out := map[string]string{}
		text, code := ask(http.MethodGet, leases, "")
		for _, m := range name.FindAllStringSubmatch(text, -1) {
			out[m[1]] = m[2] + " " + m[3]
		}
		if code != http.StatusOK || len(out) == 0 {
			t.Fatalf("%d %s", code, text)
		}
		return out
	}
	return g
}
