package model

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/history"
)

// TestCorpus: the files of testdata are called NAME.MODEL.VERDICT, and Porcupine says the same
// of each. Of nearly every name there is one of each verdict.
func TestCorpus(t *testing.T) {
	files, err := filepath.Glob("testdata/*")
	if err != nil || len(files) < 18 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		part := strings.Split(filepath.Base(file), ".")
		m, err := Named(part[1])
		if err != nil {
			t.Fatal(err)
		}
		h, err := readFile(file, m)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		want := map[string]checker.Validity{"valid": checker.True, "broken": checker.False}[part[2]]
		v, err := Check(t.Context(), h, m, Options{})
		if err != nil || v.Valid != want {
			t.Errorf("%s: %v (%s, %v)", file, v.Valid, v.Why, err)
		}
		ops := h.Ops
		if m.Name == "fenced-register" {
			ops = h.fenced()
		}
		objects := map[string][]*Op{}
		for _, o := range ops {
			objects[o.Key] = append(objects[o.Key], o)
		}
		legal, decided := true, true
		for _, list := range objects {
			l, d := search(t.Context(), m, list, secondTime)
			legal, decided = legal && l, decided && d
		}
		if !decided || legal != (want == checker.True) {
			t.Errorf("%s: Porcupine says %v, decided %v", file, legal, decided)
		}
	}
}

func readFile(file string, m *Model) (*History, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	h, err := Read(f, file)
	if !errors.Is(err, ErrOwnFormat) {
		return h, err
	}
	events, line, err := history.Source{Path: file}.EventsAt()
	if err != nil {
		return nil, err
	}
	return FromEvents(events, line, m, file)
}

// TestShown: people see a string without quotes where it cannot be taken for anything else.
func TestShown(t *testing.T) {
	for canonical, want := range map[string]string{
		`"c1.1.1"`: "c1.1.1", `"a"`: "a", `"7"`: `"7"`, "7": "7", `"nil"`: `"nil"`, "nil": "nil", `""`: `""`, `"a b"`: `"a b"`, `"-x"`: `"-x"`, `[1 "a"]`: `[1 "a"]`, ":a": ":a",
	} {
		if got := shown(canonical); got != want {
			t.Errorf("%s is shown as %s, want %s", canonical, got, want)
		}
	}
}
