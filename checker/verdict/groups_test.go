package verdict

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// grouped writes groups as "wrong-release 2 > granted-early 2 stale-write 1+1".
func grouped(v Verdict) []string {
	var out []string
	for _, g := range v.Groups() {
		s := g.Name
		if g.Cause != "" {
			s += "/" + g.Cause
		}
		s += fmt.Sprintf(" %d", g.Count)
		for i, c := range g.LedTo {
			s += map[bool]string{true: " > ", false: " "}[i == 0]
			s += fmt.Sprintf("%s %d", c.Name, c.Count)
			if c.Perhaps > 0 {
				s += fmt.Sprintf("+%d", c.Perhaps)
			}
		}
		out = append(out, s)
	}
	return out
}

func TestGroups(t *testing.T) {
	in := func(name, cause, grants string, at int64) Anomaly {
		property := map[string]string{"wrong-release": Exclusion, "false-rejection": Register, "two-holders": Belief, "granted-early": Exclusion, "double-grant": Exclusion, "false-belief": Exclusion,
			"token-regression": Tokens, "token-reuse": Tokens}[name]
		if property == "" {
			property = Register
		}
		return Anomaly{Name: name, Property: property, Cause: cause, Key: "k0", Grants: strings.Fields(grants), Time: at}
	}
	of := func(a Anomaly, fault string, begin int64) Anomaly {
		a.Suspect = &Suspect{Fault: fault, On: OnServer, Begin: begin}
		return a
	}
	for _, c := range []struct {
		name string
		list []Anomaly
		want []string
	}{
		{"none", nil, nil},
		{"a release that frees another's lock, under a pause", []Anomaly{
			in("stale-write", "lease-outlived", "a.1 b.1", 5), in("lost-update", "lease-outlived", "b.1 a.1", 5),
			in("granted-early", "wrong-release", "b.1 c.1", 7), in("wrong-release", "", "a.1 b.1 c.1", 7), in("two-holders", "granted-early", "b.1 c.1", 7),
			in("stale-write", "granted-early", "b.1 c.1", 9), in("lost-update", "granted-early", "b.1 c.1", 9),
			in("granted-early", "granted-early", "d.1 e.1", 11), in("stale-write", "granted-early", "d.1 e.1", 12), in("two-holders", "lease-outlived", "a.1 b.1", 4),
		}, []string{
			"wrong-release 1 > granted-early 1+1 stale-write 1+1 lost-update 1 two-holders 1",
			"stale-write/lease-outlived 1 > lost-update 1", "two-holders/lease-outlived 1",
		}},
		{"a cause of its own is not hidden behind a deeper one", []Anomaly{
			in("granted-early", "granted-early", "a.1 b.1", 1), in("stale-write", "delayed", "a.1 b.1", 2), in("nonlinearizable", "read", "a.1 b.1", 3),
		}, []string{"granted-early/granted-early 1", "stale-write/delayed 1", "nonlinearizable/read 1"}},
		{"a stale write that was lost itself", []Anomaly{
			{Name: "stale-write", Property: Register, Cause: "lease-outlived", Key: "k0", Grants: []string{"a.1", "b.1"}, Effects: []int64{3, 4}, Time: 2},
			{Name: "lost-update", Property: Register, Cause: "lease-outlived", Key: "k0", Grants: []string{"a.1", "c.1"}, Effects: []int64{4, 5}, Time: 3},
		}, []string{"stale-write/lease-outlived 1 > lost-update 1"}},
		{"no cause comes after its effect", []Anomaly{
			in("stale-write", "", "a.1 b.1", 1), in("double-grant", "", "a.1 b.1", 2),
		}, []string{"double-grant 1", "stale-write 1"}},
		{"locks without leases", []Anomaly{
			in("double-grant", "", "a.1 b.1", 1), in("stale-write", "interleaved", "b.1 a.1", 2), in("two-holders", "", "a.1 b.1", 1), in("stale-write", "", "x.1 y.1", 3),
		}, []string{"double-grant 1 > stale-write 1 two-holders 1", "stale-write 1"}},
		{"a grant that was wrong towards one holder, and met another", []Anomaly{
			in("double-grant", "", "a.1 b.1", 1), in("double-grant", "", "a.1 c.1", 2), in("two-holders", "granted-early", "b.1 c.1", 2),
		}, []string{"double-grant 2 > two-holders 1"}},
		{"two that were wrong towards a third, and met", []Anomaly{
			in("double-grant", "", "a.1 b.1", 1), in("double-grant", "", "a.1 c.1", 2), in("stale-write", "", "b.1 c.1", 3), in("lost-update", "", "c.1 b.1", 3),
		}, []string{"double-grant 2 > stale-write 1 lost-update 1"}},
		{"a lease that was extended falsely, and a third client", []Anomaly{
			in("false-belief", "extended", "a.1 b.1", 1), in("granted-early", "granted-early", "a.1 c.1", 2), in("stale-write", "granted-early", "a.1 c.1", 3),
		}, []string{"false-belief/extended 1 > granted-early 1 stale-write 1"}},
		{"another's lease that was extended falsely, and a third client", []Anomaly{
			in("false-belief", "extended", "a.1 b.1", 1), in("granted-early", "granted-early", "b.1 c.1", 2),
		}, []string{"false-belief/extended 1", "granted-early/granted-early 1"}},
		{"a third client before the lease was extended falsely", []Anomaly{
			in("false-belief", "extended", "a.1 b.1", 3), in("granted-early", "granted-early", "a.1 c.1", 2),
		}, []string{"false-belief/extended 1", "granted-early/granted-early 1"}},
		{"three let in one after the other, of which the first and the last met", []Anomaly{
			in("granted-early", "granted-early", "c.1 a.1", 1), in("granted-early", "granted-early", "a.1 b.1", 2), in("stale-write", "interleaved", "b.1 c.1", 3),
		}, []string{"granted-early/granted-early 2 > stale-write 1"}},
		{"two pairs, of which one each met", []Anomaly{
			in("granted-early", "granted-early", "c.1 d.1", 1), in("granted-early", "granted-early", "a.1 b.1", 2), in("stale-write", "interleaved", "b.1 c.1", 3),
		}, []string{"granted-early/granted-early 2", "stale-write/interleaved 1"}},
		{"three let in, and the last after it", []Anomaly{
			in("granted-early", "granted-early", "c.1 a.1", 1), in("granted-early", "granted-early", "a.1 b.1", 4), in("stale-write", "interleaved", "b.1 c.1", 3),
		}, []string{"granted-early/granted-early 2", "stale-write/interleaved 1"}},
		{"two that were wrong towards different ones", []Anomaly{
			in("double-grant", "", "a.1 b.1", 1), in("double-grant", "", "d.1 c.1", 2), in("stale-write", "", "b.1 c.1", 3),
		}, []string{"double-grant 2", "stale-write 1"}},
		{"only the newer one was wrong towards a third", []Anomaly{
			in("double-grant", "", "a.1 c.1", 2), in("stale-write", "", "b.1 c.1", 3),
		}, []string{"double-grant 1", "stale-write 1"}},
		{"a lease that was over has a cause of its own", []Anomaly{
			in("granted-early", "", "a.1 b.1", 1), in("granted-early", "", "a.1 c.1", 2), in("stale-write", "lease-outlived", "b.1 c.1", 3),
		}, []string{"granted-early 2", "stale-write/lease-outlived 1"}},
		{"the older of two was the wrong grant", []Anomaly{
			in("double-grant", "", "a.1 b.1", 1), in("two-holders", "granted-early", "b.1 c.1", 2),
		}, []string{"double-grant 1", "two-holders/granted-early 1"}},
		{"a wrong grant that came after it", []Anomaly{
			in("double-grant", "", "a.1 c.1", 3), in("two-holders", "granted-early", "b.1 c.1", 2),
		}, []string{"double-grant 1", "two-holders/granted-early 1"}},
		{"a release that frees another's lock, of one without leases", []Anomaly{
			in("wrong-release", "", "a.1 b.1 c.1", 7), in("double-grant", "wrong-release", "b.1 c.1", 7), in("two-holders", "", "b.1 c.1", 7), in("double-grant", "", "d.1 e.1", 9),
		}, []string{"wrong-release 1 > double-grant 1 two-holders 1", "double-grant 1"}},
		{"the victim of a release had met who released it before", []Anomaly{
			in("wrong-release", "", "a.1 b.1 c.1", 7), in("two-holders", "", "a.1 b.1", 8), in("two-holders", "", "c.1 b.1", 8),
		}, []string{"wrong-release 1 > two-holders 1", "two-holders 1"}},
		{"the answer to such a release", []Anomaly{
			in("false-belief", "released", "a.1 b.1", 6), in("wrong-release", "", "a.1 b.1 c.1", 7),
		}, []string{"wrong-release 1 > false-belief 1"}},
		{"the answer to another release", []Anomaly{
			in("false-belief", "released", "b.1 c.1", 8), in("wrong-release", "", "a.1 b.1 c.1", 7),
		}, []string{"wrong-release 1 > false-belief 0+1"}},
		{"the answer to a renewal", []Anomaly{
			in("false-belief", "extended", "a.1 b.1", 6), in("wrong-release", "", "a.1 b.1 c.1", 7),
		}, []string{"wrong-release 1", "false-belief/extended 1"}},
		{"the more there are, the earlier in the list", []Anomaly{
			in("double-grant", "", "a.1 b.1", 1), in("double-grant", "x", "c.1 d.1", 2), in("double-grant", "x", "e.1 f.1", 3),
		}, []string{"double-grant/x 2", "double-grant 1"}},
		{"tokens", []Anomaly{
			in("false-rejection", "token-regression", "b.1", 5), in("token-regression", "", "a.1 b.1", 2), in("false-rejection", "", "c.1", 9),
		}, []string{"token-regression 1 > false-rejection 1", "false-rejection 1"}},
		{"a token that is smaller than one and equal to another", []Anomaly{
			in("token-regression", "went-back", "b.1 c.1", 2), in("token-reuse", "went-back", "a.1 c.1", 2), in("granted-early", "granted-early", "b.1 c.1", 2), in("token-reuse", "", "c.1 d.1", 3),
		}, []string{"token-regression/went-back 1 > token-reuse 1", "token-reuse 1", "granted-early/granted-early 1"}},
		{"a token that is only equal to another, after the counter went back", []Anomaly{
			in("token-regression", "went-back", "b.1 c.1", 2), in("token-reuse", "went-back", "b.1 d.1", 3),
		}, []string{"token-regression/went-back 1 > token-reuse 1"}},
		{"a token that is only equal to another, and nothing is known of either", []Anomaly{
			in("token-regression", "", "b.1 c.1", 2), in("token-reuse", "", "b.1 d.1", 3),
		}, []string{"token-regression 1", "token-reuse 1"}},
		{"a token that is only equal to another, before the counter went back", []Anomaly{
			in("token-regression", "went-back", "b.1 c.1", 4), in("token-reuse", "went-back", "b.1 d.1", 3),
		}, []string{"token-regression/went-back 1", "token-reuse/went-back 1"}},
		{"a token that is only equal to another, by the same failure", []Anomaly{
			of(in("token-regression", "", "b.1 c.1", 2), "kill", 1), of(in("token-reuse", "", "b.1 d.1", 3), "kill", 1), of(in("token-reuse", "", "b.1 e.1", 3), "powerloss", 1),
			of(in("token-regression", "", "b.1 f.1", 3), "kill", 3), of(in("token-reuse", "", "b.1 g.1", 5), "kill", 4),
		}, []string{"token-regression 2 > token-reuse 1", "token-reuse 1", "token-reuse 1"}},
		{"the wrong grant of another client with a smaller token", []Anomaly{
			in("token-regression", "", "a.1 b.1", 1), in("granted-early", "granted-early", "a.1 b.1", 1), in("two-holders", "granted-early", "c.1 b.1", 2),
		}, []string{"token-regression 1", "granted-early/granted-early 1 > two-holders 1"}},
		{"grants without names", []Anomaly{
			{Name: "double-grant", Property: Exclusion, Grants: []string{"", ""}, Time: 1}, {Name: "stale-write", Property: Register, Grants: []string{"", ""}, Time: 2},
		}, []string{"double-grant 1", "stale-write 1"}},
		{"a kind that nobody knows comes last", []Anomaly{in("novelty", "", "", 1), in("stale-write", "", "a.1 b.1", 4)}, []string{"stale-write 1", "novelty 1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := Verdict{Anomalies: c.list, Properties: map[string]Property{Belief: {}, Exclusion: {Required: true}, Tokens: {Required: true}, Register: {Required: true}, Liveness: {Required: true}}}
			if got := grouped(v); !slices.Equal(got, c.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

// Every kind has a depth of its own.
func TestGroupsKnowAllAnomalies(t *testing.T) {
	seen := map[int]string{}
	for _, a := range Anomalies() {
		if a.Depth <= 0 || seen[a.Depth] != "" {
			t.Errorf("%s has the depth %d, as has %q", a.Name, a.Depth, seen[a.Depth])
		}
		seen[a.Depth] = a.Name
	}
	if Info("wrong-release").Depth >= Info("granted-early").Depth || Info("granted-early").Depth >= Info("stale-write").Depth || Info("no such thing").Depth <= Info("two-holders").Depth {
		t.Error("an effect stands before its cause")
	}
}

// TestGroupsTellTheEarliest: of a group and of each kind that it led to, the earliest is the
// first, in whatever order they come.
func TestGroupsTellTheEarliest(t *testing.T) {
	one := func(name string, at int64) Anomaly {
		return Anomaly{Name: name, Property: Exclusion, Key: "k0", Grants: []string{"a.1", "b.1"}, Time: at}
	}
	v := Verdict{Anomalies: []Anomaly{one("double-grant", 5), one("double-grant", 3), one("double-grant", 4), one("two-holders", 9), one("two-holders", 6), one("two-holders", 8)}}
	g := v.Groups()
	if len(g) != 1 || g[0].First != 1 || len(g[0].LedTo) != 1 || g[0].LedTo[0].First != 4 {
		t.Errorf("%+v", g)
	}
}

// TestGroupsNeedBothGrants: that one of two grants is the same makes no cause.
func TestGroupsNeedBothGrants(t *testing.T) {
	for _, pairs := range [][2]string{{"a.1 c.1", "b.1 c.1"}, {"a.1 b.1", "a.1 c.1"}} {
		v := Verdict{Anomalies: []Anomaly{
			{Name: "double-grant", Property: Exclusion, Key: "k0", Grants: strings.Fields(pairs[0]), Time: 1},
			{Name: "two-holders", Property: Belief, Key: "k0", Grants: strings.Fields(pairs[1]), Time: 2},
		}}
		if g := v.Groups(); len(g) != 2 {
			t.Errorf("%v: %+v", pairs, g)
		}
	}
}

// TestGroupsHoldEveryAnomaly: each is a member of one group or a consequence in one, and
// every kind that there is comes among those that a reader sees first.
func TestGroupsHoldEveryAnomaly(t *testing.T) {
	kinds := Anomalies()
	rapid.Check(t, func(t *rapid.T) {
		var v Verdict
		for range rapid.IntRange(1, 12).Draw(t, "anomalies") {
			k := rapid.SampledFrom(kinds).Draw(t, "kind")
			v.Anomalies = append(v.Anomalies, Anomaly{
				Name: k.Name, Property: k.Property, Key: rapid.SampledFrom([]string{"k0", "k1"}).Draw(t, "key"),
				Cause:   rapid.SampledFrom([]string{"", "granted-early", "wrong-release", "interleaved", "lease-outlived"}).Draw(t, "cause"),
				Grants:  rapid.SliceOfN(rapid.SampledFrom([]string{"a.1", "b.1", "c.1"}), 0, 3).Draw(t, "grants"),
				Effects: rapid.SliceOfN(rapid.Int64Range(1, 4), 0, 2).Draw(t, "effects"),
				Time:    rapid.Int64Range(0, 5).Draw(t, "time"),
			})
		}
		n := 0
		for _, g := range v.Groups() {
			n += g.Count
			for _, c := range g.LedTo {
				n += c.Count + c.Perhaps
			}
			if g.Count != len(g.Members) || !slices.Contains(g.Members, g.First) {
				t.Fatalf("%+v", g)
			}
		}
		if n != len(v.Anomalies) {
			t.Fatalf("%d of %d anomalies are in groups", n, len(v.Anomalies))
		}
		first := v.ByCause()
		for _, a := range v.Anomalies {
			if !slices.ContainsFunc(first, func(i int) bool { return v.Anomalies[i].Name == a.Name }) {
				t.Fatalf("no %s is among %v", a.Name, first)
			}
		}
	})
}

// TestOneWrongStepIsOneBug: a release that does not look at the owner is one bug, whichever faults make it show. What a
// fault itself brings about is another bug with another fault.
func TestOneWrongStepIsOneBug(t *testing.T) {
	pause, clock := &Suspect{Fault: "pause", On: OnClient}, &Suspect{Fault: "clock", On: OnServer}
	for _, c := range []struct {
		name, anomaly, cause string
		suspects             []*Suspect
		groups               int
		suspect              string // of the first group
	}{
		{"under two faults", "wrong-release", "", []*Suspect{pause, clock}, 1, ""},
		{"under one fault", "wrong-release", "", []*Suspect{pause, pause}, 1, "pause of a client"},
		{"once without one", "wrong-release", "", []*Suspect{pause, nil}, 1, ""},
		{"without one at first", "wrong-release", "", []*Suspect{nil, pause, pause}, 1, ""},
		{"a renewal of what is another's", "granted-early", "renewed-early", []*Suspect{pause, clock}, 1, ""},
		{"a lease that ended early", "granted-early", "granted-early", []*Suspect{clock, pause}, 2, "clock of a server"},
		{"a lease that was outlived", "stale-write", "lease-outlived", []*Suspect{pause, nil}, 2, "pause of a client"},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := Verdict{Valid: False, Properties: map[string]Property{Exclusion: {Required: true}, Register: {Required: true}}}
			for i, s := range c.suspects {
				v.Anomalies = append(v.Anomalies, Anomaly{Name: c.anomaly, Cause: c.cause, Property: Info(c.anomaly).Property, Key: "k0", Time: int64(i),
					Grants: []string{fmt.Sprint("a.", i), fmt.Sprint("b.", i), fmt.Sprint("c.", i)}, Suspect: s})
			}
			got := v.Groups()
			bugs, hazards, resource := v.Failures()
			if len(got) != c.groups || got[0].Suspect != c.suspect || bugs+hazards+resource != c.groups {
				t.Errorf("%d bugs and %d hazards: %+v", bugs, hazards, got)
			}
		})
	}
}
