package harness

import (
	"context"
	"encoding/hex"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/picklock/picklock/nemesis"
)

// socketTable reads /proc/PID/net/tcp and tcp6 where the nodes are.
func socketTable(ctx context.Context, injector nemesis.Injector, pid int) (string, error) {
	r, err := injector.Do(ctx, nemesis.Op{Name: nemesis.OpSockets, PID: pid})
	return r.Text, err
}

// socket is one line of such a table: an end of a connection.
type socket struct {
	addr        string
	port        int    // its own
	remote      string // the other end's address
	unread      int    // bytes that arrived and that nobody has read
	unacked     int    // bytes whose arrival the other end has not acknowledged
	established bool
	opening     bool // the other end has not answered yet
}

// sockets reads such a table; lines of another form are left out.
func sockets(table string) []socket {
	var out []socket
	for line := range strings.Lines(table) {
		f := strings.Fields(line)
		if len(f) < 5 {
			continue
		}
		sent, arrived, ok := strings.Cut(f[4], ":")
		addr, port, aok := socketEnd(f[1])
		remote, _, rok := socketEnd(f[2])
		unread, rerr := strconv.ParseUint(arrived, 16, 32)
		unacked, serr := strconv.ParseUint(sent, 16, 32)
		if !ok || !aok || !rok || rerr != nil || serr != nil {
			continue
		}
		const established, opening = "01", "02"
		out = append(out, socket{addr, port, remote, int(unread), int(unacked), f[3] == established, f[3] == opening})
	}
	return out
}

// socketEnd reads an address and a port as the kernel writes them: words of 32 bits, each as
// this machine keeps it. An address of IPv4 in a socket of IPv6 is one of IPv4.
func socketEnd(text string) (addr string, port int, ok bool) {
	a, p, _ := strings.Cut(text, ":")
	raw, err := hex.DecodeString(a)
	n, perr := strconv.ParseUint(p, 16, 16)
	if err != nil || perr != nil || len(raw)%4 != 0 {
		return "", 0, false
	}
	for word := range slices.Chunk(raw, 4) {
		slices.Reverse(word)
	}
	ip, ok := netip.AddrFromSlice(raw)
	return ip.Unmap().String(), int(n), ok
}

// underWay says that something has been sent that has not arrived.
func (s socket) underWay() bool { return s.opening || s.established && s.unacked > 0 }
