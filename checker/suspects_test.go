package checker

import (
	"cmp"
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestSuspects: a fault is suspected only if it touched one of the two clients, their links,
// or the service, at a time that mattered; the service's own before a client's. All others
// are bystanders.
func TestSuspects(t *testing.T) {
	const (
		idle  = "0.01-0.02 c3 acquire !timeout\n0.01-0.02 c4 acquire !timeout\n"
		early = "0.10-0.11 c1 acquire c1.1 lease=1\n0.30-0.40 c2 acquire c2.1 lease=1\n0.45-0.46 c2 release c2.1\n0.47-0.48 c1 release c1.1\n"
		// c1's lease is over at 1.1; c2 writes, and c1 writes at 1.5, which is 400 ms late.
		outlived = `
0.10-0.11 c1 acquire c1.1 token=1 lease=1
0.12-0.13 c1 read c1.1 @0.125
1.20-1.21 c2 acquire c2.1 token=2 lease=1
1.22-1.23 c2 write c2.1 value=b @1.225
1.30-1.31 c2 release c2.1
1.49-1.51 c1 write c1.1 value=a @1.50
`
		slowRead = `
0.10-0.11 c1 acquire c1.1 token=1 lease=1
0.12-0.80 c1 read c1.1 @0.79
1.20-1.21 c2 acquire c2.1 token=2 lease=1
1.22-1.23 c2 write c2.1 value=b @1.225
1.30-1.31 c2 release c2.1
1.49-1.51 c1 write c1.1 value=a @1.50
`
		renewing = `
0.10-0.11 c1 acquire c1.1 token=1 lease=1
0.30-0.31 c1 renew c1.1 lease=1 held
1.40-1.41 c2 acquire c2.1 token=2 lease=1
1.42-1.43 c2 write c2.1 value=b @1.425
1.50-1.51 c2 release c2.1
2.49-2.51 c1 write c1.1 value=a @2.50
`
		// Its client learns of the loss, and writes all the same.
		reported  = "-1.46 c1 lost c1.1\n"
		soon      = "-1.12 c1 lost c1.1\n"
		regressed = "0.10-0.11 c1 acquire c1.1 token=2 lease=0.1\n0.12-0.13 c1 release c1.1\n0.30-0.40 c2 acquire c2.1 token=1 lease=0.1\n0.41-0.42 c2 release c2.1\n"
	)
	for _, c := range []struct{ name, anomaly, faults, text, suspect, bystanders string }{
		{"kept the client until its lease was over, and it ignored the loss", "stale-write", "0.20-1.45 nemesis pause c1", outlived + reported, "pause of a client", ""},
		{"after the client had ignored the loss", "stale-write", "1.20-1.48 nemesis pause c1", outlived + soon, "", "pause"},
		{"a server that failed in between", "granted-early", "0.20-0.25 nemesis kill s1", early, "kill of a server", ""},
		{"before the older grant", "granted-early", "0.03-0.08 nemesis kill s1", early, "", ""},
		{"after the newer grant", "granted-early", "0.405-0.408 nemesis kill s1", early, "", ""},
		{"before the service's last word on it", "granted-early", "0.20-0.22 nemesis kill s1\n0.25-0.26 c1 renew c1.1 lease=1 held", early, "", "kill"},
		{"that did not land", "granted-early", "0.20-0.25 nemesis kill s1 ?", early, "", ""},
		{"the service's own before a client's", "granted-early", "0.15-0.35 nemesis clock c2\n0.20-0.25 nemesis kill s1", early, "kill of a server", "clock"},
		{"its clock before a client's", "granted-early", "0.15-0.35 nemesis clock c2\n0.20-0.25 nemesis clock s1", early, "clock of a server", "clock"},
		{"its clock before the machine", "granted-early", "0.15-0.35 nemesis stall\n0.20-0.25 nemesis clock s1", early, "clock of a server", "stall"},
		{"two of its own", "granted-early", "0.15-0.17 nemesis powerloss s1\n0.20-0.25 nemesis kill s1", early, "kill of a server", ""},
		{"its clock before a server that had failed earlier and came back", "granted-early", "0.05-0.107 nemesis powerloss s1\n0.20-0.25 nemesis clock s1", early, "clock of a server", ""},
		{"a server that was away when the lease was granted, before its clock", "granted-early", "0.05-0.15 nemesis powerloss s1\n0.20-0.25 nemesis clock s1", early, "powerloss of a server", "clock"},
		{"a server that failed in between before its clock", "granted-early", "0.105-0.15 nemesis powerloss s1\n0.20-0.25 nemesis clock s1", early, "powerloss of a server", "clock"},
		{"a server that had failed earlier and came back, and nothing else", "granted-early", "0.05-0.107 nemesis powerloss s1", early, "powerloss of a server", ""},
		{"a server that had failed earlier and came back before a client's clock", "granted-early", "0.05-0.107 nemesis powerloss s1\n0.15-0.35 nemesis clock c2", early, "powerloss of a server", "clock"},
		{"a client's clock before what else was on the service", "granted-early", "0.15-0.35 nemesis clock c2\n0.20-0.25 nemesis slow s1", early, "clock of a client", "slow"},
		{"the clock of another client", "granted-early", "0.15-0.35 nemesis clock c3", early, "", "clock"},
		{"another client, cut from the service", "granted-early", "0.15-0.35 nemesis partition c3 s1", early, "", "partition"},
		{"the resource", "granted-early", "0.15-0.35 nemesis pause register", early, "", "pause"},
		{"the newer's client", "granted-early", "0.32-0.35 nemesis partition c2", early, "partition of a client", ""},
		{"on a release that was under way", "granted-early", "0.15-0.25 nemesis withhold c3 s1\n0.03-0.04 c3 acquire c3.1 lease=0.05\n0.09-0.26 c3 release c3.1", early, "withhold of a client", ""},
		{"on a release that was under way, and failed", "granted-early", "0.15-0.25 nemesis withhold c3 s1\n0.03-0.04 c3 acquire c3.1 lease=0.05\n0.09-0.26 c3 release c3.1 !", early, "", "withhold"},
		{"the newer's client, before it asked", "granted-early", "0.15-0.20 nemesis pause c2", early, "", "pause"},
		{"the newer's client, cut before it asked, and felt", "granted-early", "0.15-0.25 nemesis partition c2", early, "partition of a client", ""},
		{"as soon as the first: a client's pause now and then explains nothing", "granted-early", "0.115-0.117 nemesis pause c1",
			"0.10-0.11 c1 acquire c1.1 lease=1\n0.10-0.12 c2 acquire c2.1 lease=1", "", "pause"},
		{"as soon as the first, and a server's clock was as wrong before", "granted-early", "0.02-2.50 nemesis clock s1",
			"0.10-0.11 c1 acquire c1.1 lease=1\n0.10-0.12 c2 acquire c2.1 lease=1", "", "clock"},
		{"as soon as the first, and a server's clock was set", "granted-early", "0.115-2.50 nemesis clock s1",
			"0.10-0.11 c1 acquire c1.1 lease=1\n0.10-0.12 c2 acquire c2.1 lease=1", "clock of a server", ""},
		{"a server's clock that was as wrong before, and may be fast", "granted-early", "0.02-2.50 nemesis clock s1", early, "clock of a server", ""},
		{"a server's clock that was as wrong before, and a server that failed", "granted-early", "0.02-2.50 nemesis clock s1\n0.20-0.25 nemesis kill s1", early, "kill of a server", "clock"},
		{"a server's clock that was fast, and a release that was under way", "granted-early", "0.02-2.50 nemesis clock s1 how=x4\n0.15-0.25 nemesis withhold c3 s1\n0.03-0.04 c3 acquire c3.1 lease=0.05\n0.09-0.26 c3 release c3.1", early, "clock of a server", "withhold"},
		{"a server's clock that was not fast enough, and a release that was under way", "granted-early", "0.02-2.50 nemesis clock s1 how=x2\n0.15-0.25 nemesis withhold c3 s1\n0.03-0.04 c3 acquire c3.1 lease=0.05\n0.09-0.26 c3 release c3.1", early, "withhold of a client", "clock"},
		{"a server's clock that was slow, and a release that was under way", "granted-early", "0.02-2.50 nemesis clock s1 how=x0.25\n0.15-0.25 nemesis withhold c3 s1\n0.03-0.04 c3 acquire c3.1 lease=0.05\n0.09-0.26 c3 release c3.1", early, "withhold of a client", "clock"},
		{"a server's clock that jumped to and fro, and a release that was under way", "granted-early", "0.02-2.50 nemesis clock s1 how=strobe\n0.15-0.25 nemesis withhold c3 s1\n0.03-0.04 c3 acquire c3.1 lease=0.05\n0.09-0.26 c3 release c3.1", early, "clock of a server", "withhold"},
		{"as soon as the first, and a server's clock was twice as fast", "granted-early", "0.02-2.50 nemesis clock s1 how=x2",
			"0.10-0.11 c1 acquire c1.1 lease=1\n0.10-0.12 c2 acquire c2.1 lease=1", "", "clock"},
		{"as soon as the first, and a server failed", "granted-early", "0.115-0.117 nemesis kill s1",
			"0.10-0.11 c1 acquire c1.1 lease=1\n0.10-0.12 c2 acquire c2.1 lease=1", "kill of a server", ""},
		{"a release that was under way", "granted-early", "0.15-0.25 nemesis pause c3\n0.03-0.04 c3 acquire c3.1 lease=0.05\n0.09-0.26 c3 release c3.1", early, "pause of a client", ""},
		{"a release that was under way, and its client's clock", "granted-early", "0.15-0.25 nemesis clock c3\n0.03-0.04 c3 acquire c3.1 lease=0.05\n0.09-0.26 c3 release c3.1", early, "", "clock"},

		{"by itself", "stale-write", "", outlived, "", ""},
		{"another client", "stale-write", "0.20-1.30 nemesis pause c3", outlived, "", "pause"},
		{"the newer one", "stale-write", "0.20-1.10 nemesis pause c2", outlived, "", "pause"},
		{"its holder, for as long as it was late", "stale-write", "0.20-0.65 nemesis pause c1", outlived, "pause of a client", ""},
		{"its holder, too briefly", "stale-write", "0.20-0.50 nemesis pause c1", outlived, "", "pause"},
		{"its holder, twice", "stale-write", "0.20-0.40 nemesis pause c1\n0.50-0.75 nemesis pause c1", outlived, "pause of a client", ""},
		{"its holder's clock", "stale-write", "0.20-1.40 nemesis clock c1", outlived, "", "clock"},
		{"a cut when nothing was under way", "stale-write", "0.20-0.90 nemesis partition c1", outlived, "", "partition"},
		{"a cut while it read", "stale-write", "0.20-0.70 nemesis partition c1", slowRead, "partition of a client", ""},
		{"the resource while it read", "stale-write", "0.20-0.70 nemesis pause register", slowRead, "pause of the resource", ""},
		{"a server while it read", "stale-write", "0.20-0.70 nemesis pause s1", slowRead, "", "pause"},
		{"a cut when it was to renew", "stale-write", "0.50-1.10 nemesis partition c1 s1", renewing, "partition of a client", ""},
		{"a server when it was to renew", "stale-write", "0.50-1.10 nemesis pause s1", renewing, "pause of a server", ""},
		{"a cut after its lease", "stale-write", "1.50-1.60 nemesis pause c1", renewing, "", "pause"},
		{"the machine", "stale-write", "0.20-0.65 nemesis stall", outlived, "a machine that stood still", ""},

		{"a counter that was lost", "token-regression", "0.20-0.25 nemesis kill s1", regressed, "kill of a server", ""},
		{"what is slow draws the same", "token-regression", "0.20-0.35 nemesis pause c2\n0.20-0.35 nemesis slow s1", regressed, "", "pause slow"},
		{"a server that refuses writes", "token-regression", "0.20-0.35 nemesis refuse s1", regressed, "refuse of a server", ""},
		{"the clock of who drew", "token-regression", "0.05-0.12 nemesis clock c1", regressed, "clock of a client", ""},
		{"the clock of who did not draw then", "token-regression", "0.115-0.20 nemesis clock c2", regressed, "", "clock"},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := Check(script(t, idle+c.faults+"\n"+c.text))
			list := named(v, c.anomaly)
			if len(list) == 0 {
				t.Fatalf("found %v", found(v))
			}
			a := list[0]
			if got := a.Suspect.Kind(); got != c.suspect || strings.Join(a.Bystanders, " ") != c.bystanders {
				t.Errorf("suspect %q, want %q; bystanders %v, want %q\n%s", got, c.suspect, a.Bystanders, c.bystanders, a.Explanation)
			}
		})
	}
}

// TestSuspectsOfWhatCameOfIt: a lock that was given away once, as a client's clock was wrong,
// is free to be taken again; what takes it then is blamed on the same.
func TestSuspectsOfWhatCameOfIt(t *testing.T) {
	list := named(Check(script(t, `
0.10-0.11 c1 acquire c1.1 lease=1
0.20-0.45 nemesis clock c3
0.30-0.40 c3 acquire c3.1 lease=1
0.41-0.42 c3 release c3.1
0.50-0.60 c2 acquire c2.1 lease=1
0.70-0.71 c2 release c2.1
0.80-0.81 c1 release c1.1
`)), "granted-early")
	if len(list) != 2 {
		t.Fatalf("%+v", list)
	}
	for _, a := range list {
		if a.Suspect.Kind() != "clock of a client" {
			t.Errorf("suspect %q: %s", a.Suspect.Kind(), a.Explanation)
		}
	}
}

// TestSuspectsByChance: what comes as often without a kind of fault is not blamed on it.
func TestSuspectsByChance(t *testing.T) {
	history := func(clock func(i int) bool) string {
		var b strings.Builder
		for i := range 20 {
			at := float64(i)
			fmt.Fprintf(&b, "%.2f-%.2f c1 acquire c1.%d lease=1\n%.2f-%.2f c2 acquire c2.%d lease=1\n%.2f-%.2f c2 release c2.%d\n%.2f-%.2f c1 release c1.%d\n",
				at+.1, at+.11, i+1, at+.3, at+.4+float64(i%7)*.04, i+1, at+.75, at+.76, i+1, at+.77, at+.78, i+1)
			if clock(i) {
				fmt.Fprintf(&b, "%.2f-%.2f nemesis clock c2\n", at+.15, at+.9)
			}
		}
		return b.String()
	}
	for _, c := range []struct {
		name   string
		clock  func(int) bool
		blamed int
	}{
		{"half of the time", func(i int) bool { return i%2 == 0 }, 0},
		{"each time", func(int) bool { return true }, 20},
	} {
		t.Run(c.name, func(t *testing.T) {
			blamed := 0
			for _, a := range named(Check(script(t, history(c.clock))), "granted-early") {
				if a.Suspect != nil {
					blamed++
				}
			}
			if blamed != c.blamed {
				t.Errorf("%d of 20 are blamed on the clock, want %d", blamed, c.blamed)
			}
		})
	}
}

// TestSuspectsOfTheFewest: what comes mostly without a fault is not blamed on one that was on
// during one of three, unless a server failed or a clock was set.
func TestSuspectsOfTheFewest(t *testing.T) {
	const three = `
0.01-0.02 c3 acquire !timeout
1.10-1.11 c1 acquire c1.1 lease=1
1.30-1.40 c2 acquire c2.1 lease=1
1.41-1.42 c2 release c2.1
5.10-5.11 c1 acquire c1.2 lease=1
5.50-5.60 c2 acquire c2.2 lease=1
5.61-5.62 c2 release c2.2
9.10-9.11 c1 acquire c1.3 lease=1
9.80-9.90 c2 acquire c2.3 lease=1
9.91-9.92 c2 release c2.3
29.0-29.1 c3 acquire !timeout
`
	for fault, want := range map[string]string{"pause c2": "", "pause s1": "", "clock c2": "clock of a client", "kill s1": "kill of a server"} {
		var got []string
		for _, a := range named(Check(script(t, three+"1.32-1.38 nemesis "+fault)), "granted-early") {
			if a.Suspect != nil {
				got = append(got, a.Suspect.Kind())
			}
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%s: %v, want %q", fault, got, want)
		}
	}
}

// TestSuspectOfLaterReleases: what began a row of releases that freed another's lock is blamed for all that came of it,
// and a clock that stands is not.
func TestSuspectOfLaterReleases(t *testing.T) {
	for file, want := range map[string]string{
		"wrong-release-clock-set": "clock of a server", "wrong-release-clock-set-right": "clock of a server", "wrong-release-clock-paused": "pause of a client",
	} {
		text, err := os.ReadFile("testdata/" + file + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range Check(script(t, string(text))).Anomalies {
			if a.Name != "two-holders" && a.Suspect.Kind() != want {
				t.Errorf("%s: %s of %v: suspect %q, want %q", file, a.Name, a.Grants, a.Suspect.Kind(), want)
			}
		}
	}
}

// suspectsOf names the suspects of the early grants in a history, in order; one that has none is a space.
func suspectsOf(t *testing.T, text string) string {
	t.Helper()
	var out []string
	for _, a := range named(Check(script(t, text)), "granted-early") {
		out = append(out, cmp.Or(a.Suspect.Kind(), " "))
	}
	return strings.Join(out, "|")
}

// TestSuspectsBesideAHabit: a lock that gives leases away after six tenths does so whatever is on, and what else happens
// under a fault is still that fault's.
func TestSuspectsBesideAHabit(t *testing.T) {
	const habit = `
1.000-1.001 c1 acquire c1.1 lease=1
1.600-1.602 c2 acquire c2.1 since=1.601 lease=1
1.610-1.611 c2 release c2.1
3.000-3.001 c1 acquire c1.2 lease=1
3.600-3.602 c2 acquire c2.2 since=3.601 lease=1
3.610-3.611 c2 release c2.2
5.000-5.001 c1 acquire c1.3 lease=1
5.600-5.602 c2 acquire c2.3 since=5.601 lease=1
5.610-5.611 c2 release c2.3
7.000-7.001 c1 acquire c1.4 lease=1
7.010-7.012 c2 acquire c2.4 since=7.011 lease=1
7.020-7.021 c2 release c2.4
7.900-7.910 c1 release c1.4
`
	for _, c := range []struct{ name, faults, want string }{ // the suspects of the four
		{"a server that failed once", "7.005-7.009 nemesis kill s1", " | | |kill of a server"},
		{"a server that failed beside the habit, too", "3.300-3.400 nemesis kill s1\n7.005-7.009 nemesis kill s1", " | | |kill of a server"},
		{"a clock that was set once, and stood meanwhile", "3.100-3.900 nemesis clock s1 how=+3s\n7.005-7.500 nemesis clock s1 how=+3s", " | | |clock of a server"},
		{"a client's clock, without which it came three times", "5.700-7.500 nemesis clock c2 how=+3s", " | | | "},
		{"a third that was stopped beside one release", "2.900-5.550 nemesis pause c3\n3.100-5.560 c3 release c3.1\n0.100-0.110 c3 acquire c3.1 lease=0.1", " | | | "},
	} {
		if got := suspectsOf(t, habit+c.faults); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestSuspectsByChanceOfAClock: a server's clock that was set between two grants explains the second one, however long it
// stood wrong afterwards: that seldom comes by chance. One that stands wrong for long touches much by chance. What a server
// loses it loses when it fails, however long it stays away.
func TestSuspectsByChanceOfAClock(t *testing.T) {
	const five = `
0.01-0.02 c3 acquire !timeout
1.10-1.11 c1 acquire c1.1 lease=1
1.12-1.28 nemesis pause c1
1.30-1.32 c2 acquire c2.1 lease=1
1.33-1.34 c2 release c2.1
3.00-3.01 c1 acquire c1.2 lease=1
3.45-3.50 c2 acquire c2.2 lease=1
3.51-3.52 c2 release c2.2
5.00-5.01 c1 acquire c1.3 lease=1
5.80-5.85 c2 acquire c2.3 lease=1
5.86-5.87 c2 release c2.3
7.00-7.01 c1 acquire c1.4 lease=1
7.60-7.65 c2 acquire c2.4 lease=1
7.66-7.67 c2 release c2.4
9.00-9.01 c1 acquire c1.5 lease=1
9.20-9.25 c2 acquire c2.5 lease=1
9.26-9.27 c2 release c2.5
10.9-11.0 c3 acquire !timeout
`
	for _, c := range []struct{ name, faults, want string }{ // the suspects of the five
		{"set in between, and stood for long", "1.20-4.50 nemesis clock s1 how=+5s", "clock of a server| | | | "},
		{"set right in between", "0.30-1.20 nemesis clock s1 how=-5s", "clock of a server| | | | "},
		{"stood all along", "1.05-4.50 nemesis clock s1 how=+5s", " | | | | "},
		{"fast for long", "1.15-4.50 nemesis clock s1 how=x8", " | | | | "},
		{"set again and again", "0.10-1.20 nemesis clock s1 how=+5s\n1.60-2.10 nemesis clock s1 how=+5s\n2.40-2.80 nemesis clock s1 how=+5s\n3.80-4.30 nemesis clock s1 how=+5s\n" +
			"4.50-4.80 nemesis clock s1 how=+5s\n6.10-6.40 nemesis clock s1 how=+5s\n8.00-8.30 nemesis clock s1 how=+5s\n8.50-8.80 nemesis clock s1 how=+5s", " | | | | "},
		{"a server that failed in between, and stayed away for long", "1.20-2.50 nemesis kill s1", "kill of a server| | | | "},
		{"a server that had failed before, and came back in between", "0.10-1.105 nemesis kill s1", "kill of a server| | | | "},
		{"two of them, which are set one in the other", "1.20-4.50 nemesis clock s1 how=+5s\n1.21-4.40 nemesis clock s2 how=+5s", "clock of a server| | | | "},
	} {
		if got := suspectsOf(t, five+c.faults); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// A server that had failed before the lease was granted, or last renewed, cannot have forgotten that.
func TestSuspectThatFailedEarlier(t *testing.T) {
	const early = "0.10-0.11 c1 acquire c1.1 lease=1\n0.30-0.40 c2 acquire c2.1 lease=1\n"
	for _, c := range []struct {
		text    string
		earlier bool
	}{
		{"0.20-0.25 nemesis kill s1", false},
		{"0.105-0.15 nemesis kill s1", false},
		{"0.09-0.15 nemesis kill s1", true},
		{"0.09-0.107 nemesis powerloss s1", true},
		{"0.20-0.28 nemesis kill s1\n0.22-0.23 c1 renew c1.1 lease=1", true},
		{"0.24-0.28 nemesis kill s1\n0.22-0.23 c1 renew c1.1 lease=1", false},
		{"0.09-0.15 nemesis clock s1", false},
	} {
		list := named(Check(script(t, early+c.text)), "granted-early")
		if len(list) != 1 || list[0].Suspect == nil || list[0].Suspect.Earlier != c.earlier {
			t.Errorf("%s: %+v", c.text, list)
		}
	}
}

// TestSuspectsOfLosses: that a server lost what it knew by one kind of fault again and again is no evidence against another kind, by which it lost that once.
func TestSuspectsOfLosses(t *testing.T) {
	const rounds, odd = 41, 20
	var b strings.Builder
	b.WriteString("0.01-0.02 c3 acquire !timeout\n")
	for i := 1; i <= rounds; i++ {
		name := "powerloss"
		if i == odd {
			name = "kill"
		}
		for _, line := range []string{"05-%[1]d.06 c1 acquire c1.%[1]d token=2 lease=0.1", "07-%[1]d.08 c1 release c1.%[1]d", "85-%[1]d.87 nemesis " + name + " s1",
			"90-%[1]d.91 c2 acquire c2.%[1]d token=1 lease=0.05", "92-%[1]d.93 c2 release c2.%[1]d"} {
			fmt.Fprintf(&b, "%[1]d."+line+"\n", i)
		}
	}
	seen := 0
	for _, a := range named(Check(script(t, b.String())), "token-regression") {
		want := "powerloss of a server"
		if a.Grants[len(a.Grants)-1] == fmt.Sprintf("c2.%d", odd) {
			want, seen = "kill of a server", seen+1
		}
		if got := a.Suspect.Kind(); got != want {
			t.Errorf("%v: suspect %q, want %q", a.Grants, got, want)
		}
	}
	if seen != 1 {
		t.Errorf("%d regressions after the kill, want 1", seen)
	}
}
