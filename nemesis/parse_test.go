package nemesis

import (
	"slices"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	tests := []struct{ text, wrong string }{
		{"pause", ""},
		{"pause:holder", ""},
		{"pause:redis3", ""},
		{"kill:one:wipe", ""},
		{"kill:wipe", ""},
		{"clock:majority", ""},
		{"clock:one:+2m", ""},
		{"clock:-500ms", ""},
		{"clock:x1.1", ""},
		{"clock:majority:x0.5", ""},
		{"clock:xenia", ""}, // a node
		{"clock:strobe", ""},
		{"clock:strobe:50ms", ""},
		{"clock:client:strobe", ""},
		{"clock:client:strobe:-1s", ""},
		{"clock:held:client:x2", ""},
		{"partition:holder:register", ""},
		{"partition:leader:servers:out", ""},
		{"partition:halves", ""},
		{"partition:bridge", ""},
		{"partition:bridge:servers", ""},
		{"partition:bridge:out:held", ""},
		{"partition:bridge:clients", "a bridge is between"},
		{"partition:bridge:register:in", "a bridge is between"},
		{"partition:ring", ""},
		{"partition:ring:servers", ""},
		{"partition:ring:clients", "a ring is of servers"},
		{"partition:ring:in", "a ring is of servers"},
		{"partition:ring:bridge", `unknown word "bridge"`},
		{"partition:rings:of", `unknown word "of"`},
		{"kill:one:held:wipe", ""},
		{"clock:held", ""},
		{"all", ""},
		{"all:held", "nothing follows all"},
		{"none", ""},
		{"none:held", "nothing follows none"},
		{"kill:server", ""},
		{"kill:server:wipe:held", ""},
		{"partition:server:clients:in", ""},
		{"failover:server", ""},
		{"refuse", ""},
		{"refuse:majority", ""},
		{"refuse:holder", "holder is no server"},
		{"failover:client", "client is no server"},
		{"pause:waiter", ""},
		{"hold", ""},
		{"hold:holder:register:out", ""},
		{"hold:one:sideways", `unknown word "sideways"`},
		{"hold:one:in:out", "leave both away"},
		{"pause:held:a:b", "too many words"},
		{"disk", ""},
		{"disk:leader:stall:2s", ""},
		{"disk:full", ""},
		{"disk:eio:held", ""},
		{"powerloss:majority:torn", ""},
		{"disk:holder:full", "holder is no server"},
		{"disk:one:full:2s", "too many words"},
		{"disk:one:stall:soon", `"soon" is no time that a sync takes`},
		{"powerloss:client", "client is no server"},
		{"", "unknown fault"},
		{"flood", "unknown fault"},
		{"pause:a:b", "too many words"},
		{"pause:", "empty target"},
		{"clock:one:+x", "invalid duration"},
		{"clock:one:+0s", "a jump of nothing"},
		{"clock:one:+99999999h", "invalid duration"},
		{"clock:one:+999999h", "beyond 68 years"},
		{"clock:one:x1.1.1", "is no rate"},
		{"clock:one:x1", "no wrong rate"},
		{"clock:one:x0", "no wrong rate"},
		{"clock:one:x-2", "not between 0.01 and 100"},
		{"clock:one:x1000", "not between 0.01 and 100"},
		{"clock:one:x1.1:+5s", "too many words"},
		{"clock:x1.1:one", "too many words"},
		{"clock:one:strobe:0s", "a jump of nothing"},
		{"clock:one:strobe:soon", "invalid duration"},
		{"clock:one:strobe:", "invalid duration"},
		{"clock:one:strobe:1s:2s", "too many words"},
		{"clock:one:two:strobe", "too many words"},
		{"clock:", "empty target"},
		{"partition:one:sideways", `unknown word "sideways"`},
		{"partition:", "empty word"},
		{"reset", ""},
		{"reset:holder:servers:half-open", ""},
		{"reset:silently:half-open", "silently and half-open are two manners"},
		{"reset:one:in", "a connection has both directions"},
		{"reset:one:loudly", `unknown word "loudly"`},
		{"slow", ""},
		{"slow:holder:servers:out:50ms±10ms:100kB/s", ""},
		{"slow:50ms+-10ms", ""},
		{"slow:100kB/s", ""},
		{"slow:one:50", `"50" is no delay`},
		{"slow:one:0s", `"0s" is no delay`},
		{"slow:one:50ms±60ms", "at most as long as the delay"},
		{"slow:one:50ms±", "the jitter is a length of time"},
		{"slow:one:0kB/s", "is no rate"},
		{"slow:one:sideways", `unknown word "sideways"`},
		{"slow:", "empty word"},
		{"loss:client:5%", ""},
		{"loss:0.5", ""},
		{"loss:0%", "is no part of the packets"},
		{"loss:101%", "is no part of the packets"},
		{"loss:1x", "is no part of the packets"},
		{"flap:leader:200ms", ""},
		{"flap:0s", "is no length of time"},
		{"flap:one:2", "is no length of time"},
	}
	for _, tt := range tests {
		_, err := Parse(tt.text)
		if tt.wrong == "" && err != nil || tt.wrong != "" && (err == nil || !strings.Contains(err.Error(), tt.wrong)) {
			t.Errorf("Parse(%q): %v, want %q", tt.text, err, tt.wrong)
		}
	}
}

// The table is in the order in which it is listed, and every fault can be planned and
// asked for.
func TestKinds(t *testing.T) {
	if !slices.IsSortedFunc(kinds, func(a, b Kind) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("the table is not sorted by name")
	}
	for _, k := range kinds {
		if k.Parse == nil || k.Make == nil || k.Possible == nil || k.About == "" {
			t.Errorf("%s: a part is missing: %+v", k.Name, k)
		}
	}
}
