package scratch

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func left(t *testing.T) []string {
	t.Helper()
	paths, err := Left()
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// A folder is left when its maker has ended, and only then: no process removes what another one uses.
func TestLeft(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	d, err := Make()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(d.Path, "log"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if l := left(t); len(l) > 0 {
		t.Errorf("%v is in use", l)
	}
	if err := RemoveLeft(d.Path); err == nil {
		t.Error("what is in use was removed")
	}
	// What a process has open ends with it.
	if err := d.mark.Close(); err != nil {
		t.Fatal(err)
	}
	if l := left(t); !slices.Equal(l, []string{d.Path}) {
		t.Errorf("left is %v, want %s", l, d.Path)
	}
	if err := RemoveLeft(d.Path); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(d.Path); !os.IsNotExist(err) {
		t.Errorf("%s: %v", d.Path, err)
	}
}

func TestRemove(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	d, err := Make()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Remove(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(d.Path); !os.IsNotExist(err) {
		t.Errorf("%s: %v", d.Path, err)
	}
}

// What others name so stays.
func TestForeign(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	other := t.TempDir()
	if err := os.WriteFile(filepath.Join(other, marker), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, make := range map[string]func(string) error{
		"a folder without a mark": func(p string) error { return os.Mkdir(p, 0o700) },
		"a link to a folder":      func(p string) error { return os.Symlink(other, p) },
		"a file":                  func(p string) error { return os.WriteFile(p, nil, 0o600) },
		"a mark that is a link": func(p string) error {
			if err := os.Mkdir(p, 0o700); err != nil {
				return err
			}
			return os.Symlink(filepath.Join(other, marker), filepath.Join(p, marker))
		},
	} {
		path := filepath.Join(os.TempDir(), prefix+"1")
		if err := make(path); err != nil {
			t.Fatal(err)
		}
		if l := left(t); len(l) > 0 {
			t.Errorf("%s: left is %v", name, l)
		}
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
	}
}
