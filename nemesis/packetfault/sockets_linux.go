package packetfault

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/picklock/picklock/internal/proc"
)

// Of the kernel's states of a TCP connection, those in which both ends have it.
const (
	stateEstablished = 1
	stateFinWait1    = 4
	stateFinWait2    = 5
	stateCloseWait   = 8
	stateLastAck     = 9
	stateClosing     = 11
)

var living = []uint8{stateEstablished, stateFinWait1, stateFinWait2, stateCloseWait, stateLastAck, stateClosing}

// connection is one of a namespace's own, by its two ends.
type connection struct{ local, remote netip.AddrPort }

func (c connection) pair() FlowPair {
	return FlowPair{To: c.remote.Addr().String(), FromPort: c.local.Port(), ToPort: c.remote.Port()}
}

// connections lists the namespace's connections with the addresses, all but those with
// itself where none are given.
func connections(ns *os.File, to []netip.Addr) ([]connection, error) {
	h, err := netlink.NewHandleAt(netns.NsHandle(int(ns.Fd())), unix.NETLINK_INET_DIAG)
	if err != nil {
		return nil, fmt.Errorf("ask for the connections: %w", err)
	}
	defer h.Close()
	var out []connection
	// A server in Java or Go may have sockets of IPv6 for addresses of IPv4.
	for _, family := range []uint8{unix.AF_INET, unix.AF_INET6} {
		sockets, err := h.SocketDiagTCP(family)
		if err != nil && !errors.Is(err, netlink.ErrDumpInterrupted) {
			return nil, fmt.Errorf("list the connections: %w", err)
		}
		for _, s := range sockets {
			c, ok := connectionOf(s)
			if ok && (len(to) == 0 || slices.Contains(to, c.remote.Addr())) {
				out = append(out, c)
			}
		}
	}
	return out, nil
}

// carried is what the namespace's connections with the addresses have carried.
func carried(ns *os.File, to []netip.Addr) ([]Traffic, error) {
	h, err := netlink.NewHandleAt(netns.NsHandle(int(ns.Fd())), unix.NETLINK_INET_DIAG)
	if err != nil {
		return nil, fmt.Errorf("ask for the connections: %w", err)
	}
	defer h.Close()
	var out []Traffic
	for _, family := range []uint8{unix.AF_INET, unix.AF_INET6} {
		sockets, err := h.SocketDiagTCPInfo(family)
		if err != nil && !errors.Is(err, netlink.ErrDumpInterrupted) {
			return nil, fmt.Errorf("list what connections have carried: %w", err)
		}
		for _, s := range sockets {
			if s.InetDiagMsg == nil || s.TCPInfo == nil {
				continue
			}
			c, ok := connectionOf(s.InetDiagMsg)
			if ok && slices.Contains(to, c.remote.Addr()) {
				out = append(out, Traffic{c.pair(), s.TCPInfo.Bytes_acked, s.TCPInfo.Bytes_received})
			}
		}
	}
	return out, nil
}

// connectionOf reads one of a namespace's own connections with others.
func connectionOf(s *netlink.Socket) (connection, bool) {
	local, ok1 := addrPort(s.ID.Source, s.ID.SourcePort)
	remote, ok2 := addrPort(s.ID.Destination, s.ID.DestinationPort)
	ok := ok1 && ok2 && slices.Contains(living, s.State) && remote.Addr().Is4() && !remote.Addr().IsLoopback() && local.Addr() != remote.Addr()
	return connection{local, remote}, ok
}

func addrPort(ip net.IP, port uint16) (netip.AddrPort, bool) {
	a, ok := netip.AddrFromSlice(ip)
	return netip.AddrPortFrom(a.Unmap(), port), ok
}

// destroy ends the connections at this end. Its program finds them aborted, and the kernel
// tells the other end with a reset.
func destroy(ns *os.File, some []connection) error {
	var err error
	nerr := proc.InNetNS(ns, func() {
		for _, c := range some {
			e := netlink.SocketDestroy(net.TCPAddrFromAddrPort(c.local), net.TCPAddrFromAddrPort(c.remote))
			switch {
			case errors.Is(e, unix.ENOENT): // it has ended meanwhile
			case errors.Is(e, unix.EOPNOTSUPP), errors.Is(e, unix.EINVAL):
				err = fmt.Errorf("end connections (SOCK_DESTROY of INET_DIAG): %w: %w", ErrUnsupported, e)
				return
			case e != nil:
				err = fmt.Errorf("end the connection from %s to %s: %w", c.local, c.remote, e)
				return
			}
		}
	})
	return errors.Join(nerr, err)
}

// probe sends the opening of a connection and returns when the queue has seen it.
func (d *packetQueue) probe(ctx context.Context, to netip.AddrPort) (Fate, error) {
	fd, from := -1, uint16(0)
	var err error
	nerr := proc.InNetNS(d.ns, func() {
		if fd, err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0); err != nil {
			return
		}
		if err = unix.Bind(fd, &unix.SockaddrInet4{}); err != nil {
			return
		}
		var sa unix.Sockaddr
		if sa, err = unix.Getsockname(fd); err == nil {
			from = uint16(sa.(*unix.SockaddrInet4).Port) //nolint:forcetypeassert // the socket's family is IPv4
		}
	})
	if fd >= 0 {
		defer unix.Close(fd)
	}
	if err = errors.Join(nerr, err); err != nil {
		return Fate{}, fmt.Errorf("make a probe: %w", err)
	}
	seen := make(chan Fate, 1)
	d.mu.Lock()
	d.probes[from] = seen
	d.mu.Unlock()
	defer func() {
		d.mu.Lock()
		delete(d.probes, from)
		d.mu.Unlock()
	}()
	if err := unix.Connect(fd, &unix.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().As4()}); err != nil && !errors.Is(err, unix.EINPROGRESS) {
		return Fate{}, fmt.Errorf("send a probe to %s: %w", to, err)
	}
	select {
	case fate := <-seen:
		return fate, nil
	case <-ctx.Done():
		return Fate{}, fmt.Errorf("a probe to %s did not come to the sender's queue: %w", to, ctx.Err())
	}
}

// ping measures how long the opening of a connection takes, or its refusal.
func ping(ctx context.Context, ns *os.File, to netip.AddrPort) (took time.Duration, err error) {
	nerr := proc.InNetNS(ns, func() {
		began := time.Now()
		var conn net.Conn
		conn, err = (&net.Dialer{}).DialContext(ctx, "tcp4", to.String())
		took = time.Since(began)
		if err == nil {
			conn.Close()
		}
		if errors.Is(err, unix.ECONNREFUSED) {
			err = nil
		}
	})
	return took, errors.Join(nerr, err)
}
