package compose

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestShorten(t *testing.T) {
	lines := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "line %04d\n", i)
		}
		return b.String()
	}
	const ends = 95
	tests := map[string]struct{ text, want string }{
		"empty": {"", ""},
		"short": {lines(28), lines(28)},
		"lines": {lines(100), lines(9) + "picklock: 820 bytes were left out here\n" + lines(100)[910:]},
		"no lines": {strings.Repeat("a", 150) + strings.Repeat("b", 150), strings.Repeat("a", 95) +
			"\npicklock: 110 bytes were left out here\n" + strings.Repeat("b", 95)},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "n.log")
			if err := os.WriteFile(path, []byte(tc.text), 0o600); err != nil {
				t.Fatal(err)
			}
			for range 2 { // once more it changes nothing
				if err := shorten(path, ends); err != nil {
					t.Fatal(err)
				}
				if got, err := os.ReadFile(path); err != nil || string(got) != tc.want {
					t.Errorf("%q, %v, want %q", got, err, tc.want)
				}
			}
		})
	}
}

// A log that keeps growing takes little room on disk, and its last version says that the middle
// is missing.
func TestKeepLogs(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		KeepLogs(ctx, dir)
	}()
	path := filepath.Join(dir, "c1.log")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	chunk := bytes.Repeat([]byte("some text of a program's\n"), 40000)
	for i := range 20 {
		if _, err := fmt.Fprintf(f, "%s%d\n", chunk, i); err != nil {
			t.Fatal(err)
		}
	}
	room := func() int64 {
		var s syscall.Stat_t
		if err := syscall.Stat(path, &s); err != nil {
			t.Fatal(err)
		}
		return s.Blocks * 512
	}
	if runtime.GOOS == "linux" {
		for deadline := time.Now().Add(10 * time.Second); room() > 4*LogEnds; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Skip("the file system for temporary files gives nothing back")
			}
		}
	}
	if last := LastLines(path); len(last) == 0 || last[len(last)-1] != "19" {
		t.Errorf("its last lines are %q", last[max(0, len(last)-3):])
	}
	cancel()
	<-done
	if err := EndLogs(dir); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(text) > 3*LogEnds || bytes.IndexByte(text, 0) >= 0 || !bytes.HasSuffix(text, []byte("\n19\n")) || bytes.Count(text, []byte("picklock: ")) != 1 {
		t.Errorf("%d bytes are kept: ...%q", len(text), text[len(text)-20:])
	}
	var left int64
	_, after, _ := bytes.Cut(text, []byte("picklock: "))
	if _, err := fmt.Sscanf(string(after), "%d bytes were left out here", &left); err != nil {
		t.Error(err)
	}
	if note := int64(len(fmt.Sprintf("picklock: %d bytes were left out here\n", left))); left+int64(len(text))-note != 20*int64(len(chunk))+10*2+10*3 {
		t.Errorf("%d left out and %d kept", left, int64(len(text))-note)
	}
}
