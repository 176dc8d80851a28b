package packetfault

import (
	"encoding/binary"
	"net/netip"
)

// packet is one that waits for a verdict.
type packet struct {
	id      uint32 // the kernel's name for it
	to      netip.Addr
	flow    flow
	seq     uint32
	size    int // of the whole packet
	payload int
	opens   bool // it opens a connection
	ends    bool // it ends one
}

// flow is a direction of a connection to one address.
type flow struct{ from, to uint16 }

// snap is how much of a packet is looked at: the longest headers of IPv4 and TCP.
const snap = 120

// TCP's flags.
const (
	flagFIN = 1 << iota
	flagSYN
	flagRST
)

// parse reads the headers of an IPv4 packet with TCP in it. whole is the packet's length
// where its header does not tell, 0 if it is unknown.
func parse(b []byte, whole uint32) (p packet, ok bool) {
	const minIP, minTCP, tcp = 20, 20, 6
	if len(b) < minIP || b[0]>>4 != 4 || b[9] != tcp {
		return packet{}, false
	}
	ihl := int(b[0]&15) * 4
	if ihl < minIP || len(b) < ihl+minTCP {
		return packet{}, false
	}
	// Of a train of segments that the kernel sends as one, the header may not hold the
	// length.
	p.size = int(binary.BigEndian.Uint16(b[2:]))
	if p.size == 0 || int(whole) > p.size {
		p.size = int(whole)
	}
	t := b[ihl:]
	offset := int(t[12]>>4) * 4
	if offset < minTCP || p.size < ihl+offset {
		return packet{}, false
	}
	p.to = netip.AddrFrom4([4]byte(b[16:20]))
	p.flow = flow{binary.BigEndian.Uint16(t), binary.BigEndian.Uint16(t[2:])}
	p.seq = binary.BigEndian.Uint32(t[4:])
	p.payload = p.size - ihl - offset
	p.opens = t[13]&flagSYN != 0
	p.ends = t[13]&(flagFIN|flagRST) != 0
	return p, true
}
