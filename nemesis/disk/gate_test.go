package disk

import (
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/picklock/picklock/compose"
)

func TestGate(t *testing.T) {
	alive := func() bool { return false }
	tests := map[compose.DiskFault]struct{ grow, change, sync syscall.Errno }{
		compose.DiskWell: {},
		compose.DiskFull: {grow: syscall.ENOSPC},
		compose.DiskEIO:  {syscall.EIO, syscall.EIO, syscall.EIO},
	}
	for fault, want := range tests {
		g := newGate()
		if err := g.set(fault, 0); err != nil {
			t.Fatal(err)
		}
		if got := g.write(true); got != want.grow {
			t.Errorf("%q: a write that grows: %v", fault, got)
		}
		if got := g.write(false); got != want.change {
			t.Errorf("%q: a write in place: %v", fault, got)
		}
		if got := g.sync(nil, alive); got != want.sync {
			t.Errorf("%q: a sync: %v", fault, got)
		}
	}
	if err := newGate().set("melted", 0); err == nil {
		t.Error("a fault that there is not was set")
	}
}

func TestStall(t *testing.T) {
	tests := map[string]struct {
		stall     time.Duration
		heal      time.Duration // 0: never
		interrupt time.Duration // 0: never
		killed    time.Duration // 0: never
		took      time.Duration
		want      syscall.Errno
	}{
		"for its time":               {stall: 2 * time.Second, took: 2 * time.Second},
		"until it is healed":         {heal: time.Minute, took: time.Minute},
		"a signal is no end":         {heal: time.Minute, interrupt: time.Second, took: time.Minute},
		"a kill is":                  {interrupt: time.Second, killed: time.Second, took: time.Second, want: syscall.EINTR},
		"a kill after a signal, too": {interrupt: time.Second, killed: time.Minute, took: time.Minute, want: syscall.EINTR},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGate()
				if err := g.set(compose.DiskStall, tt.stall); err != nil {
					t.Fatal(err)
				}
				begun := time.Now()
				if tt.heal > 0 {
					time.AfterFunc(tt.heal, func() { _ = g.set(compose.DiskWell, 0) })
				}
				interrupted := make(chan struct{})
				if tt.interrupt > 0 {
					time.AfterFunc(tt.interrupt, func() { close(interrupted) })
				}
				dying := func() bool { return tt.killed > 0 && time.Since(begun) >= tt.killed }
				got := g.sync(interrupted, dying)
				if took := time.Since(begun); got != tt.want || took < tt.took || took > tt.took+10*time.Millisecond {
					t.Errorf("%v after %v, want %v after %v", got, took, tt.want, tt.took)
				}
			})
		})
	}
}
