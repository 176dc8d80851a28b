package checker

import "testing"

// TestSuspectOfALostAcquire: what kept the answer of an acquire from its client is blamed for what it left behind: what was
// on the service before what was on the client, and a server that failed before either. A clock keeps no answer.
func TestSuspectOfALostAcquire(t *testing.T) {
	const lost = `
0.100-0.110 c1 acquire c1.1 lease=1
0.150-1.150 c2 acquire ?
0.200-0.210 c1 release c1.1
3.400-9.000 c3 acquire !held-by-another
`
	for faults, want := range map[string]string{
		"":                                    "",
		"0.120-1.250 nemesis pause s1":        "pause of a server",
		"0.120-1.250 nemesis partition c2 s1": "partition of a client",
		"0.120-1.250 nemesis partition c2 s1\n0.300-0.900 nemesis pause s1":  "pause of a server",
		"0.120-1.250 nemesis pause s1\n0.300-0.900 nemesis partition c2 s1":  "pause of a server",
		"0.120-1.250 nemesis partition c1 s1":                                "",
		"0.120-1.250 nemesis clock s1 how=+5s":                               "",
		"0.120-1.250 nemesis clock c2 how=+5s\n0.300-0.900 nemesis pause c2": "pause of a client",
		"0.120-1.250 nemesis pause s1\n1.200-1.300 nemesis kill s1":          "kill of a server",
		"1.160-1.250 nemesis pause s1":                                       "",
		"0.300-0.900 nemesis pause c2\n0.350-0.950 nemesis partition c2 s1":  "partition of a client",
	} {
		list := named(Check(script(t, lost+faults)), "deadlock")
		if len(list) != 1 || list[0].Cause != "lost-acquire" || list[0].Suspect.Kind() != want {
			t.Errorf("%q: want the suspect %q: %+v", faults, want, list)
		}
	}
}
