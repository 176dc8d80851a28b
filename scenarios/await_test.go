package scenarios

import (
	"errors"
	"testing"
	"time"
)

// TestLeaseEnded: a lease that ends while a wait lasts too long counts, unless its holder had released it.
func TestLeaseEnded(t *testing.T) {
	for name, tt := range map[string]struct {
		client clientState
		want   bool
	}{
		"held to its end":        {clientState{granted: 1, until: 15}, true},
		"released in between":    {clientState{granted: 1, until: 15, released: 12}, true},
		"released before":        {clientState{granted: 1, until: 15, released: 9}, false},
		"ends later":             {clientState{granted: 1, until: 21}, false},
		"ended before":           {clientState{granted: 1, until: 10}, false},
		"never granted anything": {clientState{until: 15}, false},
	} {
		r := &Runner{clients: map[string]*clientState{"A": &tt.client}}
		if got := r.leaseEnded(10, 20) != ""; got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}

// TestOutlived: a holder whose own lease ends in a wait that was to be shorter shows nothing of what the scenario is
// about, unless a fault had a part in that.
func TestOutlived(t *testing.T) {
	const lease = time.Second
	held := func(c clientState) clientState {
		c.granted, c.until = 1, int64(lease)
		return c
	}
	pause := Fault{Word: "pause", Nodes: []string{"A"}}
	for _, tt := range []struct {
		name          string
		wait          string
		own           clientState
		fault         Fault
		late          bool
		before, began time.Duration // what it did before was to last so long; 0: it began to wait amid its lease
	}{
		{"a wait of less than a lease", "after B's release or 300ms", held(clientState{}), pause, true, 0, 0},
		{"a wait of a lease", "after B's release or 1s", held(clientState{}), pause, false, 0, 0},
		{"a wait for an event alone", "after B's release", held(clientState{}), pause, false, 0, 0},
		{"a wait for the lease's end", "lease of C over or 300ms", held(clientState{}), pause, false, 0, 0},
		{"up to a time before its end", "200ms before lease of C over or 300ms", held(clientState{}), pause, false, 0, 0},
		{"the lease goes on", "after B's release or 300ms", clientState{granted: 1, until: int64(time.Hour)}, pause, false, 0, 0},
		{"it has no lease", "after B's release or 300ms", clientState{granted: 1}, pause, false, 0, 0},
		{"its library renews it", "after B's release or 300ms", held(clientState{watchdog: true}), pause, false, 0, 0},
		{"it has been released", "after B's release or 300ms", held(clientState{released: 5}), pause, false, 0, 0},
		{"it was never granted", "after B's release or 300ms", clientState{}, pause, false, 0, 0},
		{"the client was paused", "after B's release or 300ms", held(clientState{}), Fault{Word: "pause", Nodes: []string{"C"}}, false, 0, 0},
		{"a server was", "after B's release or 300ms", held(clientState{}), Fault{Word: "pause", Nodes: []string{"redis"}}, false, 0, 0},
		{"its own link was cut", "after B's release or 300ms", held(clientState{}), Fault{Word: "cut", Nodes: []string{Servers}, Peers: []string{"C"}}, false, 0, 0},
		{"another client's link was", "after B's release or 300ms", held(clientState{}), Fault{Word: "cut", Nodes: []string{Servers}, Peers: []string{"A"}}, true, 0, 0},
		{"servers' links were", "after B's release or 300ms", held(clientState{}), Fault{Word: "cut", Nodes: []string{"redis1"}, Peers: []string{"redis2"}}, false, 0, 0},
		{"its work was to last a lease", "after B's release or 300ms", held(clientState{}), pause, false, 800 * time.Millisecond, 0},
		{"its work was to be shorter", "after B's release or 300ms", held(clientState{}), pause, true, 600 * time.Millisecond, 0},
		{"its lease was over before", "after B's release or 300ms", held(clientState{}), pause, false, 0, 1001 * time.Millisecond},
	} {
		s := &Scenario{Clients: []string{"A", "B", "C"}, TTL: lease, TriggeredFaults: []TriggeredFault{{Fault: tt.fault}}}
		st := emptyStage()
		st.start = time.Now().Add(-2 * lease)
		r := NewRunner(s, st, nil)
		r.track[0].begun = true
		r.clients["C"] = &tt.own
		m := MustProgram("await "+tt.wait+", acquire", s.Clients)[0]
		c := &clientRunner{Runner: r, client: "C", planned: tt.before + m.Await.Or.Of(lease)}
		began := int64(lease / 2)
		if tt.began != 0 {
			began = int64(tt.began)
		}
		if err := c.outlived(m.Await, began); errors.Is(err, ErrBusy) != tt.late || !tt.late && err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}
