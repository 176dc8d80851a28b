package clients

import (
	"strings"
	"testing"
	"time"
)

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
		info, err := Builtin().Lookup(tc.lock)
		if err != nil {
			t.Fatal(err)
		}
		extra, err := ParseOptions([]string{tc.option})
		if err != nil {
			t.Fatal(err)
		}
		err = info.CheckOptions(extra)
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s %s: %v; want an error with %q", tc.lock, tc.option, err, tc.want)
		}
	}
	for _, i := range Builtin().All() {
		for _, o := range i.Options {
			if o.Name == "" || o.About == "" || o.Default == "" || strings.ContainsAny(o.Name, "= ") {
				t.Errorf("%s: incomplete option %+v", i.Name, o)
			}
		}
	}
}

func TestParseOptions(t *testing.T) {
	got, err := ParseOptions([]string{"a=1", "b=x=y", "c="})
	if err != nil || got["a"] != "1" || got["b"] != "x=y" || len(got) != 3 {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range [][]string{{"a"}, {"=1"}, {"a=1", "a=1"}} {
		if got, err := ParseOptions(bad); err == nil {
			t.Errorf("%v: read as %v; want an error", bad, got)
		}
	}
}

// TestOptionsAreHeeded: a value that the check passes is the one that the lock uses.
func TestOptionsAreHeeded(t *testing.T) {
	o := Options{TTL: time.Second, Extra: map[string]string{"a": "3s", "b": "no", "c": "4"}}
	if d, err := option(o, "a", time.Second, parseLength); d != 3*time.Second || err != nil {
		t.Errorf("a length: %v, %v", d, err)
	}
	if yes, err := option(o, "b", true, parseSwitch); yes || err != nil {
		t.Errorf("a switch: %v, %v", yes, err)
	}
	if n, err := option(o, "d", 7, parseCount); n != 7 || err != nil {
		t.Errorf("an option that is not given: %v, %v; want the default", n, err)
	}
	if _, err := option(o, "c", time.Second, parseLength); err == nil {
		t.Error("4 is taken for a length of time")
	}
}

func TestAliases(t *testing.T) {
	i, err := Builtin().Lookup("gozk")
	if err != nil || i.Name != "zk-lock" {
		t.Errorf("gozk is %q, %v; want zk-lock", i.Name, err)
	}
	for _, i := range Builtin().All() {
		if i.Name == "gozk" {
			t.Error("an alias has a line of its own")
		}
	}
}
