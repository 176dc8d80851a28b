package packetfault

import (
	"net/netip"
	"slices"
	"testing"
)

// TestInstallKeepsWhatIsQueued: a fault that ends while the kernel is told of it keeps the queue open until the kernel queues its
// packets no more. A queue that is opened while packets are queued for it takes them for the kernel's answers.
func TestInstallKeepsWhatIsQueued(t *testing.T) {
	to := netip.MustParseAddr("10.77.0.3")
	var told [][]netip.Addr
	d := &packetQueue{dests: map[netip.Addr]*destQueue{}}
	ended := func(_ netip.Addr, l *destQueue) { l.holding = false }
	d.put = func(to []netip.Addr) error {
		if told = append(told, to); len(to) > 0 {
			d.change(to, ended)
		}
		return nil
	}
	if err := d.set([]netip.Addr{to}, func(_ netip.Addr, l *destQueue) { l.holding = true }); err != nil {
		t.Fatal(err)
	}
	if d.idle() {
		t.Error("the queue may be closed, and packets are queued for it")
	}
	if err := d.install(); err != nil {
		t.Fatal(err)
	}
	if !d.idle() || len(told) != 2 || !slices.Equal(told[0], []netip.Addr{to}) || len(told[1]) != 0 {
		t.Errorf("idle %v after %v", d.idle(), told)
	}
}
