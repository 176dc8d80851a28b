package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestServe: the page is where it says, shows the folder, lets nobody in by another name, and
// ends with its context.
func TestServe(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "campaign.json"), []byte(`{"id":"a-1","name":"the-campaign","jobs":[]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	f := serveFlags{listen: "127.0.0.1:0"}
	if err := f.check([]string{dir}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, w := io.Pipe()
	over := make(chan error, 1)
	go func() { over <- f.run(ctx, w); w.Close() }()
	line, err := bufio.NewReader(r).ReadString('\n')
	if err != nil {
		t.Fatal(err, <-over)
	}
	url := strings.TrimSpace(strings.TrimPrefix(line, "picklock: "))
	for host, want := range map[string]int{"": http.StatusOK, "evil.example": http.StatusForbidden} {
		ask, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		ask.Host = host
		got, err := http.DefaultClient.Do(ask)
		if err != nil {
			t.Fatal(err)
		}
		page, err := io.ReadAll(got.Body)
		got.Body.Close()
		if err != nil || got.StatusCode != want || strings.Contains(string(page), "the-campaign") != (want == http.StatusOK) {
			t.Errorf("host %q: %s, %v", host, got.Status, err)
		}
	}
	cancel()
	select {
	case err := <-over:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("it does not end")
	}
}
