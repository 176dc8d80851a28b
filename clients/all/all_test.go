package all

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/picklock/picklock/clients"
)

func TestLookup(t *testing.T) {
	var names []string
	for _, i := range Locks().All() {
		names = append(names, i.Name)
		if i.About == "" || i.Cluster == "" || i.MinTTL <= 0 && !i.Naive && i.Unlocked == nil || strings.Contains(i.About, "\n") {
			t.Errorf("%s: incomplete: %+v", i.Name, i)
		}
		if _, err := i.Open(t.Context(), clients.Options{TTL: time.Second}); err == nil {
			t.Errorf("%s: opened without a server", i.Name)
		}
	}
	for _, want := range []string{"etcd", "redis", "redlock", "zookeeper"} {
		if i := slices.Index(names, want); i < 0 || Locks().All()[i].Naive {
			t.Errorf("%s is not among the locks %v, or counts as naive", want, names)
		}
	}
	if _, err := Locks().Lookup("zookeper"); err == nil || !strings.Contains(err.Error(), "did you mean zookeeper") || !strings.Contains(err.Error(), "picklock list locks") {
		t.Errorf("unknown lock: %v; want an error that names the nearest, and the list", err)
	}
}

// TestNames: no name stands for two locks.
func TestNames(t *testing.T) {
	seen := map[string]bool{}
	for _, i := range lines() {
		for _, name := range append([]string{i.Name}, i.Aliases...) {
			if seen[name] {
				t.Errorf("two locks are called %s", name)
			}
			seen[name] = true
		}
	}
}

// TestVersion: another version is that of a library's lock, of no other.
func TestVersion(t *testing.T) {
	if i, err := Locks().Lookup("redisson@3.50.0"); err != nil || i.Name != "redisson@3.50.0" || i.Library.Version != "3.50.0" {
		t.Errorf("%q, %v", i.Name, err)
	}
	for name, want := range map[string]string{"redis@7": "has no other versions", "redisson@": "is no version", "redison@3": "redisson"} {
		if _, err := Locks().Lookup(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}

func TestCheckOptions(t *testing.T) {
	tests := []struct {
		lock, option string
		want         string // in the error, "" for none
	}{
		{"redis-delay", "delay=2s", ""},
		{"redis-delay", "delay=", "length of time"},
		{"redis-delay", "delay=-1s", "length of time"},
		{"redis-delay", "dealy=2s", `unknown option "dealy": did you mean delay? (have delay)`},
		{"redis", "delay=2s", `has no options: it does not know "delay"`},
		{"redsync", "tries=0", ""},
		{"redsync", "tries=-1", "whole number"},
		{"redsync", "drift-factor=1", "below 1"},
		{"redsync", "drift-factor=NaN", "below 1"},
		{"redsync", "fail-fast=true", "yes or no"},
		{"redsync", "delay=1s", "have tries, drift-factor, fail-fast, set-nx-on-extend, max-retries, read-timeout, context-timeout"},
		{"rueidislock", "key-majority=0", "1 to 1000"},
		{"zk-lock", "careful=yes", ""},
		{"gozk", "careful=yes", ""},
		{"redis-sentinel", "master=other", ""},
		{"exec:true", "what=ever", ""},
	}
	for _, tc := range tests {
		info, err := Locks().Lookup(tc.lock)
		if err != nil {
			t.Fatal(err)
		}
		extra, err := clients.ParseOptions([]string{tc.option})
		if err != nil {
			t.Fatal(err)
		}
		err = info.CheckOptions(extra)
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s %s: %v; want an error with %q", tc.lock, tc.option, err, tc.want)
		}
	}
	for _, i := range Locks().All() {
		for _, o := range i.Options {
			if o.Name == "" || o.About == "" || o.Default == "" || strings.ContainsAny(o.Name, "= ") {
				t.Errorf("%s: incomplete option %+v", i.Name, o)
			}
		}
	}
}

func TestAliases(t *testing.T) {
	i, err := Locks().Lookup("gozk")
	if err != nil || i.Name != "zk-lock" {
		t.Errorf("gozk is %q, %v; want zk-lock", i.Name, err)
	}
	for _, i := range Locks().All() {
		if i.Name == "gozk" {
			t.Error("an alias has a line of its own")
		}
	}
}

// TestSafer: an option can be set to each of its safer values.
func TestSafer(t *testing.T) {
	settings := 0
	for _, i := range Locks().All() {
		for _, o := range i.Options {
			one := clients.Info{Options: []clients.Option{o}}
			got := one.Mitigations(map[string]string{o.Name: "none of these"}, max(i.MinTTL, time.Second))
			if len(got) != len(o.Safer) {
				t.Errorf("%s: of %s only %v can be set", i.Name, o.Safer, got)
			}
			settings += len(got)
		}
	}
	if settings == 0 {
		t.Error("no option of any lock has a safer value")
	}
}

// TestAlso: what a hunt tries besides the default is no default, and can be set.
func TestAlso(t *testing.T) {
	n := 0
	for _, i := range Locks().All() {
		for _, o := range i.Options {
			if o.Also == "" {
				continue
			}
			n++
			if err := i.CheckOptions(map[string]string{o.Name: o.Also}); err != nil || o.Also == o.Default {
				t.Errorf("%s: %s=%s: %v", i.Name, o.Name, o.Also, err)
			}
		}
	}
	if n == 0 {
		t.Error("no lock has such an option")
	}
}
