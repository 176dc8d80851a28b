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

// socketTable reads /proc/PID/net/tcp where the nodes are.
func socketTable(ctx context.Context, injector nemesis.Injector, pid int) (string, error) {
	r, err := injector.Do(ctx, nemesis.Op{Name: nemesis.OpSockets, PID: pid})
	return r.Text, err
}

// socket is one line of /proc/PID/net/tcp: an end of a connection over IPv4.
type socket struct {
	addr        string
	port        int    // its own
	remote      string // the other end, as the kernel writes it
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
		i := strings.LastIndexByte(f[1], ':')
		sent, arrived, ok := strings.Cut(f[4], ":")
		if i < 0 || !ok {
			continue
		}
		port, perr := strconv.ParseUint(f[1][i+1:], 16, 32)
		unread, rerr := strconv.ParseUint(arrived, 16, 32)
		unacked, serr := strconv.ParseUint(sent, 16, 32)
		if perr != nil || rerr != nil || serr != nil {
			continue
		}
		var addr netip.Addr
		if raw, err := hex.DecodeString(f[1][:i]); err == nil && len(raw) == 4 {
			slices.Reverse(raw) // the kernel prints the number as this machine keeps it
			addr, _ = netip.AddrFromSlice(raw)
		}
		const established, opening = "01", "02"
		out = append(out, socket{addr.String(), int(port), f[2], int(unread), int(unacked), f[3] == established, f[3] == opening})
	}
	return out
}

// underWay says that something has been sent that has not arrived.
func (s socket) underWay() bool { return s.opening || s.established && s.unacked > 0 }
