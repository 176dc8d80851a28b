package kubernetes

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/internal/testkit"
)

// A kubeconfig names the trusted certificates, the client's own, and the namespace of Leases.
func TestKubeconfig(t *testing.T) {
	ca, cert, key := testkit.Certificate(t)
	text, err := os.ReadFile(ca)
	if err != nil {
		t.Fatal(err)
	}
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(text)
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	var asked []string
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.Host+r.URL.Path+" by "+r.TLS.PeerCertificates[0].Subject.CommonName)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"kind":"Lease","apiVersion":"coordination.k8s.io/v1","metadata":{"name":"k"},"spec":{"holderIdentity":"c1"}}`)
	}))
	s.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: trusted}
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	defer s.Close()
	_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
	file := filepath.Join(t.TempDir(), "config")
	write := func(change ...string) {
		t.Helper()
		text := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"x",
"clusters":[{"name":"x","cluster":{"server":"https://localhost:7443","certificate-authority":%q}}],
"users":[{"name":"x","user":{"client-certificate":%q,"client-key":%q}}],
"contexts":[{"name":"x","context":{"cluster":"x","user":"x","namespace":"team"}}]}`, ca, cert, key)
		if err := os.WriteFile(file, []byte(strings.NewReplacer(change...).Replace(text)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("KUBECONFIG", "/not/there")
	t.Setenv(configVariable, file)
	t.Setenv("HTTPS_PROXY", "http://127.0.0.1:1")
	// The server's public address is localhost:7443, and clients dial another.
	o := clients.Options{Servers: []string{"127.0.0.1:" + port}, Log: slog.New(slog.DiscardHandler), External: &clients.External{Addresses: []string{"localhost:7443"}}}
	write()
	if err := fetch(t.Context(), *o.External); err != nil {
		t.Fatal(err)
	}
	if n, err := lookKube(t.Context(), o, "k"); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	if want := "GET localhost:7443/apis/coordination.k8s.io/v1/namespaces/team/leases/k by localhost"; len(asked) != 1 || asked[0] != want {
		t.Errorf("%q, want %q", asked, want)
	}
	for name, tt := range map[string]struct{ change, by, says string }{
		"another server": {"localhost:7443", "localhost:7444", "--endpoint localhost:7444"},
		"a proxy":        {`"cluster":{"server"`, `"cluster":{"proxy-url":"http://127.0.0.1:1","server"`, "proxy-url"},
		"no context":     {`"current-context":"x"`, `"current-context":"y"`, configVariable},
	} {
		write(tt.change, tt.by)
		if err := fetch(context.Background(), *o.External); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v, want %q", name, err, tt.says)
		}
	}
	write("https://localhost:7443", "https://localhost")
	if at, err := Server(); at != "localhost:443" || err != nil {
		t.Errorf("%s, %v", at, err)
	}
	write(`"certificate-authority":"`+ca+`",`, "", `,"certificate-authority":"`+ca+`"`, "")
	if _, err := lookKube(t.Context(), o, "k"); err == nil {
		t.Error("the kubeconfig trusts no certificate")
	}
}
