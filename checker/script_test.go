package checker

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/picklock/picklock/checker/corpus"
)

// script reads a history of the corpus; see corpus.Parse for its form.
func script(t testing.TB, text string) Input {
	t.Helper()
	h, err := corpus.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	in := Input{Events: h.Events, Effects: h.Effects}
	for name, value := range h.Options {
		switch name {
		case "faults":
			in.Options.Faults = strings.Split(value, ",")
		case "renew":
			in.Options.Renew = value == "yes"
		case "require":
			in.Options.Require = strings.Split(value, ",")
		case "bound":
			in.Options.Bound = seconds(t, value)
		case "nolock":
			in.Options.NoLock = value == "yes"
		case "ttl":
			in.Options.TTL = seconds(t, value)
		case "lease":
			in.Options.Lease = seconds(t, value)
		case "leaderless":
			in.Options.Leaderless = int(seconds(t, value) / 1e9)
		case "servers":
			in.Options.Servers = int(seconds(t, value) / 1e9)
		case "skew":
			in.Options.Skew = seconds(t, value)
		case "fair":
			in.Options.Fair = seconds(t, value)
		default:
			t.Fatalf("unknown option %q", name)
		}
	}
	return in
}

func seconds(t testing.TB, s string) int64 {
	t.Helper()
	ns, err := corpus.Seconds(s)
	if err != nil {
		t.Fatal(err)
	}
	return ns
}

// found lists a verdict's anomalies as "name/cause".
func found(v Verdict) []string {
	out := []string{}
	for _, a := range v.Anomalies {
		s := a.Name
		if a.Cause != "" {
			s = fmt.Sprintf("%s/%s", a.Name, a.Cause)
		}
		out = append(out, s)
	}
	slices.Sort(out)
	return out
}

// lockNamed finds a lock by its name.
func (an *analysis) lockNamed(name string) *lock {
	for _, k := range an.locks {
		if k.name == name {
			return k
		}
	}
	return nil
}
