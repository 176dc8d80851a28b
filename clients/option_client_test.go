package clients

import (
	"maps"
	"strings"
	"testing"
	"time"
)

// A client has the options of all, and its own over them, and the lease that is given for it alone.
func TestOptionsOf(t *testing.T) {
	type settings = map[string]string
	all := settings{"by": "row", "by@B": "table", "wait@A": "long", "lease@A": "3 leases", "lease@C": "150ms"}
	for client, want := range map[string]struct {
		own   settings
		lease time.Duration
	}{
		"A": {settings{"by": "row", "wait": "long"}, 3 * time.Second},
		"B": {settings{"by": "table"}, time.Second},
		"C": {settings{"by": "row"}, 150 * time.Millisecond},
		"D": {settings{"by": "row"}, time.Second},
	} {
		own, lease := OptionsOf(client, all, time.Second)
		if !maps.Equal(own, want.own) || lease != want.lease {
			t.Errorf("%s: %v and %v", client, own, lease)
		}
	}
	if len(all) != 5 {
		t.Errorf("the options of all are now %v", all)
	}
	if own, lease := OptionsOf("A", nil, time.Second); own != nil || lease != time.Second {
		t.Errorf("of none: %v and %v", own, lease)
	}
	if longest := LongestLease(all, time.Second); longest != 3*time.Second {
		t.Errorf("the longest lease is %v", longest)
	}
	if longest := LongestLease(settings{"lease@C": "150ms"}, time.Second); longest != time.Second {
		t.Errorf("the longest lease beside a shorter one is %v", longest)
	}
}

// An option of one client is checked as that of all is, and some clients cannot differ.
func TestCheckOptionsOfAClient(t *testing.T) {
	own := Info{Name: "l", OwnLeases: true, Options: []Option{PermitsOption(), {Name: "by", Check: func(text string) error {
		_, err := parseAbility(text)
		return err
	}}}}
	shared := own
	shared.OwnLeases = false
	for text, want := range map[string]string{
		"by@A=yes": "", "by=no": "", "lease@A=3 leases": "", "lease@A=0.5 leases": "", "lease@A=2s": "",
		"by@A=perhaps": "want yes or no", "permits@A=3": "clients cannot differ in it", "bye@A=1": `"bye"`,
		"lease@A=30 leases": "want a time", "lease@A=0s": "want a time", "lease@A=long": "want a time", "lease=3s": `"lease"`,
	} {
		extra, err := ParseOptions([]string{text})
		if err != nil {
			t.Fatal(err)
		}
		err = own.CheckOptions(extra)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
		if err := shared.CheckOptions(extra); strings.HasPrefix(text, "lease@") && err == nil {
			t.Errorf("%s of a lock whose clients have one lease: no error", text)
		}
	}
}

// Of a lock that takes any option, too, what is given as the lease of one client has to be a time.
func TestCheckLeaseOfAnyOption(t *testing.T) {
	exec := Info{Name: "exec:x", AnyOption: true}
	for text, right := range map[string]bool{"lease@A=2s": true, "lease@A=long": false, "lease=long": true, "of@A=long": true} {
		extra, err := ParseOptions([]string{text})
		if err != nil {
			t.Fatal(err)
		}
		if err := exec.CheckOptions(extra); (err == nil) != right {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// Only clients that take part have options of their own, and no lease is shorter than the lock keeps.
func TestCheckClients(t *testing.T) {
	for text, want := range map[string]string{
		"lease@A=2 leases": "", "by@B=x": "", "by=x": "",
		"lease@B=21s": "want at most 20s",
		"by@D=x":      `the client "D"; the clients are A, B`, "lease@A=0.5 leases": "keeps leases of 600ms or more", "by@=x": `the client ""`,
	} {
		extra, err := ParseOptions([]string{text})
		if err != nil {
			t.Fatal(err)
		}
		err = CheckClients(extra, time.Second, 600*time.Millisecond, []string{"A", "B"})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// What one client alone is given to try is nothing that the user has decided.
func TestMixedOf(t *testing.T) {
	type settings = map[string]string
	i := Info{OwnLeases: true, Options: []Option{{Name: "watchdog", Default: "yes", Also: "no", Mixed: "alternate"}, {Name: "by", Default: "row", Also: "table"}}}
	for name, tc := range map[string]struct{ given, want settings }{
		"none given":              {nil, settings{"lease@A": OtherLease, "watchdog@A": "alternate"}},
		"given for all":           {settings{"watchdog": "yes"}, settings{"lease@A": OtherLease}},
		"given for this client":   {settings{"watchdog@A": "no", "lease@A": "2s"}, nil},
		"given for another one":   {settings{"watchdog@B": "no"}, settings{"lease@A": OtherLease, "watchdog@A": "alternate"}},
		"another option is given": {settings{"by": "table"}, settings{"lease@A": OtherLease, "watchdog@A": "alternate"}},
	} {
		if got := i.MixedOf("A", tc.given); !maps.Equal(got, tc.want) {
			t.Errorf("%s: %v", name, got)
		}
	}
	i.OwnLeases = false
	if got := i.MixedOf("A", nil); !maps.Equal(got, settings{"watchdog@A": "alternate"}) {
		t.Errorf("of a lock whose clients have one lease: %v", got)
	}
}
