//go:build linux

package harness_test

import (
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/picklock/picklock/internal/testkit"
)

// awsKey is as whom requests are signed.
const awsKey = "AKIDOFTHETEST"

// signed says whether the request is signed with the secret, for this name of the host.
func signed(r *http.Request, host string, body []byte) bool {
	given := r.Header.Get("Authorization")
	_, names, _ := strings.Cut(given, "SignedHeaders=")
	names, _, _ = strings.Cut(names, ",")
	again, err := http.NewRequest(http.MethodPost, "https://"+host+"/", bytes.NewReader(body))
	if err != nil {
		return false
	}
	for name := range strings.SplitSeq(names, ";") {
		if name != "host" && name != "content-length" {
			again.Header[http.CanonicalHeaderKey(name)] = r.Header.Values(name)
		}
	}
	at, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
	sum := sha256.Sum256(body)
	if err == nil {
		err = v4.NewSigner().SignHTTP(r.Context(), aws.Credentials{AccessKeyID: awsKey, SecretAccessKey: secret}, again, hex.EncodeToString(sum[:]), "dynamodb", "eu-central-1", at)
	}
	return err == nil && again.Header.Get("Authorization") == given
}

// dynamoBehindTLS is picklock's own emulator, behind what looks at signatures as the service
// does. Who comes, a profile says.
func dynamoBehindTLS(t *testing.T) guarded {
	t.Helper()
	plain := freeAddr(t)
	startOutside(t, plain, exec.Command(program, "server", "dynamodb", "--listen", plain))
	ca, cert, key := testkit.Certificate(t)
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	tables := map[string]string{}
	var host string
	to := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: plain})
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		if !signed(r, host, body) {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"__type":"com.amazon.coral.service#InvalidSignatureException","message":"the signature does not match"}`)
			return
		}
		var q struct{ TableName string }
		_ = json.Unmarshal(body, &q)
		mu.Lock()
		switch _, op, _ := strings.Cut(r.Header.Get("X-Amz-Target"), "."); op {
		case "CreateTable":
			tables[q.TableName] = "made"
		case "DeleteTable":
			delete(tables, q.TableName)
		}
		mu.Unlock()
		to.ServeHTTP(w, r)
	}))
	s.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	s.StartTLS()
	t.Cleanup(s.Close)
	_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
	host = "localhost:" + port
	dir := t.TempDir()
	profile := func(word string) {
		text := "[locks]\naws_access_key_id = " + awsKey + "\naws_secret_access_key = " + word + "\n"
		if err := os.WriteFile(filepath.Join(dir, "credentials"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	profile(secret)
	if err := os.WriteFile(filepath.Join(dir, "config"), []byte("[profile locks]\nregion = eu-central-1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("AWS_PROFILE", "locks")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", filepath.Join(dir, "credentials"))
	t.Setenv("AWS_CONFIG_FILE", filepath.Join(dir, "config"))
	return guarded{
		addr: host, ca: ca, lock: "dynamodb", found: "stale-write", deny: func() { profile("another word") },
		dump: func() map[string]string {
			mu.Lock()
			defer mu.Unlock()
			return maps.Clone(tables)
		},
	}
}
