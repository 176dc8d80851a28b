package compose

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The question in SQL is a startup packet and a query whose lengths are right, and
// nothing in it but text.
func TestSQLProbe(t *testing.T) {
	for _, query := range []string{"SELECT true", strings.Repeat("x", 122), strings.Repeat("x", 123), strings.Repeat("x", 300)} {
		p := Probe{SQL: query}
		if err := p.fill(); err != nil {
			t.Fatal(err)
		}
		for i := range len(p.Send) {
			if p.Send[i] >= 0x80 {
				t.Fatalf("%d letters: byte %d is %#x", len(query), i, p.Send[i])
			}
		}
		n := int(p.Send[2])<<8 | int(p.Send[3])
		startup, rest := p.Send[:n], p.Send[n:]
		if startup[4:8] != "\x00\x03\x00\x00" || !strings.HasSuffix(startup, "database\x00postgres\x00\x00") {
			t.Errorf("startup %q", startup)
		}
		if m := int(rest[3])<<8 | int(rest[4]); rest[0] != 'Q' || 1+m != len(rest) || strings.TrimRight(rest[5:], " \x00") != query {
			t.Errorf("query %q of length %d", rest, m)
		}
		// A row of one true value, and one of a false one.
		if want := regexp.MustCompile(p.Expect); !want.MatchString("T...D\x00\x00\x00\x0b\x00\x01\x00\x00\x00\x01tC") || want.MatchString("D\x00\x00\x00\x0b\x00\x01\x00\x00\x00\x01fC") {
			t.Errorf("expects %q", p.Expect)
		}
	}
	for want, p := range map[string]Probe{"either send or sql": {SQL: "a", Send: "b"}, "too long": {SQL: strings.Repeat("x", 2000)}} {
		if err := p.fill(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestAnsweredSQL: a no is known when the server is ready for the second time, at whatever byte what has come is cut off.
func TestAnsweredSQL(t *testing.T) {
	const login, no = "R\x00\x00\x00\x08\x00\x00\x00\x00S\x00\x00\x00\x08Z=1\x00Z\x00\x00\x00\x05I", "D\x00\x00\x00\x0b\x00\x01\x00\x00\x00\x01fC\x00\x00\x00\x0dSELECT 1\x00Z\x00\x00\x00\x05I"
	all := login + no
	for n := range len(all) {
		if answeredSQL([]byte(all[:n])) {
			t.Errorf("whole after %q", all[:n])
		}
	}
	if !answeredSQL([]byte(all)) || !answeredSQL([]byte(all+"N")) {
		t.Errorf("not whole after %q", all)
	}
	if answeredSQL([]byte("Z\x00\x00\x00\x00Z\x00\x00\x00\x00")) {
		t.Error("messages of no length are whole")
	}
}

// Programs off PATH are found where the file says, of the latest version.
func TestFindOffPath(t *testing.T) {
	dir := t.TempDir()
	for _, version := range []string{"9", "15", "16"} {
		bin := filepath.Join(dir, version, "bin")
		if err := os.MkdirAll(bin, 0o755); err != nil {
			t.Fatal(err)
		}
		if version != "16" { // a package that was removed leaves a folder
			if err := os.WriteFile(filepath.Join(bin, "picklock-test-server"), []byte("#!/bin/sh\n"), 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	l := Local{Path: []string{filepath.Join(dir, "*", "bin")}, Needs: []Need{{Program: "picklock-test-server", Package: "p"}}}
	if path, err := l.Find("picklock-test-server"); err != nil || path != filepath.Join(dir, "15", "bin", "picklock-test-server") {
		t.Errorf("found %s, %v", path, err)
	}
	if err := l.Missing(); err != nil {
		t.Error(err)
	}
	if path, err := l.Find("sh"); err != nil || strings.HasPrefix(path, dir) {
		t.Errorf("sh: %s, %v", path, err)
	}
	l.Path = nil
	if err := l.Missing(); err == nil || !strings.Contains(err.Error(), "apt-get install p") {
		t.Errorf("without the path: %v", err)
	}
}
