package kubernetes

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/picklock/picklock/clients/contract"
	"github.com/picklock/picklock/clients/internal/servers"
	"github.com/picklock/picklock/clients/internal/servers/etcdserver"
	"github.com/picklock/picklock/internal/testkit"
)

// startKube starts an API server on an etcd. Clients use only the first.
func startKube(t testing.TB) []*contract.Server {
	bin, err := exec.LookPath("kube-apiserver")
	if err != nil {
		testkit.Need(t, "kube-apiserver", fmt.Errorf("%w: run scripts/kube-apiserver", err))
	}
	etcd := etcdserver.Start(t)
	dir, port := t.TempDir(), servers.FreePort(t)
	tokens := filepath.Join(dir, "tokens.csv")
	if err := os.WriteFile(tokens, []byte(kubeToken+`,picklock,1,"system:masters"`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := servers.Start(t, port, exec.Command(bin, "--etcd-servers=http://"+etcd[0].Addr, "--bind-address=127.0.0.1", "--secure-port="+port,
		"--cert-dir="+dir, "--service-account-issuer=https://picklock.invalid", "--service-account-key-file="+dir+"/apiserver.crt",
		"--service-account-signing-key-file="+dir+"/apiserver.key", "--token-auth-file="+tokens,
		"--authorization-mode=AlwaysAllow", "--service-cluster-ip-range=10.96.0.0/16"))
	c := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	for range 1200 {
		if kubeReady(c, s.Addr) {
			return append([]*contract.Server{s}, etcd...)
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatal("the API server took connections and never served")
	return nil
}

func kubeReady(c *http.Client, addr string) bool {
	req, err := http.NewRequest(http.MethodGet, fmt.Sprintf("https://%s/readyz", addr), nil)
	if err != nil {
		return false
	}
	req.Header.Set("Authorization", "Bearer "+kubeToken)
	resp, err := c.Do(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}
