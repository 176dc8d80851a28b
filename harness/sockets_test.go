package harness

import (
	"slices"
	"testing"
)

func TestSockets(t *testing.T) {
	const table = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0200004D:18EB 00000000:0000 0A 00000000:00000003 00:00000000 00000000     0        0 1
   1: 03004D0A:18EB 05004D0A:D431 01 00000000:00000021 00:00000000 00000000     0        0 2
   2: 03004D0A:18EB 06004D0A:D432 01 00000010:00000000 00:00000000 00000000     0        0 3
   3: broken
   4: zz:zz zz:zz 01 zz:zz
   5: 0000000000000000FFFF000003004D0A:0CEA 0000000000000000FFFF000006004D0A:D433 01 00000000:00000007 00:00000000 00000000     0        0 4
   6: 00000000000000000000000001000000:0CEA 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 5
`
	want := []socket{
		{addr: "77.0.0.2", port: 6379, remote: "0.0.0.0", unread: 3}, // a queue of connections, not of bytes
		{addr: "10.77.0.3", port: 6379, remote: "10.77.0.5", unread: 33, established: true},
		{addr: "10.77.0.3", port: 6379, remote: "10.77.0.6", unacked: 16, established: true},
		{addr: "10.77.0.3", port: 3306, remote: "10.77.0.6", unread: 7, established: true}, // a socket of IPv6
		{addr: "::1", port: 3306, remote: "::"},
	}
	if got := sockets(table); !slices.Equal(got, want) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
}

// What is on its way: a connection that is being opened, and bytes that the other end has not
// acknowledged.
func TestUnderWay(t *testing.T) {
	const head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when\n"
	const (
		idle    = "   1: 03004D0A:18EB 05004D0A:D431 01 00000000:00000021 00:0\n"
		unacked = "   2: 03004D0A:18EB 06004D0A:D432 01 00000010:00000000 00:0\n"
		opening = "   3: 03004D0A:18EC 06004D0A:D433 02 00000001:00000000 00:0\n"
		closing = "   4: 03004D0A:18ED 06004D0A:D434 06 00000001:00000000 00:0\n"
	)
	for text, want := range map[string]bool{head: false, head + idle: false, head + idle + unacked: true, head + opening: true, head + closing: false} {
		if got := slices.ContainsFunc(sockets(text), socket.underWay); got != want {
			t.Errorf("%v of\n%s", got, text)
		}
	}
}
