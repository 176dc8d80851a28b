package docs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestNothingBuiltIsKept: each user who fetches the project fetches every file that it ever kept,
// so no program and no record of a run belongs into it.
func TestNothingBuiltIsKept(t *testing.T) {
	const most = 1 << 20 // bytes
	const top = ".."
	out, err := exec.Command("git", "-C", top, "ls-files", "-z").Output()
	if err != nil {
		t.Skipf("this is no clone of the repository: %v", err)
	}
	for name := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		about, err := os.Lstat(filepath.Join(top, name))
		if err != nil {
			continue // removed here, and not yet in a commit
		}
		if about.Size() > most {
			t.Errorf("%s has %d bytes: nothing that is built is kept, and no file over %d", name, about.Size(), most)
		}
	}
}
