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
`
	want := []socket{
		{"77.0.0.2", 6379, 3, false}, // a queue of connections, not of bytes
		{"10.77.0.3", 6379, 33, true},
		{"10.77.0.3", 6379, 0, true},
	}
	if got := sockets(table); !slices.Equal(got, want) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
}
