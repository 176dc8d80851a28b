package nemesis

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/picklock/picklock/compose"
)

// diskCluster's servers have disks, on which faults have the effect that effect says.
type diskCluster struct {
	*fakeCluster
	none   bool // they have none
	effect func(fault compose.DiskFault) error
	fault  compose.DiskFault
	unhurt bool // what goes wrong is not the fault's doing
}

func (c *diskCluster) Disks() compose.Disks {
	if c.none {
		return nil
	}
	return c
}

func (c *diskCluster) SetDisk(_ context.Context, node string, fault compose.DiskFault, d time.Duration) error {
	c.note("disk %s %s %v", node, fault, d)
	c.fault = fault
	return nil
}

func (c *diskCluster) TryDisk(ctx context.Context, _ string) error {
	err := c.effect(c.fault)
	if errors.Is(err, context.DeadlineExceeded) {
		<-ctx.Done()
	}
	return err
}

func (c *diskCluster) DiskHits(ctx context.Context, _ string) (int64, error) {
	if c.unhurt || c.effect(c.fault) == nil {
		return 0, ctx.Err()
	}
	return 1, nil
}

func (c *diskCluster) Unsynced(context.Context, string) (compose.PowerLost, error) {
	return compose.PowerLost{}, nil
}

func (c *diskCluster) CutPower(_ context.Context, node string, tear bool) (compose.PowerLost, error) {
	c.note("cut %s %v", node, tear)
	return compose.PowerLost{Bytes: 10, Names: 1, Torn: 1}, nil
}

// broken is what each fault should be seen by.
func broken(fault compose.DiskFault) error {
	return map[compose.DiskFault]error{compose.DiskStall: context.DeadlineExceeded, compose.DiskFull: syscall.ENOSPC, compose.DiskEIO: syscall.EIO}[fault]
}

func TestDiskFault(t *testing.T) {
	for _, text := range []string{"disk:s1:stall", "disk:s1:stall:2s", "disk:s1:full", "disk:s1:eio", "disk:s1"} {
		c := &diskCluster{fakeCluster: newFakeCluster(), effect: broken}
		spec, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		f, err := spec.Plan.Pick(t.Context(), &Env{Cluster: c, TTL: time.Second}, rand.New(rand.NewPCG(1, 2)), "")
		if err != nil {
			t.Fatal(text, err)
		}
		if err := f.Inject(t.Context()); err != nil {
			t.Fatal(text, err)
		}
		if err := f.Verify(t.Context()); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		c.unhurt = true
		short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		if err := f.Verify(short); err == nil {
			t.Errorf("%s on a disk that is slow, full or broken by itself was seen", text)
		}
		cancel()
		c.unhurt = false
		c.effect = func(compose.DiskFault) error { return nil }
		if err := f.Verify(t.Context()); err == nil {
			t.Errorf("%s on a disk that works was seen", text)
		}
		if err := f.Heal(t.Context()); err != nil || c.fault != compose.DiskWell {
			t.Errorf("%s healed: %v, still %q", text, err, c.fault)
		}
		c.effect = func(compose.DiskFault) error { return syscall.EIO }
		if err := f.Heal(t.Context()); err == nil {
			t.Errorf("%s: a disk that still fails counts as healed", text)
		}
	}
}

// All servers are down before any of them loses what it has not synced.
func TestPowerLossOfAll(t *testing.T) {
	c := &diskCluster{fakeCluster: newFakeCluster(), effect: broken}
	spec, err := Parse("powerloss:all:torn")
	if err != nil {
		t.Fatal(err)
	}
	f, err := spec.Plan.Pick(t.Context(), &Env{Cluster: c}, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Inject(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := []string{"kill s1", "kill s2", "kill s3", "cut s1 true", "cut s2 true", "cut s3 true"}; !slices.Equal(c.log, want) {
		t.Errorf("did %v, want %v", c.log, want)
	}
	if want := "killed, and 30 bytes and 3 changes of names that were not synced taken away but for 3 bytes of a torn write"; f.Detail() != want {
		t.Errorf("%q, want %q", f.Detail(), want)
	}
}

func TestNoDisks(t *testing.T) {
	for _, c := range []compose.Cluster{newFakeCluster(), &diskCluster{fakeCluster: newFakeCluster(), none: true}} {
		for _, text := range []string{"powerloss", "disk:s1:full"} {
			spec, err := Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := spec.Plan.Pick(t.Context(), &Env{Cluster: c}, rand.New(rand.NewPCG(1, 2)), ""); err == nil || !strings.Contains(err.Error(), "picklock's own disk") {
				t.Errorf("%s: %v", text, err)
			}
		}
	}
}
