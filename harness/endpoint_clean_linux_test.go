//go:build linux

package harness_test

import (
	"maps"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/picklock/picklock/clients"
)

// What a run has left on the servers that was killed, picklock clean removes, and nothing of
// others'.
func TestCleanAfterKill(t *testing.T) {
	t.Parallel()
	addr, dump := redisOutside(t)
	before := dump()
	for _, by := range []string{"--mark", "--all-marks"} {
		// The tokens' counter does not go by itself.
		u := begin(t, nil, "--lock", "redis-lua", "--endpoint", addr)
		var marks []string
		for deadline := time.Now().Add(time.Minute); len(marks) == 0; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("no client ever held the lock")
			}
			marks = clients.MarksIn(slices.Collect(maps.Keys(dump())))
		}
		if err := u.cmd.Process.Signal(syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		u.end()
		u.gone(t)
		if left := dump(); len(left) <= len(before) {
			t.Errorf("it has left nothing: %v", slices.Sorted(maps.Keys(left)))
		}
		clean := func(args ...string) {
			t.Helper()
			if stdout, stderr, code := command(t, append([]string{"clean", "--endpoint", addr, "--lock", "redis-lua"}, args...)...); code != 0 {
				t.Errorf("clean %v: exit %d\n%s%s", args, code, stdout, stderr)
			}
		}
		clean("--mark", "picklock-aaaaaaaaaa-")
		if left := dump(); len(left) <= len(before) {
			t.Error("it has removed what another run left")
		}
		if by == "--mark" {
			clean(by, strings.Join(marks, ","))
		} else {
			clean(by)
		}
		if after := dump(); !maps.Equal(before, after) {
			t.Errorf("%s: the server has %v, had %v", by, slices.Sorted(maps.Keys(after)), slices.Sorted(maps.Keys(before)))
		}
	}
}
