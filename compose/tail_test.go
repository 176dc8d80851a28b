package compose

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTail(t *testing.T) {
	long := strings.Repeat("x", 1000)
	tests := []struct {
		name, log, want string
	}{
		{"nothing", "", " (its log is empty)"},
		{"a few lines", "one\ntwo\n", "; the last lines of LOG:\n  one\n  two"},
		{"the last five", "1\n2\n3\n4\n5\n6\n", "; the last lines of LOG:\n  2\n  3\n  4\n  5\n  6"},
		{"a long line", long + "\n", "; the last lines of LOG:\n  " + long[:240] + "…"},
		{"an exception", "java.io.IOException: torn\n\tat a.B.c(B.java:1)\n\tat a.B.d(B.java:2)\nCaused by: d\n\tat e.F(F.java:3)\n\t... 5 more\n",
			"; the last lines of LOG:\n  java.io.IOException: torn\n  Caused by: d"},
		{"a panic", "started\npanic: tocommit(8) is out of range [lastIndex(6)]\n\ngoroutine 1 [running]:\nmain.main()\n\t/x/main.go:1 +0x1d\nmain.other()\n",
			"; the last lines of LOG:\n  started\n  panic: tocommit(8) is out of range [lastIndex(6)]"},
		{"only a trace", "\tat a\n\tat b\n", "; the last lines of LOG:\n  \tat a\n  \tat b"},
		{"more than is read", strings.Repeat(long+"\n", 100) + "end\n", "; the last lines of LOG:\n" + strings.Repeat("  "+long[:240]+"…\n", 4) + "  end"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "server.log")
			if err := os.WriteFile(path, []byte(tt.log), 0o600); err != nil {
				t.Fatal(err)
			}
			got := Tail(path)
			if want := strings.Replace(tt.want, "LOG", path, 1); got != want {
				t.Errorf("got  %q\nwant %q", got, want)
			}
			if short := WithoutTail("start redis: it ended" + got); tt.log != "" && short != "start redis: it ended" {
				t.Errorf("without the log: %q", short)
			}
		})
	}
	if got := Tail(filepath.Join(t.TempDir(), "none")); got != "" {
		t.Errorf("of no file: %q", got)
	}
}
