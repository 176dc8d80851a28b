package packetfault

import (
	"net/netip"
	"slices"
	"testing"
)

// TestInstallKeepsWhatIsQueued: a fault can end while its rule is being installed. The queue stays open until the rule is gone. If a
// queue is opened while a rule sends it packets, it takes them for the kernel's answers.
func TestInstallKeepsWhatIsQueued(t *testing.T) {
	to := netip.MustParseAddr("10.77.0.3")
	var installed [][]netip.Addr
	d := &packetQueue{dests: map[netip.Addr]*destQueue{}}
	ended := func(_ netip.Addr, l *destQueue) { l.holding = false }
	d.put = func(to []netip.Addr) error {
		if installed = append(installed, to); len(to) > 0 {
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
	if !d.idle() || len(installed) != 2 || !slices.Equal(installed[0], []netip.Addr{to}) || len(installed[1]) != 0 {
		t.Errorf("idle %v after %v", d.idle(), installed)
	}
}
