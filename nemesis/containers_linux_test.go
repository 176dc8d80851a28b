package nemesis

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/picklock/picklock/nemesis/clock"
)

func TestInContainer(t *testing.T) {
	id := strings.Repeat("0123456789abcdef", 4)
	other := strings.Repeat("fedcba9876543210", 4)
	for _, tt := range []struct {
		name, groups string
		want         bool
	}{
		{"version 1", "12:pids:/docker/" + id + "\n1:name=systemd:/docker/" + id + "\n", true},
		{"version 2, systemd", "0::/system.slice/docker-" + id + ".scope\n", true},
		{"version 2, seen from another container", "0::/../" + id + "\n", true},
		{"below it", "0::/system.slice/docker-" + id + ".scope/init.scope\n", true},
		{"another container", "0::/system.slice/docker-" + other + ".scope\n", false},
		{"the host", "0::/\n", false},
		{"nothing", "", false},
		{"a controller of that name", "1:name=" + id + ":/\n", false},
	} {
		if got := inContainer([]byte(tt.groups), id); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}

// What the agent was not given it refuses, be it root's or our own.
func TestContainersRefuse(t *testing.T) {
	c := newContainers()
	id := strings.Repeat("0", 64)
	self := group(t) // in the sandbox this process is the first, which is refused anyway
	for name, err := range map[string]error{
		"allow":        do(t, c, Op{Name: OpAllow, Container: id, PID: self}),
		"allow init":   do(t, c, Op{Name: OpAllow, Container: id, PID: 1}),
		"signal":       do(t, c, Op{Name: OpSignal, PID: self, Signal: syscall.SIGCONT}),
		"signal all":   do(t, c, Op{Name: OpSignal, PID: -1, Signal: syscall.SIGCONT}),
		"rest":         do(t, c, Op{Name: OpRest, PIDs: []int{self}}),
		"shift":        do(t, c, Op{Name: OpSetClock, PID: self, Clock: clock.Setting{Offset: 1}}),
		"sockets":      do(t, c, Op{Name: OpSockets, PID: self}),
		"drop":         do(t, c, Op{Name: OpDrop, NetNS: fmt.Sprintf("/proc/%d/ns/net", self)}),
		"drop by path": do(t, c, Op{Name: OpDrop, NetNS: "/proc/1/../self/ns/net"}),
	} {
		if !errors.Is(err, ErrRefused) {
			t.Errorf("%s: error %v, want a refusal", name, err)
		}
	}
	for _, bad := range []string{"", "/", id[:63], id + "0", strings.Repeat("g", 64)} {
		if err := do(t, c, Op{Name: OpAllow, Container: bad, PID: self}); err == nil {
			t.Errorf("allowed container %q", bad)
		}
	}
	if err := do(t, c, Op{Name: OpAllow, Container: id, PID: 1<<22 + 1}); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("a process that is not there: %v", err)
	}
}
