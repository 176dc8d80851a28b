package main

import (
	"strings"
	"testing"

	"github.com/picklock/picklock/clients/all"
	"github.com/picklock/picklock/compose"
)

func benchmark(t *testing.T) *bugs {
	t.Helper()
	b, err := load(bugsFile)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Each bug that is not unavailable names a lock that there is, in versions that can be asked for.
func TestBugs(t *testing.T) {
	locks, available := all.Locks(), 0
	for _, b := range benchmark(t).Bugs {
		if b.Unavailable != "" {
			continue
		}
		available++
		for _, version := range []string{b.Broken, b.Fixed} {
			if version == "" {
				continue
			}
			if b.Cluster != "" {
				info, err := locks.Lookup(b.Lock)
				if _, wrong := compose.Load(t.Context(), b.at(version)); err != nil || wrong != nil || info.Cluster != b.Cluster {
					t.Errorf("%s: lock %s on the cluster %s: %v, %v", b.ID, b.Lock, b.at(version), err, wrong)
				}
				continue
			}
			info, err := locks.Lookup(b.at(version))
			if err != nil {
				t.Errorf("%s: %v", b.ID, err)
				continue
			}
			if version == b.Fixed && b.FixedLock != "" {
				continue // its library has another name
			}
			if info.Library.Name != b.Library || info.Library.Language != b.Language {
				t.Errorf("%s: %s is the lock of %s in %s, want %s in %s", b.ID, b.Lock, info.Library.Name, info.Library.Language, b.Library, b.Language)
			}
			if err := info.CheckOptions(b.Options); err != nil {
				t.Errorf("%s: %v", b.ID, err)
			}
		}
	}
	if available < 8 {
		t.Errorf("only %d bugs can be tried", available)
	}
}

const sound = `
kinds:
  leak: {means: it stays taken, anomalies: [deadlock]}
bugs:
  - {id: R01, library: l, language: Go, broken: 1.0.0, fixed: 1.0.1, link: https://x, what: w, kind: leak, service: s, lock: k}
  - {id: R02, library: l, language: Go, broken: 1.0.0, link: https://x, what: w, kind: leak, service: s, unavailable: no server}
`

// A file is refused with the bug and what is wrong with it.
func TestLoad(t *testing.T) {
	if b, err := load([]byte(sound)); err != nil || len(b.Bugs) != 2 {
		t.Fatalf("%v, %v", b, err)
	}
	for name, tc := range map[string]struct{ old, text, want string }{
		"field":              {"what: w", "wat: w", "wat"},
		"anomaly":            {"[deadlock]", "[deadlok]", "deadlock"},
		"no meaning":         {"means: it stays taken, ", "", "kind leak"},
		"kind":               {"kind: leak, service: s, lock", "kind: leek, service: s, lock", `bug R01: "leek"`},
		"twice":              {"id: R02", "id: R01", "bug R01 is there twice"},
		"id":                 {"id: R02", "id: two", "is no id"},
		"no library":         {"library: l, language: Go, broken: 1.0.0, fixed", "language: Go, broken: 1.0.0, fixed", "bug R01: it has no library"},
		"link":               {"link: https://x, what: w, kind: leak, service: s, lock", "link: x, what: w, kind: leak, service: s, lock", "is no link"},
		"one version":        {"fixed: 1.0.1", "fixed: 1.0.0", "the broken version is the fixed one"},
		"no lock, no reason": {", lock: k", "", "bug R01: give it a lock"},
		"a cluster alone":    {"unavailable: no server", "unavailable: no server, cluster: etcd", "bug R02: a bug of a cluster's servers needs one lock"},
		"lock and reason":    {"unavailable: no server", "unavailable: no server, lock: k", "bug R02: give it a lock"},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Replace(sound, tc.old, tc.text, 1)
			if text == sound {
				t.Fatal("nothing was changed")
			}
			if _, err := load([]byte(text)); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v, want %q", err, tc.want)
			}
		})
	}
}

// A bug of a library is in a version of its lock, one of servers in a version of their cluster.
func TestTarget(t *testing.T) {
	for want, b := range map[string]bug{
		"k@1 | --lock k@1 --lock-option a=b --lock-option c=d":         {Lock: "k", Broken: "1", Fixed: "2", Options: map[string]string{"c": "d", "a": "b"}},
		"k@0.1 | --lock k@0.1":                                         {Lock: "k", Broken: "1", BrokenAs: "0.1", Fixed: "2"},
		"--cluster s@0.1 | --lock k --cluster s@0.1 --lock-option a=b": {Lock: "k", Cluster: "s", Broken: "1", BrokenAs: "0.1", Fixed: "2", Options: map[string]string{"a": "b"}},
	} {
		if got := strings.Join(b.build(b.Broken), " ") + " | " + strings.Join(b.target(b.Broken), " "); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestChoose(t *testing.T) {
	all := benchmark(t)
	if some, err := all.choose([]string{"R07", "R01"}); err != nil || len(some) != 2 || some[0].ID != "R01" {
		t.Errorf("%v, %v", some, err)
	}
	if every, err := all.choose(nil); err != nil || len(every) != len(all.Bugs) {
		t.Errorf("%d, %v", len(every), err)
	}
	if _, err := all.choose([]string{"R99"}); err == nil {
		t.Error("a bug that is not there is found")
	}
}
