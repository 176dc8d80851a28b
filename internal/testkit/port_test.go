package testkit

import "testing"

// TestFreePort: no port is given twice while its test runs, though nothing listens on it.
func TestFreePort(t *testing.T) {
	seen := map[string]bool{}
	for range 500 {
		port := FreePort(t)
		if seen[port] {
			t.Fatalf("port %s is given twice", port)
		}
		seen[port] = true
		if release, err := reservePort(port); err == nil {
			release()
			t.Fatalf("port %s is not reserved", port)
		}
	}
}
