package main

import (
	"bytes"
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/picklock/picklock/checker/verdict"
	"github.com/picklock/picklock/internal/suggest"
)

//go:embed bugs.yaml
var bugsFile []byte

// bugs is the benchmark's file.
type bugs struct {
	Kinds map[string]kind `yaml:"kinds"`
	Bugs  []bug           `yaml:"bugs"`
}

// kind is what is wrong with a lock, and the anomalies that show it.
type kind struct {
	Means     string   `yaml:"means"`
	Anomalies []string `yaml:"anomalies"`
}

// bug is a bug that somebody reported.
type bug struct {
	ID       string `yaml:"id"`
	Library  string `yaml:"library"` // as the language's registry names it
	Language string `yaml:"language"`
	Broken   string `yaml:"broken"`          // a version that has the bug
	Fixed    string `yaml:"fixed,omitempty"` // the first version that has not; "" if none is released
	Link     string `yaml:"link"`
	What     string `yaml:"what"`
	Kind     string `yaml:"kind"`
	Service  string `yaml:"service"`
	// Lock is picklock's name of the library's lock, of which NAME@VERSION is run.
	Lock string `yaml:"lock,omitempty"`
	// Cluster is the cluster whose servers have the bug: then the versions are theirs, NAME@VERSION of it is run, and
	// the lock is the tested one. "" if the bug is the library's.
	Cluster string `yaml:"cluster,omitempty"`
	// FixedLock is the name of the lock in the fixed version, if it is another, and BrokenAs what the
	// registry calls the broken version, if that is another than people's name for it.
	FixedLock string            `yaml:"fixed_lock,omitempty"`
	BrokenAs  string            `yaml:"broken_as,omitempty"`
	Options   map[string]string `yaml:"options,omitempty"` // of the lock, without which the library does not do what broke
	// Unavailable is why the bug cannot be tried; "" if it can.
	Unavailable string `yaml:"unavailable,omitempty"`
}

// load reads a file of bugs and checks it.
func load(text []byte) (*bugs, error) {
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	var out bugs
	if err := d.Decode(&out); err != nil {
		return nil, fmt.Errorf("read the bugs: %w", err)
	}
	if err := out.check(); err != nil {
		return nil, err
	}
	return &out, nil
}

func (all *bugs) check() error {
	var known []string
	for _, a := range verdict.Anomalies() {
		known = append(known, a.Name)
	}
	var wrong []error
	for name, k := range all.Kinds {
		if k.Means == "" {
			wrong = append(wrong, fmt.Errorf("kind %s does not say what it means", name))
		}
		for _, a := range k.Anomalies {
			if !slices.Contains(known, a) {
				wrong = append(wrong, fmt.Errorf("kind %s: %w", name, suggest.Unknown("anomaly", a, known)))
			}
		}
	}
	seen := map[string]bool{}
	for _, b := range all.Bugs {
		if err := b.check(all.Kinds); err != nil {
			wrong = append(wrong, fmt.Errorf("bug %s: %w", b.ID, err))
		}
		if seen[b.ID] {
			wrong = append(wrong, fmt.Errorf("bug %s is there twice", b.ID))
		}
		seen[b.ID] = true
	}
	if len(all.Bugs) == 0 {
		wrong = append(wrong, errors.New("there are no bugs"))
	}
	return errors.Join(wrong...)
}

var ids = regexp.MustCompile(`^R[0-9]{2,3}$`)

func (b bug) check(kinds map[string]kind) error {
	var wrong []error
	for _, f := range []struct{ name, value string }{
		{"library", b.Library}, {"language", b.Language}, {"broken", b.Broken}, {"what", b.What}, {"service", b.Service},
	} {
		if f.value == "" {
			wrong = append(wrong, fmt.Errorf("it has no %s", f.name))
		}
	}
	if !ids.MatchString(b.ID) {
		wrong = append(wrong, fmt.Errorf("%q is no id: want R and two or three digits", b.ID))
	}
	if !strings.HasPrefix(b.Link, "https://") {
		wrong = append(wrong, fmt.Errorf("%q is no link", b.Link))
	}
	if _, ok := kinds[b.Kind]; !ok {
		wrong = append(wrong, fmt.Errorf("%q is none of the kinds", b.Kind))
	}
	if b.Broken == b.Fixed {
		wrong = append(wrong, errors.New("the broken version is the fixed one"))
	}
	if b.Cluster != "" && (b.Lock == "" || b.FixedLock != "") {
		wrong = append(wrong, errors.New("a bug of a cluster's servers needs one lock, for both versions"))
	}
	if (b.Lock == "") == (b.Unavailable == "") {
		wrong = append(wrong, errors.New("give it a lock, or the reason why it is unavailable"))
	}
	return errors.Join(wrong...)
}

// at is what is run for a version: the lock or the cluster, by its name and the version.
func (b bug) at(version string) string {
	name := cmp.Or(b.Cluster, b.Lock)
	switch {
	case version == b.Fixed && b.FixedLock != "":
		name = b.FixedLock
	case version == b.Broken && b.BrokenAs != "":
		version = b.BrokenAs
	}
	return name + "@" + version
}

// build are the arguments of picklock lock build for a version.
func (b bug) build(version string) []string {
	if b.Cluster != "" {
		return []string{"--cluster", b.at(version)}
	}
	return []string{b.at(version)}
}

// target are the flags that say what is run for a version.
func (b bug) target(version string) []string {
	out := []string{"--lock", b.at(version)}
	if b.Cluster != "" {
		out = []string{"--lock", b.Lock, "--cluster", b.at(version)}
	}
	for _, name := range slices.Sorted(maps.Keys(b.Options)) {
		out = append(out, "--lock-option", name+"="+b.Options[name])
	}
	return out
}

// choose is the bugs of these ids, in the file's order; all if there are none.
func (all *bugs) choose(ids []string) ([]bug, error) {
	var out []bug
	var known []string
	for _, b := range all.Bugs {
		known = append(known, b.ID)
		if len(ids) == 0 || slices.Contains(ids, b.ID) {
			out = append(out, b)
		}
	}
	for _, id := range ids {
		if !slices.Contains(known, id) {
			return nil, suggest.Unknown("bug", id, known)
		}
	}
	return out, nil
}
