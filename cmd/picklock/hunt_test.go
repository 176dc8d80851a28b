package main

import (
	"slices"
	"testing"
	"time"
)

// The command that a hunt's page tells to make it again names what it was told to hunt on.
func TestHuntCommandNamesTheCluster(t *testing.T) {
	given := false
	f := huntFlags{find: []string{"granted-early"}, limit: time.Minute, given: func(string) bool { return given }}
	f.Settings.Lock, f.Settings.Fencing, f.Settings.Faults = "exec:./mine", "none", []string{"all"}
	f.Runtime = "local"
	for cluster, want := range map[string][]string{
		"":                        nil,
		"my.yml":                  {"--cluster", "my.yml"},
		"endpoint:127.0.0.1:6379": {"--endpoint", "127.0.0.1:6379"},
		"endpoint:10.0.0.1:6379":  {"--endpoint", "10.0.0.1:6379", "--i-own-this-service"},
	} {
		f.Settings.Cluster = cluster
		got := f.command()
		if i := slices.Index(got, "--find"); !slices.Equal(got[4:i], want) {
			t.Errorf("cluster %q: %q, want %q after the lock", cluster, got, want)
		}
	}
	f.Settings.Cluster, f.Runtime, f.ClientImage = "", "docker", "mine:1"
	if got := f.command(); !slices.Contains(got, "docker") || !slices.Contains(got, "mine:1") {
		t.Errorf("on an engine: %q", got)
	}
	if slices.Contains(f.command(), "--ttl") {
		t.Error("a lease that nobody gave is named: a hunt that goes on would not try others")
	}
	if given = true; !slices.Contains(f.command(), "--ttl") {
		t.Error("the lease that was given is not named")
	}
}
