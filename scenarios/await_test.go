package scenarios

import "testing"

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
