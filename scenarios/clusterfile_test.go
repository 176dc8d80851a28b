package scenarios

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A scenario that was written into another folder names the same Compose file when it is
// loaded, from wherever that is done; what is no relative path stays as it is.
func TestClusterFile(t *testing.T) {
	work := t.TempDir()
	for _, tt := range []struct{ cluster, written, loaded string }{
		{"my.yml", "../../my.yml", "my.yml"},
		{"sub/my.yml", "../../sub/my.yml", "sub/my.yml"},
		{"out/ways/my.yml", "my.yml", "out/ways/my.yml"},
		{"redis", "redis", "redis"},
		{"etcd@3.5.21", "etcd@3.5.21", "etcd@3.5.21"},
		{"a@b.yml", "../../a@b.yml", "a@b.yml"},
		{"endpoint:127.0.0.1:6379", "endpoint:127.0.0.1:6379", "endpoint:127.0.0.1:6379"},
		{"/etc/my.yml", "/etc/my.yml", "/etc/my.yml"},
		{"", "", ""},
	} {
		t.Run(tt.cluster, func(t *testing.T) {
			t.Chdir(work)
			s := &Scenario{Name: "x", About: "x", Locks: []string{"redis"}, Cluster: tt.cluster, TTL: time.Second, Clients: []string{"A"}, Programs: map[string]Program{"A": MustProgram("acquire", []string{"A"})}}
			folder := filepath.Join("out", "ways")
			if err := os.MkdirAll(folder, 0o755); err != nil {
				t.Fatal(err)
			}
			text, err := WrittenTo(folder, s.Write("why: x"))
			if err != nil {
				t.Fatal(err)
			}
			if tt.written != "" && !strings.Contains(string(text), "\ncluster: "+quoted(tt.written)+"\n") || !strings.HasPrefix(string(text), "# why: x\n") {
				t.Errorf("written as\n%s", text)
			}
			file := filepath.Join(folder, "x.yaml")
			if err := os.WriteFile(file, text, 0o600); err != nil {
				t.Fatal(err)
			}
			for _, at := range []string{work, t.TempDir()} {
				t.Chdir(at)
				got, err := Load(filepath.Join(work, file))
				if err != nil {
					t.Fatal(err)
				}
				want := tt.loaded
				if isClusterFile(want) {
					want = filepath.Join(work, want)
				}
				if got.Cluster != want {
					t.Errorf("loaded in %s: %q, want %q", at, got.Cluster, want)
				}
			}
		})
	}
}

// The command of a lock that is somebody's own program means the same files wherever the
// scenario is run, and that of a lock that the user names means what he means.
func TestProgramsFolder(t *testing.T) {
	work := t.TempDir()
	const lock = "exec:python3 lock.py"
	for name, tt := range map[string]struct {
		lock, folder, written, found string
	}{
		"a program":            {lock, "", "folder: \"../..\"", "."},
		"one from elsewhere":   {lock, "sub", "folder: \"../../sub\"", "sub"},
		"an absolute folder":   {lock, "/", "", "/"},
		"a lock of picklock's": {"redis", "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(work)
			s := &Scenario{Name: "x", About: "x", Locks: []string{tt.lock}, Folder: tt.folder, TTL: time.Second, Clients: []string{"A"}, Programs: map[string]Program{"A": MustProgram("acquire", []string{"A"})}}
			folder := filepath.Join("out", "ways")
			if err := os.MkdirAll(folder, 0o755); err != nil {
				t.Fatal(err)
			}
			text, err := WrittenTo(folder, s.Write())
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(text), tt.written) || (tt.found == "") == strings.Contains(string(text), "folder:") {
				t.Errorf("written as\n%s", text)
			}
			file := filepath.Join(folder, "x.yaml")
			if err := os.WriteFile(file, text, 0o600); err != nil {
				t.Fatal(err)
			}
			t.Chdir(t.TempDir())
			got, err := Load(filepath.Join(work, file))
			if err != nil {
				t.Fatal(err)
			}
			want := tt.found
			if want != "" && !filepath.IsAbs(want) {
				want = filepath.Join(work, want)
			}
			if found := got.FolderOf(tt.lock); found != want {
				t.Errorf("its program is started in %q, want %q", found, want)
			}
			if found := got.FolderOf("exec:python3 other.py"); found != "" {
				t.Errorf("a program that the user named is started in %q", found)
			}
		})
	}
}
