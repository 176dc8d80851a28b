package packetfault

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"os"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"github.com/google/nftables/xt"
	"golang.org/x/sys/unix"
)

const tableName = "picklock-wire"

// installQueueRules queues the TCP packets that leave the namespace for these addresses, and
// no others. The table and its chain stay where they once were made: when a
// chain goes, the kernel drops whatever waits in any queue of the namespace.
func installQueueRules(ns *os.File, to []netip.Addr) error {
	c, err := nftables.New(nftables.WithNetNSFd(int(ns.Fd())))
	if err != nil {
		return fmt.Errorf("talk to nftables: %w", err)
	}
	table := c.AddTable(&nftables.Table{Name: tableName, Family: nftables.TableFamilyIPv4})
	chain := c.AddChain(&nftables.Chain{
		Name: "output", Table: table, Type: nftables.ChainTypeFilter,
		Hooknum: nftables.ChainHookOutput, Priority: nftables.ChainPriorityFilter,
	})
	c.FlushChain(chain)
	for _, a := range to {
		c.AddRule(&nftables.Rule{Table: table, Chain: chain, Exprs: queueRule(a)})
	}
	if err := c.Flush(); err != nil {
		return fmt.Errorf("install queue rules (the NFQUEUE target through nft_compat): %w: %w", ErrUnsupported, err)
	}
	return nil
}

// queueRule is the rule for one address. If no process listens to the queue, packets pass.
func queueRule(to netip.Addr) []expr.Any {
	const (
		protocolOffset    = 9  // in an IPv4 header
		destinationOffset = 16 // in an IPv4 header
		bypass            = 1
	)
	// struct xt_NFQ_info_v3: queue, number of queues, flags; padded to eight bytes.
	info := make(xt.Unknown, 0, 8)
	for _, v := range []uint16{queueNumber, 1, bypass, 0} {
		info = binary.NativeEndian.AppendUint16(info, v)
	}
	return []expr.Any{
		&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseNetworkHeader, Offset: protocolOffset, Len: 1},
		&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: []byte{unix.IPPROTO_TCP}},
		&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseNetworkHeader, Offset: destinationOffset, Len: 4},
		&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: to.AsSlice()},
		&expr.Target{Name: "NFQUEUE", Rev: 3, Info: &info},
	}
}
