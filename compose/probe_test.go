package compose

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestProbeTLS: a server that speaks TLS is asked through it, and one that does not is
// no match.
func TestProbeTLS(t *testing.T) {
	hello := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("hello")) })
	safe, plain := httptest.NewTLSServer(hello), httptest.NewServer(hello)
	defer safe.Close()
	defer plain.Close()
	for _, tc := range []struct {
		url  string
		tls  bool
		want bool
	}{{safe.URL, true, true}, {safe.URL, false, false}, {plain.URL, true, false}, {plain.URL, false, true}} {
		_, addr, _ := strings.Cut(tc.url, "://")
		p := &Probe{TLS: tc.tls, Send: "GET / HTTP/1.0\r\n\r\n", Expect: "hello"}
		if ok, err := p.Ask(t.Context(), addr); ok != tc.want {
			t.Errorf("%s with TLS %v: %v, %v; want %v", tc.url, tc.tls, ok, err, tc.want)
		}
	}
}
