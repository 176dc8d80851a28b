package compose

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWith(t *testing.T) {
	none := &Definition{Name: "none"}
	etcd, err := Load(t.Context(), "etcd") // with anchors
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "mine.yml")
	if err := os.WriteFile(file, []byte("services: {register: {image: x, x-picklock: {role: server, ports: [1]}}}"), 0o644); err != nil {
		t.Fatal(err)
	}
	mine, err := Load(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		d             *Definition
		cluster       string
		servers, fail string
	}{
		{none, "redis", "", ""},
		{etcd, "postgres", "etcd1 etcd2 etcd3", ""},
		{etcd, "etcd-single", "etcd1 etcd2 etcd3", ""},
		{mine, "redis", "", "has a service register of its own"},
		{etcd, "zookeeper", "", "want one, to be the register"},
		{etcd, "nothing", "", "unknown cluster"},
	} {
		got, err := x.d.With(t.Context(), x.cluster, "register", Register)
		if x.fail != "" {
			if err == nil || !strings.Contains(err.Error(), x.fail) {
				t.Errorf("%s with %s: %v, want an error with %q", x.d.Name, x.cluster, err, x.fail)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s with %s: %v", x.d.Name, x.cluster, err)
			continue
		}
		var servers []string
		for _, s := range got.Servers() {
			servers = append(servers, s.Name)
		}
		alone, err := Load(t.Context(), x.cluster)
		if err != nil {
			t.Fatal(err)
		}
		members, want := got.Members(), alone.Services[0]
		last := members[len(members)-1]
		if strings.Join(servers, " ") != x.servers || last.Name != "register" || last.Spec.Role != Register || len(members) != len(servers)+1 {
			t.Errorf("%s with %s: servers %v, last member %s, %s", x.d.Name, x.cluster, servers, last.Name, last.Spec.Role)
		}
		if last.Image != want.Image || last.Spec.Ready == nil || last.Spec.Local == nil || len(last.Spec.Local.Command) != len(want.Spec.Local.Command) {
			t.Errorf("%s with %s: the service became %+v", x.d.Name, x.cluster, last)
		}
		if len(x.d.Services) != len(servers) {
			t.Errorf("%s itself was changed: %d services", x.d.Name, len(x.d.Services))
		}
	}
}

// A file of a user's own cannot name a register: a run has the one of --register.
func TestRegisterIsNoRoleOfAFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "mine.yml")
	if err := os.WriteFile(file, []byte("services: {a: {image: x, x-picklock: {role: register, ports: [1]}}}"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(t.Context(), file); err == nil || !strings.Contains(err.Error(), `unknown role "register": want server`) {
		t.Errorf("a file with a register: %v", err)
	}
}
