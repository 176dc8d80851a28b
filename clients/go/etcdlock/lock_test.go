package etcdlock

import (
	"testing"
	"time"

	"github.com/picklock/picklock/clients/go/adapter"
)

// What an answer renews is known from when its request went out, and an older one takes nothing back.
func TestKeepalives(t *testing.T) {
	var k keepalives
	k.answered(10, lived(2))
	first, renewals := k.listen()
	k.answered(5, lived(9))
	k.answered(20, lived(0)) // the lease is gone
	k.answered(30, "another answer")
	k.answered(40, lived(2))
	if first != (adapter.Lease{For: 2 * time.Second, Since: 10}) {
		t.Errorf("the lease is %v", first)
	}
	if got := <-renewals; got != (adapter.Lease{For: 2 * time.Second, Since: 40}) || len(renewals) > 0 {
		t.Errorf("renewed %v, and %d more", got, len(renewals))
	}
}

// lived is an answer with a time to live in s.
type lived int64

func (l lived) GetTTL() int64 { return int64(l) }
