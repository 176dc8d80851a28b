package local

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/picklock/picklock/internal/proc"
)

// network is one bridge in the sandbox with one network namespace a node behind it.
type network struct {
	bridge *netlink.Bridge
	hosts  string // the private hosts file
	names  []string
	spaces map[string]*os.File
	links  []netlink.Link // our ends of the cables
}

// prefix of the sandbox's addresses; nothing but the sandbox's own namespaces has a route
// to them.
const prefix = "10.77.0."

// socketTable is how many buckets the nodes' kernels keep their connections in. By default all namespaces share the machine's
// hundred thousands, and to list one node's connections the kernel walks them all: 6 ms of a processor.
const socketTable = 4096

func newNetwork(hostsFile string) (*network, error) {
	// Kernels before 6.1 have no such file: lists only take longer there.
	_ = os.WriteFile("/proc/sys/net/ipv4/tcp_child_ehash_entries", []byte(strconv.Itoa(socketTable)), 0)
	n := &network{hosts: hostsFile, spaces: map[string]*os.File{}}
	n.bridge = &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: "picklock"}}
	if err := netlink.LinkAdd(n.bridge); err != nil {
		return nil, fmt.Errorf("add bridge: %w", err)
	}
	addr, err := netlink.ParseAddr(prefix + "1/24")
	if err != nil {
		return nil, err
	}
	if err := netlink.AddrAdd(n.bridge, addr); err != nil {
		return nil, fmt.Errorf("address the bridge: %w", err)
	}
	if err := netlink.LinkSetUp(n.bridge); err != nil {
		return nil, fmt.Errorf("bring the bridge up: %w", err)
	}
	if err := n.writeHosts(); err != nil {
		return nil, err
	}
	if err := unix.Mount(hostsFile, "/etc/hosts", "", unix.MS_BIND, ""); err != nil {
		return nil, fmt.Errorf("mount the hosts file: %w", err)
	}
	return n, nil
}

// add makes a network namespace for a node and returns its address.
func (n *network) add(name string) (addr string, err error) {
	i := len(n.names) + 2
	if i > 254 {
		return "", fmt.Errorf("more than %d nodes", 254-2)
	}
	space, err := proc.NewNetNS()
	if err != nil {
		return "", fmt.Errorf("make a network namespace for %s: %w", name, err)
	}
	addr = fmt.Sprintf("%s%d", prefix, i)
	if err := n.connect(space, fmt.Sprintf("node%d", i), addr); err != nil {
		space.Close()
		return "", fmt.Errorf("connect %s: %w", name, err)
	}
	n.spaces[name] = space
	n.names = append(n.names, name)
	return addr, n.writeHosts()
}

func (n *network) connect(space *os.File, link, addr string) error {
	veth := &netlink.Veth{
		LinkAttrs:     netlink.LinkAttrs{Name: link, MasterIndex: n.bridge.Index},
		PeerName:      "eth0",
		PeerNamespace: netlink.NsFd(int(space.Fd())),
	}
	if err := netlink.LinkAdd(veth); err != nil {
		return fmt.Errorf("add veth: %w", err)
	}
	n.links = append(n.links, veth)
	if err := netlink.LinkSetUp(veth); err != nil {
		return err
	}
	h, err := netlink.NewHandleAt(netns.NsHandle(int(space.Fd())))
	if err != nil {
		return err
	}
	defer h.Close()
	for _, name := range []string{"lo", "eth0"} {
		l, err := h.LinkByName(name)
		if err != nil {
			return err
		}
		if name == "eth0" {
			if err := h.AddrAdd(l, &netlink.Addr{IPNet: &net.IPNet{IP: net.ParseIP(addr).To4(), Mask: net.CIDRMask(24, 32)}}); err != nil {
				return err
			}
		}
		if err := h.LinkSetUp(l); err != nil {
			return err
		}
	}
	if err := awaitUp(h, "eth0"); err != nil {
		return err
	}
	here, err := netlink.NewHandle()
	if err != nil {
		return err
	}
	defer here.Close()
	return awaitUp(here, link)
}

// upWithin is how long a link of two ends on this machine may take to come up.
const upWithin = 10 * time.Second

// awaitUp waits until a link carries packets, which is a moment after it was set up. What
// is sent before is lost, an ARP request among it, and that comes again after a second.
func awaitUp(h *netlink.Handle, name string) error {
	for deadline := time.Now().Add(upWithin); ; time.Sleep(100 * time.Microsecond) { // mostly it is up at once
		l, err := h.LinkByName(name)
		if err != nil {
			return err
		}
		if l.Attrs().OperState == netlink.OperUp {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s is not up after %v but %s", name, upWithin, l.Attrs().OperState)
		}
	}
}

func (n *network) writeHosts() error {
	var b strings.Builder
	b.WriteString("127.0.0.1 localhost\n")
	for i, name := range n.names {
		fmt.Fprintf(&b, "%s%d %s\n", prefix, i+2, name)
	}
	// In place: the file is bound over /etc/hosts, and a new inode would not be.
	if err := os.WriteFile(n.hosts, []byte(b.String()), 0o644); err != nil {
		return fmt.Errorf("write the hosts file: %w", err)
	}
	return nil
}

func (n *network) path(name string) string {
	if s := n.spaces[name]; s != nil {
		return fmt.Sprintf("/proc/self/fd/%d", s.Fd())
	}
	return ""
}

func (n *network) close() error {
	// The kernel clears a namespace away some time after its last process; names
	// have to be free at once for the next cluster.
	for _, l := range n.links {
		if err := netlink.LinkDel(l); err != nil {
			return fmt.Errorf("remove interface %s: %w", l.Attrs().Name, err)
		}
	}
	for _, s := range n.spaces {
		s.Close()
	}
	if err := unix.Unmount("/etc/hosts", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("unmount the hosts file: %w", err)
	}
	if err := netlink.LinkDel(n.bridge); err != nil {
		return fmt.Errorf("remove the bridge: %w", err)
	}
	return nil
}

// mountData puts the servers' data on a file system in memory that goes with the
// sandbox: what a crash loses is decided by the fault, not by this machine's disk.
func mountData(dir string) error {
	if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=0755"); err != nil {
		return fmt.Errorf("mount the data directory: %w", err)
	}
	return nil
}

func unmountData(dir string) error { return unix.Unmount(dir, unix.MNT_DETACH) }
