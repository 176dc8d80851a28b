package web

import (
	"net"
	"net/http"
	"strings"

	"github.com/picklock/picklock/results"
)

// guard lets through what only looks and asks for this machine, and tells browsers what the
// answers may do.
func (s *Site) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		h.Set("Content-Security-Policy", policy())
		switch {
		case s.o.Loopback && !loopback(r.Host):
			http.Error(w, "this page is for the machine that it runs on: ask for localhost or 127.0.0.1", http.StatusForbidden)
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			h.Set("Allow", "GET, HEAD")
			http.Error(w, "nothing can be changed here: GET and HEAD only", http.StatusMethodNotAllowed)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// policy lets a page use its own style and script, and ask this server.
func policy() string {
	return results.CSP(style(), pageJS) + "; connect-src 'self'; frame-ancestors 'none'"
}

// sandboxed is what a report may do: it was written on a worker's machine, by whatever ran
// there. It is of no origin, so that it reads nothing from here, and asks nobody anything. Its
// own script draws it.
const sandboxed = "sandbox allow-scripts; default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// loopback says that a request's Host is this machine: localhost, or an address of it.
func loopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if strings.EqualFold(strings.TrimSuffix(host, "."), "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
