package checker

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/picklock/picklock/history"
)

// TestWhy: what each verdict says that it rests on, word for word.
func TestWhy(t *testing.T) {
	const (
		contested = `
0.100-0.110 c1 acquire c1.1 token=1 lease=1
0.120-0.130 c1 write c1.1 value=a @0.125
0.190-0.200 c1 release c1.1
0.150-0.250 c2 acquire c2.1 token=2 since=0.240 lease=1
0.260-0.270 c2 read c2.1 value=a @0.265
0.300-0.310 c2 release c2.1
`
		noLease = `
0.100-0.110 c1 acquire c1.1
0.120-0.130 c1 write c1.1 value=a @0.125
0.190-0.200 c1 release c1.1
0.150-0.250 c2 acquire c2.1
0.260-0.270 c2 read c2.1 value=a @0.265
0.300-0.310 c2 release c2.1
`
		harmed = noLease + "0.105-0.30 nemesis pause c1 c2\n0.4-0.5 c1 acquire c1.2\n"
		lost   = `
0.100-0.110 c1 acquire c1.1
0.120-0.130 c1 read c1.1 @0.125
0.100-0.134 c2 acquire c2.1
0.135-0.140 c2 read c2.1 @0.137
0.150-0.160 c1 add c1.1 value=a @0.155
-0.165 c1 lost c1.1
0.350-0.360 c2 add c2.1 value=b @0.355
0.370-0.380 c2 add c2.1 value=c !stale @0.375
`
		lostAlone = `
0.100-0.110 c1 acquire c1.1
0.120-0.130 c1 read c1.1
0.100-0.134 c2 acquire c2.1
0.135-0.140 c2 read c2.1
0.150-0.160 c1 add c1.1 value=a
-0.165 c1 lost c1.1
0.350-0.360 c2 add c2.1 value=b
0.370-0.380 c2 add c2.1 value=c !stale
`
	)
	for _, c := range []struct{ name, text, property, want string }{
		{"all is well", contested, "", ""},
		{"all is well", contested, Exclusion, "2 grants, 1 contested; 1 request made while another client held the lock for certain, and none was granted before that was over"},
		{"all is well", contested, Belief, "2 grants, 1 contested; never did two clients believe at once that they held the lock"},
		{"all is well", contested, Tokens, "2 tokens, each greater than all that were certainly granted before"},
		{"all is well", contested, Register, "1 write accepted in the order of their grants, 0 rejected; every read saw the latest write"},
		{"all is well", contested, Liveness, "2 grants; a lock that nobody held was never refused for longer than 5 s"},
		{"served meanwhile", contested + "0.130-0.900 nemesis pause c1\n", Liveness, "1 grant since the last fault began, and every client that asked was granted the lock before that was healed"},
		{"no lease", noLease, "", "tokens not judged: the lock gives no tokens"},
		{"no lease, and harmed", harmed, "", "exclusion not judged: how long a grant had to last is not known of any: none promises a lease, and a fault was on that can have ended it; tokens not judged: the lock gives no tokens"},
		{"one lease of two", "0.1-0.2 c1 acquire c1.1 lease=1\n0.3-1.4 c2 acquire c2.1 ?\n1.5-2.5 c2 acquire c2.2 since=1.5 lease=0.5\n", Exclusion,
			"2 grants, 1 contested; 1 request made while another client held the lock for certain, and none was granted before that was over; of 1 grant nothing says how long it had to last once it was learnt of"},
		{"nobody asked", "0.1-0.2 c1 acquire c1.1 lease=1\n1.3-1.4 c2 acquire c2.1", Exclusion,
			"2 grants, 1 contested; nobody asked for the lock while another client held it for certain, so nothing was tried"},
		{"two at once", "0.1-0.2 c1 acquire c1.1\n0.3-0.4 c2 acquire c2.1\n0.5-0.6 c3 acquire c3.1 lease=1\n0.7-0.8 c4 acquire !timeout", Exclusion,
			"3 grants, 2 contested: 2 grants made while another client held the lock, which nothing excuses"},
		{"two at once, and one early", "0.1-0.2 c1 acquire c1.1\n0.3-0.4 c2 acquire c2.1 lease=1\n0.5-0.6 c3 acquire c3.1 lease=1", Exclusion,
			"3 grants, 2 contested: 1 grant made while another client held the lock, which nothing excuses; 1 grant made while another lease certainly had time left"},
		{"one token", "0.1-0.2 c1 acquire c1.1 token=2 lease=1\n0.15-0.3 c2 acquire c2.1 token=1 since=0.1 lease=0.1", Tokens,
			"no two grants of one lock came for certain one after the other, so that no two tokens could be compared"},
		{"one grant writes", "0.1-0.2 c1 acquire c1.1 lease=1\n0.3-0.4 c1 write c1.1 value=a @0.35", Register,
			"the register was only ever used under one grant, so that no other could spoil it"},
		{"two early", "0.1-0.2 c1 acquire c1.1 lease=1\n0.3-0.4 c2 acquire c2.1 lease=1\n0.5-0.6 c3 acquire c3.1 lease=1", Exclusion,
			"3 grants, 2 contested: 2 grants made while another lease certainly had time left"},
		{"nothing written", "0.1-0.2 c1 acquire c1.1 lease=1", Register, "nothing was read or written under the lock"},
		{"another one, refused", "0.1-0.2 c1 acquire c1.1\n0.3-0.4 c2 acquire !busy", Belief, "1 grant, 0 contested: no client that asked for the lock while another one had it was granted it by that request, so nothing was tried"},
		{"the record ends with the grant", "0.1-0.2 c1 acquire c1.1", Exclusion, "1 grant, 0 contested; nobody asked for the lock while another client held it for certain, so nothing was tried"},
		{"given back at once", "0.1-0.2 c1 acquire c1.1\n0.2-0.3 c1 release c1.1", Exclusion, "how long a grant had to last is not known of any: each was over when its client learnt of it"},
		{"given back", "0.1-0.2 c1 acquire c1.1 token=5 lease=1\n0.5-0.6 c1 acquire c1.2 token=5 lease=1\n0.65-0.7 c1 release c1.2\n0.3-0.9 c2 acquire c2.1 token=6 lease=1", Tokens,
			"3 tokens, none smaller than one that was certainly granted before, and none of two clients"},
		{"nobody else", "0.1-0.2 c1 acquire c1.1 lease=1", Belief, "1 grant, 0 contested: nobody else wanted the lock, so nothing was tried"},
		{"nobody else", "0.1-0.2 c1 acquire c1.1 lease=1", Liveness, "1 grant, 0 contested: nobody had to wait for the lock, so nothing was tried"},
		{"nothing granted", "0.1-0.2 c1 acquire !timeout", Exclusion, "the lock was never granted"},
		{"lost, and counted by the log", lost, Register, "2 writes accepted, 1 rejected: 2 anomalies; 1 of 2 acknowledged updates lost (50 %)"},
		{"lost, as the clients tell", lostAlone, Register, "2 writes accepted, 1 rejected: 1 anomaly"},
		{"writes only", `
0.10-0.11 c1 acquire c1.1 token=2
0.12-0.13 c2 acquire c2.1 token=1
0.14-0.15 c2 write c2.1 value=b @0.145
0.16-0.17 c1 write c1.1 value=a @0.165
0.18-0.19 c1 write c1.1 value=c @0.185
`, Register, "3 writes accepted, 0 rejected: 2 anomalies"},
		{"a machine that stood still in the end", contested + "0.05-0.06 nemesis pause c1\n0.36-0.40 nemesis stall", Liveness, "2 grants after the last fault was healed; a lock that nobody held was never refused for longer than 5 s"},
		{"before and after a fault", contested + "0.12-0.14 nemesis pause c1", Liveness, "1 grant after the last fault was healed; a lock that nobody held was never refused for longer than 5 s"},
		{"a fault that did not land", contested + "0.12-0.44 nemesis pause c1 ?", Liveness, "2 grants; a lock that nobody held was never refused for longer than 5 s"},
		{"only before a fault", contested + "0.36-0.40 nemesis pause c1", Liveness, "no grant came after the last fault was healed: the run was too short to tell whether the lock comes back"},
		{"a fault without an end", contested + "0.36- nemesis pause c1\n0.4-0.41 c1 acquire !timeout", Liveness, "fault pause was never healed, so nothing shows that the lock comes back"},
		{"a fault from the beginning", "0-0.05 nemesis pause c1" + contested, Liveness, "2 grants after the last fault was healed; a lock that nobody held was never refused for longer than 5 s"},
		{"stalls since", contested + "0.36-0.40 nemesis pause c1\n0.42-0.52 nemesis stall\n0.54-0.64 nemesis stall", Liveness, "no grant came after the last fault was healed: this machine stalled 2 times after that, which excuses it: run it again on a quieter one"},
		{"a request that may hold a lock without leases", strings.ReplaceAll(contested, " lease=1", "") + "0.36-0.37 c3 acquire ?\n0.38-0.40 nemesis pause c1\n0.50-7.0 c4 acquire !timeout", Liveness, "no grant came after the last fault was healed: the acquire of c3 at 0.360 s has no known outcome, and may have taken the lock, which has no lease that would end"},
		{"a request that may hold it since before the last grant", "0.05-0.06 c3 acquire ?" + strings.ReplaceAll(contested, " lease=1", "") + "0.38-0.40 nemesis pause c1\n0.50-7.0 c4 acquire !timeout", Liveness, "no grant came after the last fault was healed: the acquire of c3 at 0.050 s has no known outcome, and may have taken the lock, which has no lease that would end"},
		{"and one that failed", "0.05-0.06 c3 acquire !timeout" + strings.ReplaceAll(contested, " lease=1", "") + "0.38-0.40 nemesis pause c1\n0.50-4.0 c4 acquire !timeout", Liveness, "no grant came after the last fault was healed: the run was too short to tell whether the lock comes back"},
		{"a stall before", contested + "0.36-0.37 nemesis stall\n0.38-0.40 nemesis pause c1", Liveness, "no grant came after the last fault was healed: the run was too short to tell whether the lock comes back"},
		{"a fault in the first instant", "0-0 nemesis pause c1\n0-0 c1 acquire c1.1 lease=1", Liveness, "no grant came after the last fault was healed: the run was too short to tell whether the lock comes back"},
	} {
		t.Run(c.name+" "+c.property, func(t *testing.T) {
			v := Check(script(t, c.text))
			got := v.Why
			if c.property != "" {
				got = v.Properties[c.property].Why
			}
			if got != c.want {
				t.Errorf("%s\nwant %s", got, c.want)
			}
		})
	}
}

// TestStats: operations are counted once, by the log where there is one.
func TestStats(t *testing.T) {
	const operations = `
0.10-0.20 c1 acquire c1.1 token=1
0.15-0.25 c2 acquire !timeout
0.30-0.31 c1 read c1.1 @0.305
0.32-0.33 c1 write c1.1 value=a @0.325
0.34-0.35 c1 write c1.1 value=b !stale @0.345
0.36-     c1 write c1.1 value=c
0.37-0.375 c1 write c1.1 value=f @0.372
0.38-0.39 c1 add c1.1 value=d parent=f @0.385
0.40-0.41 c1 add c1.1 value=e !stale @0.405
0.42-0.43 c1 release c1.1
0.44-0.45 c3 acquire ?
0.46-0.50 nemesis pause c1
0.52-0.60 nemesis pause c1 ?
`
	want := Stats{
		Events: 25, Grants: 1, Contested: 1, Writes: 3, Rejected: 2, Unknown: 2, Acknowledged: 1,
		Faults: map[string]FaultCount{"pause": {Injected: 2, Confirmed: 1}},
		Waits:  &Waits{P50: 100e6, P95: 100e6, P99: 100e6, Max: 100e6}, FirstGrant: 200e6, Duration: 600e6,
	}
	for name, text := range map[string]string{"by the clients": strings.ReplaceAll(operations, "@", "#"), "by the log": operations} {
		if got := Check(script(t, text)).Stats; !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}

// TestSortAnomalies: by time, then in the order of the table, then by key and evidence.
func TestSortAnomalies(t *testing.T) {
	want := []Anomaly{
		{Time: 1, Name: "wrong-release", Key: "z", Events: []int64{9}},
		{Time: 2, Name: "granted-early", Key: "z", Events: []int64{9}, Effects: []int64{9}},
		{Time: 2, Name: "two-holders", Key: "b"},
		{Time: 2, Name: "deadlock", Key: "a", Events: []int64{5, 6}},
		{Time: 2, Name: "deadlock", Key: "b", Events: []int64{1, 4}, Effects: []int64{7}},
		{Time: 2, Name: "deadlock", Key: "b", Events: []int64{2, 3}, Effects: []int64{1}},
		{Time: 2, Name: "deadlock", Key: "b", Events: []int64{2, 3}, Effects: []int64{2}},
		{Time: 3, Name: "granted-early", Key: "a"},
	}
	r := rand.New(rand.NewPCG(1, 1))
	for range 20 {
		got := append([]Anomaly{}, want...)
		r.Shuffle(len(got), func(i, j int) { got[i], got[j] = got[j], got[i] })
		if sortAnomalies(got); !reflect.DeepEqual(got, want) {
			t.Fatalf("%v", got)
		}
	}
}

// A server that did not start again after a fault is named as the reason why the lock's
// coming back was not seen.
func TestWhyAFaultStays(t *testing.T) {
	in := script(t, `
0.10-0.11 c1 acquire c1.1 lease=1
0.12-0.35 c2 acquire c2.1 lease=1
0.30-0.31 c1 release c1.1
0.36- nemesis powerloss s1
0.40-0.50 c1 acquire !timeout
`)
	in.Events = append(in.Events, history.Event{Process: history.Nemesis, Type: history.Info, Time: 450e6, F: "powerloss", Nodes: []string{"s1"}, Error: "s1 did not start again"})
	const want = "fault powerloss was never healed (s1 did not start again), so nothing shows that the lock comes back"
	if p := Check(in).Properties[Liveness]; p.Valid != Unknown || p.Why != want {
		t.Errorf("%v: %s\nwant %s", p.Valid, p.Why, want)
	}
}
