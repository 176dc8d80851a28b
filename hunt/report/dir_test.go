package report

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/picklock/picklock/hunt"
)

// A hunt that was killed loses no more than the line that it was writing.
func TestKnown(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hunt")
	d, err := Open(path, "", "redis")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{"one", "two"} {
		d.Record(hunt.Ran{Schedule: s, Depth: 1, Broke: []string{"x"}})
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(path, RunsFile)
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, append(whole, []byte(`{"schedule":"thr`)...), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path, "", "redis"); err == nil || !strings.Contains(err.Error(), "--resume") {
		t.Errorf("opened again: %v", err)
	}
	if _, err := Open(path, path, "redis"); err == nil {
		t.Error("--out beside --resume")
	}
	if _, err := Open("", t.TempDir(), "redis"); err == nil || !strings.Contains(err.Error(), "no folder of a hunt") {
		t.Errorf("resumed what is none: %v", err)
	}
	for range 2 {
		if d, err = Open("", path, "redis"); err != nil {
			t.Fatal(err)
		}
		known, err := d.Known()
		if err != nil || len(known) < 2 || known[1].Schedule != "two" || known[1].Broke[0] != "x" {
			t.Fatalf("%+v, %v", known, err)
		}
		d.Record(hunt.Ran{Schedule: "three"})
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if b, _ := os.ReadFile(file); bytes.Count(b, []byte("\n")) != 4 || bytes.Contains(b, []byte("thr{")) {
		t.Errorf("the file:\n%s", b)
	}
	if err := os.WriteFile(file, []byte("{}\nnot\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	d, err = Open("", path, "redis")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if _, err := d.Known(); err == nil || !strings.Contains(err.Error(), RunsFile+":2") {
		t.Errorf("a line that is none: %v", err)
	}
}

// What was found is there for a hunt that goes on: one after the other while it searched, and in the end as it was finished.
func TestFound(t *testing.T) {
	d, err := Open(filepath.Join(t.TempDir(), "hunt"), "", "redis")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	find := func(name string, hits int) hunt.Find {
		return hunt.Find{Counterexample: &hunt.Counterexample{Signature: hunt.Signature{Anomaly: name}, Search: hunt.Rate{Hits: hits, Runs: 4}}, Trail: []string{"larger"}}
	}
	found := func(want ...string) {
		t.Helper()
		finds, err := d.Found()
		var got []string
		for _, f := range finds {
			got = append(got, f.Counterexample.Anomaly)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%v, %v, want %v", got, err, want)
		}
	}
	found()
	d.KeepFound(false, find("one", 1))
	d.KeepFound(false, find("two", 2))
	found("one", "two")
	file := filepath.Join(d.Path(), FoundFile)
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString(`{"counterexample":{"anom`)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	found("one", "two") // the half line of a hunt that was killed
	d.KeepFound(false, find("three", 3))
	found("one", "two", "three")
	d.KeepFound(true, find("four", 4))
	found("four")
	d.KeepFound(false, find("five", 5))
	if _, err := d.Found(); err == nil || !strings.Contains(err.Error(), FoundFile+":2") || !strings.Contains(err.Error(), "5 of 4") {
		t.Errorf("a rate that cannot be: %v", err)
	}
	for _, text := range []string{"{}\n", `{"counterexample":{"variants":[null]}}` + "\n"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Found(); err == nil || !strings.Contains(err.Error(), "null") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// A hunt that goes on leaves no scenarios of counterexamples that have another name now.
func TestScenariosAreReplaced(t *testing.T) {
	dir := t.TempDir()
	write := func(name string) {
		t.Helper()
		r := &hunt.Result{Lock: "redis", Fencing: "none", Counterexamples: []*hunt.Counterexample{{Name: name, Schedule: schedule, Signature: hunt.Signature{Anomaly: "deadlock"}}}}
		if err := WriteTo(dir, r); err != nil {
			t.Fatal(err)
		}
	}
	write("counterexample-1-old")
	own := filepath.Join(dir, CounterexamplesFolder, "my-own.yaml")
	if err := os.WriteFile(own, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	write("counterexample-1-new")
	files, err := filepath.Glob(filepath.Join(dir, CounterexamplesFolder, "*"))
	if err != nil || !slices.Equal(files, []string{filepath.Join(dir, CounterexamplesFolder, "counterexample-1-new.yaml"), own}) {
		t.Errorf("%v, %v", files, err)
	}
}
