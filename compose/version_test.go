package compose

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// A cluster in another version starts that server in place of the built-in one, with the same flags.
func TestVersion(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	for _, cluster := range []string{"etcd", "etcd-single"} {
		usual, err := Load(t.Context(), cluster)
		if err != nil {
			t.Fatal(err)
		}
		other, err := Load(t.Context(), cluster+"@3.5.21")
		if err != nil {
			t.Fatal(err)
		}
		for i, s := range other.Services {
			was, is := usual.Services[i].Spec.Local.Command, s.Spec.Local.Command
			if !strings.Contains(is[0], "etcd@3.5.21") || !slices.Equal(is[1:], was[3:]) {
				t.Errorf("%s: %q, in place of %q", s.Name, is, was)
			}
			err := s.Spec.Local.Missing()
			if want := "picklock lock build --cluster " + cluster + "@3.5.21"; err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("before it is built: %v, want %q", err, want)
			}
		}
		if other.Name != cluster+"@3.5.21" || usual.LocalOnly() != nil || !errors.As(other.LocalOnly(), new(Impossible)) {
			t.Errorf("%s: %v, %v", other.Name, usual.LocalOnly(), other.LocalOnly())
		}
	}
}

// Servers of a machine are replaced by those of another version, and what only they need is needed no more.
func TestVersionOfAMachine(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	for cluster, want := range map[string]struct{ in, needs string }{
		"zookeeper@3.9.3":    {"jars/* org.apache.zookeeper.server.quorum.QuorumPeerMain {dir}/zoo.cfg", "java"},
		"valkey@9.1.2.post2": {"valkey-server --port {port}", ""},
		"postgres@18.6":      {"bin':\"$PATH\"\nexec postgres", ""},
	} {
		d, err := Load(t.Context(), cluster)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range d.Services {
			l := s.Spec.Local
			if !strings.Contains(strings.Join(l.Command, " "), want.in) || strings.Contains(strings.Join(l.Command, " "), "/usr/share/java") {
				t.Errorf("%s: %q", cluster, l.Command)
			}
			if len(l.Prepare) > 0 && !strings.Contains(l.Prepare[2], "bin':\"$PATH\"\ninitdb") {
				t.Errorf("%s: prepared by %q", cluster, l.Prepare)
			}
			var needs []string
			for _, n := range l.Needs {
				if n.File == "" {
					needs = append(needs, n.Program)
				} else if !strings.Contains(n.Hint, "lock build --cluster "+cluster) {
					t.Errorf("%s: needs %+v", cluster, n)
				}
			}
			if strings.Join(needs, " ") != want.needs {
				t.Errorf("%s: needs %q, want %q", cluster, needs, want.needs)
			}
		}
	}
}

// A server that neither picklock nor the machine has is got in the version of its file, or in that of the cluster's name.
func TestVersionThatIsGot(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	for cluster, want := range map[string]string{"s3": "s3@1.8.0", "s3@1.9.3": "s3@1.9.3"} {
		d, err := Load(t.Context(), cluster)
		if err != nil {
			t.Fatal(err)
		}
		l := d.Services[0].Spec.Local
		if !d.Builds() || !strings.Contains(l.Command[0], want) || l.Version[0] != l.Command[0] {
			t.Errorf("%s: %q, its version by %q", cluster, l.Command, l.Version)
		}
		if err := l.Missing(); err == nil || !strings.Contains(err.Error(), "lock build --cluster "+cluster) {
			t.Errorf("%s: before it is built: %v", cluster, err)
		}
		if versioned := cluster != "s3"; errors.As(d.LocalOnly(), new(Impossible)) != versioned {
			t.Errorf("%s in containers: %v", cluster, d.LocalOnly())
		}
	}
}

func TestNoSuchVersion(t *testing.T) {
	for name, want := range map[string]string{
		"etcd@": "no version", "etcd@latest": "no version of etcd", "redis@7.0.0": "leave out @7.0.0", "dynamodb@1.0.0": "no other version of dynamodb", "etdc@3.5.21": "no such file",
	} {
		if _, err := Load(t.Context(), name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
		if err := Build(t.Context(), name, "local", func(string) {}); err == nil != strings.HasPrefix(name, "etdc") {
			t.Errorf("build %s: %v", name, err)
		}
	}
	for _, nothing := range []string{"etcd", "none", "", "x@1.yml"} {
		if err := Build(t.Context(), nothing, "local", func(string) {}); err != nil {
			t.Errorf("build %s: %v", nothing, err)
		}
	}
	if err := Build(t.Context(), "etcd@3.5.21", "docker", func(text string) { t.Error("for containers", text) }); err != nil {
		t.Error(err)
	}
}
