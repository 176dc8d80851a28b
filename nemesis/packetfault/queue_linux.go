package packetfault

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/florianl/go-nfqueue/v2"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"

	"github.com/picklock/picklock/internal/proc"
)

const (
	queueNumber = 7077
	// queueLength is how many packets may wait, and queueBuffer how many bytes of news of
	// them may lie unread: what does not fit is lost. The kernel's own are 1,024 and 212,992.
	queueLength = 1 << 16
	queueBuffer = 16 << 20
)

// packetQueue gets the packets that leave one network namespace. It has a listener, and
// rules that queue packets for it, as long as some link has a fault.
type packetQueue struct {
	ns    *os.File
	put   func(to []netip.Addr) error // has the kernel queue the packets to these addresses, and no others
	queue *nfqueue.Nfqueue
	stop  context.CancelFunc
	timer *time.Timer // releases late packets
	cork  []byte      // what corking was before; nil if it could not be changed

	changing sync.Mutex    // orders changes of the rules
	rules    []netip.Addr  // whose packets they queue, sorted
	ruled    bool          // rules is what the kernel has
	gone     chan struct{} // closed when the namespace's node has ended

	mu      sync.Mutex
	closed  bool
	dests   map[netip.Addr]*destQueue
	changed chan struct{}        // closed and replaced when one more message waits
	probes  map[uint16]chan Fate // by the port that a probe comes from
	timed   time.Time            // when timer goes off
}

// open begins to listen. No packet comes before set has been called.
func open(ns *os.File) (*packetQueue, error) {
	put := func(to []netip.Addr) error { return installQueueRules(ns, to) }
	d := &packetQueue{ns: ns, put: put, dests: map[netip.Addr]*destQueue{}, changed: make(chan struct{}), probes: map[uint16]chan Fate{}, gone: make(chan struct{})}
	q, err := nfqueue.Open(&nfqueue.Config{
		NetNS: int(ns.Fd()), NfQueue: queueNumber, MaxQueueLen: queueLength, MaxPacketLen: snap,
		Copymode: nfqueue.NfQnlCopyPacket, Flags: nfqueue.NfQaCfgFlagGSO, AfFamily: unix.AF_INET,
	})
	if err != nil {
		return nil, fmt.Errorf("open a packet queue (NFQUEUE): %w: %w", ErrUnsupported, err)
	}
	// The kernel reports lost packets to the receiver of the queue. TCP sends them again; the
	// report must not end the listening.
	_ = q.SetOption(netlink.NoENOBUFS, true)
	enlarge(q)
	ctx, stop := context.WithCancel(context.Background()) // ends in close
	d.queue, d.stop = q, stop
	d.timer = time.AfterFunc(time.Hour, d.release)
	d.cork = corking(ns, []byte("0"))
	if err := q.RegisterWithErrorFunc(ctx, d.take, func(error) int {
		if ctx.Err() != nil {
			return 1
		}
		return 0
	}); err != nil {
		stop()
		d.timer.Stop()
		return nil, errors.Join(fmt.Errorf("listen to packet queue %d (NFQUEUE): %w: %w", queueNumber, ErrUnsupported, err), q.Close())
	}
	return d, nil
}

// enlarge makes room for the news of a burst, as much as may be had.
func enlarge(q *nfqueue.Nfqueue) {
	raw, err := q.Con.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) {
		if unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, queueBuffer) != nil {
			_ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF, queueBuffer)
		}
	})
}

// corking sets whether the namespace's kernel joins a small message to the next as long
// as one before it has not left, and returns what it was; nil if it may not be changed.
// Where it does, of several that one connection sends in a row the first waits alone.
func corking(ns *os.File, to []byte) (was []byte) {
	const file = "/proc/sys/net/ipv4/tcp_autocorking"
	if err := proc.InNetNS(ns, func() {
		old, err := os.ReadFile(file)
		if err == nil && os.WriteFile(file, to, 0) == nil {
			was = old
		}
	}); err != nil {
		return nil
	}
	return was
}

// verdict gives the kernel the verdict on a packet.
func (d *packetQueue) verdict(id uint32, accept bool) {
	v := nfqueue.NfDrop
	if accept {
		v = nfqueue.NfAccept
	}
	_ = d.queue.SetVerdict(id, v) // a packet that is gone needs none
}

// take is called for every packet.
func (d *packetQueue) take(a nfqueue.Attribute) int {
	if a.PacketID == nil {
		return 0
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	var p packet
	ok := false
	if a.Payload != nil {
		whole := uint32(0)
		if a.CapLen != nil {
			whole = *a.CapLen
		}
		p, ok = parse(*a.Payload, whole)
	}
	p.id = *a.PacketID
	l := d.dests[p.to]
	if !ok || l == nil {
		d.verdict(p.id, true)
		return 0
	}
	probe := d.probes[p.flow.from]
	if !p.opens {
		probe = nil
	}
	if probe != nil && l.holding {
		delete(d.probes, p.flow.from)
		probe <- Fate{Held: true, Shape: l.shape}
		d.verdict(p.id, false)
		return 0
	}
	due, news := l.take(p, time.Now())
	if probe != nil {
		delete(d.probes, p.flow.from)
		probe <- l.fate
	}
	if news {
		close(d.changed)
		d.changed = make(chan struct{})
	}
	d.wake(due)
	return 0
}

// wake has release called at due; d.mu is held.
func (d *packetQueue) wake(due time.Time) {
	if !due.IsZero() && (d.timed.IsZero() || due.Before(d.timed)) {
		d.timed = due
		d.timer.Reset(time.Until(due))
	}
}

// release releases late packets.
func (d *packetQueue) release() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.timed = time.Time{}
	now := time.Now()
	for _, l := range d.dests {
		d.wake(l.release(now))
	}
}

// set changes the faults of the packets to some addresses. It queues their packets, and stops
// doing so for addresses without faults.
func (d *packetQueue) set(to []netip.Addr, change func(a netip.Addr, l *destQueue)) error {
	d.change(to, change)
	return d.install()
}

// change changes the faults of the packets that are queued. What it releases goes at once: install waits for the kernel.
func (d *packetQueue) change(to []netip.Addr, change func(a netip.Addr, l *destQueue)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return // no link had a fault
	}
	for _, a := range to {
		if d.dests[a] == nil {
			d.dests[a] = &destQueue{verdict: d.verdict}
		}
		change(a, d.dests[a])
	}
}

// install queues the packets to the addresses with faults, and no others. What several have changed by the time that one of them
// comes to it is one change for the kernel.
func (d *packetQueue) install() error {
	d.changing.Lock()
	defer d.changing.Unlock()
	d.mu.Lock()
	closed := d.closed
	var busy []netip.Addr
	for a, l := range d.dests {
		if !l.idle() {
			busy = append(busy, a)
		}
	}
	d.mu.Unlock()
	if closed {
		return nil
	}
	slices.SortFunc(busy, netip.Addr.Compare)
	if !d.ruled || !slices.Equal(busy, d.rules) {
		d.ruled = false
		if err := d.put(busy); err != nil {
			return err
		}
		d.rules, d.ruled = busy, true
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for a, l := range d.dests {
		// Who has ended a fault meanwhile comes next. Until then its packets are queued, and the queue must not be closed.
		if _, queued := slices.BinarySearchFunc(busy, a, netip.Addr.Compare); l.idle() && !queued {
			delete(d.dests, a)
		}
	}
	return nil
}

// idle reports whether no link has a fault any more.
func (d *packetQueue) idle() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.dests) == 0
}

// givenUp counts the connections with held data that their sender no longer has.
func (d *packetQueue) givenUp(to []netip.Addr) (int, error) {
	have, err := connections(d.ns, to)
	if err != nil {
		return 0, err
	}
	there := map[FlowPair]bool{}
	for _, c := range have {
		there[c.pair()] = true
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	gone := map[FlowPair]bool{}
	for _, a := range to {
		if d.dests[a] == nil {
			continue
		}
		for _, p := range d.dests[a].held {
			if f := (FlowPair{a.String(), p.flow.from, p.flow.to}); p.payload > 0 && !there[f] {
				gone[f] = true
			}
		}
	}
	return len(gone), nil
}

// destQueues are the queues of those of these addresses that have faults, in their order.
func (d *packetQueue) destQueues(to []netip.Addr) []*destQueue {
	var out []*destQueue
	for _, a := range to {
		if l := d.dests[a]; l != nil {
			out = append(out, l)
		}
	}
	return out
}

// waiting counts the messages that wait; d.mu is held.
func (d *packetQueue) waiting(to []netip.Addr) (n int) {
	for _, l := range d.destQueues(to) {
		n += l.messages
	}
	return n
}

// await returns when n messages wait, and how many do.
func (d *packetQueue) await(ctx context.Context, to []netip.Addr, n int) (int, error) {
	for {
		d.mu.Lock()
		have, changed := d.waiting(to), d.changed
		d.mu.Unlock()
		if have >= n {
			return have, nil
		}
		select {
		case <-changed:
		case <-d.gone:
			return have, fmt.Errorf("%d of %d messages to %s came, and their sender has ended: %w", have, n, texts(to), os.ErrProcessDone)
		case <-ctx.Done():
			return have, fmt.Errorf("%d of %d messages to %s came: %w", have, n, texts(to), ctx.Err())
		}
	}
}

// next releases the next n messages, the earliest first.
func (d *packetQueue) next(ctx context.Context, to []netip.Addr, n int) error {
	for left := n; left > 0; {
		if _, err := d.await(ctx, to, 1); err != nil {
			return fmt.Errorf("%d of %d messages went: %w", n-left, n, err)
		}
		d.mu.Lock()
		// The kernel numbers packets as they come.
		var first *destQueue
		for _, l := range d.destQueues(to) {
			if l.messages > 0 && (first == nil || int32(l.held[0].id-first.held[0].id) < 0) {
				first = l
			}
		}
		if first != nil {
			left -= first.deliver(1, true)
		}
		d.mu.Unlock()
	}
	return nil
}

// drainWithin bounds how long packets that are in the queue may take.
const drainWithin = 2 * time.Second

// close ends the listening once no packet is in the queue any more.
func (d *packetQueue) close() error {
	d.changing.Lock()
	defer d.changing.Unlock()
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
	end := time.Now().Add(drainWithin)
	for n := 1; n > 0 && time.Now().Before(end); {
		var err error
		if n, err = queued(d.ns); err != nil {
			break // it cannot be seen: what is lost is sent again
		}
		if n > 0 {
			time.Sleep(time.Millisecond)
		}
	}
	d.stop()
	d.timer.Stop()
	if d.cork != nil {
		corking(d.ns, d.cork)
	}
	err := d.queue.Close()
	if errors.Is(err, os.ErrClosed) {
		err = nil
	}
	return errors.Join(err, d.ns.Close())
}

// queued counts the packets in this queue of the namespace.
func queued(ns *os.File) (n int, err error) {
	var text []byte
	if nerr := proc.InNetNS(ns, func() { text, err = os.ReadFile("/proc/thread-self/net/netfilter/nfnetlink_queue") }); nerr != nil {
		return 0, nerr
	}
	for line := range strings.Lines(string(text)) {
		var queue, port, total int
		if _, err := fmt.Sscan(line, &queue, &port, &total); err == nil && queue == queueNumber {
			return total, nil
		}
	}
	return 0, err
}

func texts(to []netip.Addr) string {
	var out []string
	for _, a := range to {
		out = append(out, a.String())
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}
