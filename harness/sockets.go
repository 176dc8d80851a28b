package harness

import (
	"context"
	"encoding/hex"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/picklock/picklock/nemesis"
)

// socketTable reads /proc/PID/net/tcp where the nodes are.
func socketTable(ctx context.Context, injector nemesis.Injector, pid int) (string, error) {
	if far, ok := injector.(nemesis.SocketReader); ok {
		return far.Sockets(ctx, pid)
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/tcp", pid))
	return string(text), err
}

// socket is one line of /proc/PID/net/tcp: an end of a connection over IPv4.
type socket struct {
	addr        string
	port        int // its own
	unread      int // bytes that arrived and that nobody has read
	established bool
}

// sockets reads such a table; lines of another form are left out.
func sockets(table string) []socket {
	var out []socket
	for _, line := range strings.Split(table, "\n") {
		f := strings.Fields(line)
		if len(f) < 5 {
			continue
		}
		i := strings.LastIndexByte(f[1], ':')
		_, queue, ok := strings.Cut(f[4], ":")
		if i < 0 || !ok {
			continue
		}
		port, perr := strconv.ParseUint(f[1][i+1:], 16, 32)
		bytes, berr := strconv.ParseUint(queue, 16, 32)
		if perr != nil || berr != nil {
			continue
		}
		var addr netip.Addr
		if raw, err := hex.DecodeString(f[1][:i]); err == nil && len(raw) == 4 {
			slices.Reverse(raw) // the kernel prints the number as this machine keeps it
			addr, _ = netip.AddrFromSlice(raw)
		}
		const established = "01"
		out = append(out, socket{addr.String(), int(port), int(bytes), f[3] == established})
	}
	return out
}

// underWay lists the connections that are being opened, and those with bytes that the other end
// has not acknowledged: ends, state and how many.
func underWay(table string) string {
	var out strings.Builder
	for line := range strings.Lines(table) {
		f := strings.Fields(line)
		if len(f) < 5 {
			continue
		}
		const established, opening = "01", "02"
		unsent, _, _ := strings.Cut(f[4], ":")
		if f[3] == opening || f[3] == established && strings.Trim(unsent, "0") != "" {
			out.WriteString(strings.Join([]string{f[1], f[2], f[3], unsent, "\n"}, " "))
		}
	}
	return out.String()
}
