package library

import (
	"encoding/json"
	"encoding/xml"
	"io/fs"
	"path"
	"regexp"
	"strings"
	"testing"
)

// dependency is one of a Maven manifest.
type dependency struct {
	Group    string `xml:"groupId"`
	Artifact string `xml:"artifactId"`
	Version  string `xml:"version"`
}

// manifested is the version of a line's library that the manifest among its sources names.
func manifested(t *testing.T, l line) string {
	t.Helper()
	read := func(file string) []byte {
		text, err := fs.ReadFile(l.language.sources, file)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	switch l.language {
	case javaLanguage:
		var pom struct {
			Properties struct {
				Version string `xml:"library.version"`
			} `xml:"properties"`
			Dependencies []dependency `xml:"dependencies>dependency"`
			Profiles     []struct {
				Dependencies []dependency `xml:"dependencies>dependency"`
			} `xml:"profiles>profile"`
		}
		if err := xml.Unmarshal(read(l.folder+"/pom.xml"), &pom); err != nil {
			t.Fatal(err)
		}
		for _, p := range pom.Profiles {
			pom.Dependencies = append(pom.Dependencies, p.Dependencies...)
		}
		for _, d := range pom.Dependencies {
			if d.Group+":"+d.Artifact == l.library && d.Version == "${library.version}" {
				return pom.Properties.Version
			}
		}
	case pythonLanguage:
		for line := range strings.Lines(string(read("requirements/" + l.folder + ".txt"))) {
			if version, ok := strings.CutPrefix(strings.TrimSpace(line), l.library+"=="); ok {
				return version
			}
		}
	case nodeLanguage:
		var pkg struct{ Dependencies map[string]string }
		if err := json.Unmarshal(read(l.folder+"/package.json"), &pkg); err != nil {
			t.Fatal(err)
		}
		return pkg.Dependencies[l.library]
	case goLanguage:
		if m := regexp.MustCompile(`(?m)^\s*(?:require )?` + regexp.QuoteMeta(l.library) + ` v(\S+)`).FindSubmatch(read(l.folder + "/go.mod.tmpl")); m != nil {
			return string(m[1])
		}
	case rustLanguage:
		if m := regexp.MustCompile(`(?m)^` + l.library + ` = \{ version = "=([^"]+)"`).FindSubmatch(read(l.folder + "/Cargo.toml")); m != nil {
			return string(m[1])
		}
	}
	return ""
}

// Each line has its sources, and its manifest names the version that the line does.
func TestTable(t *testing.T) {
	for _, l := range lines() {
		t.Run(l.name, func(t *testing.T) {
			p := program{line: l, lock: l.name, version: l.version}
			files, err := p.sources()
			if err != nil {
				t.Fatal(err)
			}
			if got := manifested(t, l); got != l.version {
				t.Errorf("its manifest names %s %q, the table %q", l.library, got, l.version)
			}
			found := false
			for _, f := range files {
				name := strings.TrimSuffix(path.Base(f), path.Ext(f))
				found = found || name == l.program || l.language == rustLanguage && name == "main"
			}
			if !found {
				t.Errorf("%s is not among its sources %q", l.program, files)
			}
			if len(l.promises) == 0 {
				t.Error("no page says what it promises")
			}
			for _, page := range l.promises {
				if !strings.HasPrefix(page, "https://") {
					t.Errorf("%q is no page", page)
				}
			}
		})
	}
}

// What runs has the name of its version, unless that is the tested one.
func TestVersions(t *testing.T) {
	for _, i := range Locks() {
		if other, err := i.Library.At("1.2.3-rc.1"); err != nil || other.Name != i.Name+"@1.2.3-rc.1" || other.Library.Version != "1.2.3-rc.1" {
			t.Errorf("%s: %q, %v", i.Name, other.Name, err)
		}
		if same, err := i.Library.At(i.Library.Version); err != nil || same.Name != i.Name {
			t.Errorf("%s: %q, %v", i.Name, same.Name, err)
		}
		for _, wrong := range []string{"", "../1", "1 2", "-r", "1;rm", "1@2"} {
			if _, err := i.Library.At(wrong); err == nil || !strings.Contains(err.Error(), i.Library.Name) {
				t.Errorf("%s@%s: %v", i.Name, wrong, err)
			}
		}
	}
}

// All locks of one library in one version are one program, or one of each artifact, of another version another one.
func TestFolders(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	of := map[string]string{}
	for _, l := range lines() {
		p := program{line: l, lock: l.name, version: l.version}
		dir, err := p.dir()
		if err != nil {
			t.Fatal(err)
		}
		key := l.language.name + " " + l.folder
		if l.language.apart {
			key += " " + l.program
		}
		if of[key] == "" {
			of[key] = dir
		}
		p.version = "0.0.1"
		if other, err := p.dir(); dir != of[key] || err != nil || other == dir {
			t.Errorf("%s is in %s, %s beside it, of another version in %s (%v)", l.name, dir, of[key], other, err)
		}
	}
}

// A release that succeeds although nobody holds the lock confirms nothing: in some versions, or of some locks.
func TestConfirmsByVersion(t *testing.T) {
	for name, want := range map[string]bool{
		"redisson": true, "redisson@3.10.5": false, "redisson@2.15.2": false, "redisson@3.11.2": true, "redisson@3.9.1": false, "redisson@3.50.0": true,
		"redisson-fair": false, "redisson-rw": true, "redisson-rw@3.10.5": false, "redisson-spin": true, "redisson-multi": true, "redisson-multi@3.10.2": false,
		"spring-jdbc": true, "spring-jdbc@6.4.0": true, "spring-jdbc@6.3.11": false, "spring-jdbc@5.3.8.RELEASE": false, "spring-redis@5.5.4": true,
	} {
		lock, version, _ := strings.Cut(name, "@")
		p := named(t, lock, version)
		if got := p.info(p.version).Confirms; got != want {
			t.Errorf("%s confirms: %v, want %v", name, got, want)
		}
	}
}
