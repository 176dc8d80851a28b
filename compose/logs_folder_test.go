package compose

import (
	"os"
	"path/filepath"
	"testing"
)

// A folder's name is no pattern: not one that cannot be one, nor one that stands for another folder.
func TestLogsOfAFolderWithBrackets(t *testing.T) {
	for _, name := range []string{"o[1", "x [1]", "a*", `b\c`} {
		from, to := filepath.Join(t.TempDir(), name), t.TempDir()
		if err := os.Mkdir(from, 0o755); err != nil {
			t.Fatal(err)
		}
		log := filepath.Join(from, "redis.log")
		if err := os.WriteFile(log, make([]byte, 4*LogEnds), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := CopyLogs(from, to, nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(filepath.Join(to, "redis.log")); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := EndLogs(from); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if info, err := os.Stat(log); err != nil || info.Size() > 3*LogEnds {
			t.Errorf("%s: the log was not made short: %v", name, err)
		}
	}
}
