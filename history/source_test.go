package history

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func zipped(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := io.WriteString(z, text); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestDecompress: what begins as a gzip file is read as what it holds, whatever it is
// called; what it cannot be is an error and not its end.
func TestDecompress(t *testing.T) {
	text := lines(t, granted+released)
	file := filepath.Join(t.TempDir(), "history.jsonl")
	for name, content := range map[string][]byte{"plain": []byte(text), "gzip": zipped(t, text), "two gzip files": append(zipped(t, text[:40]), zipped(t, text[40:])...)} {
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if events, err := ReadFile(file); err != nil || len(events) != 4 {
			t.Errorf("%s: %d events, %v", name, len(events), err)
		}
	}
	long := zipped(t, strings.Repeat(text, 50))
	for name, content := range map[string][]byte{"cut off": long[:len(long)-12], "something after it": append(zipped(t, text), "more"...), "cut off in its head": long[:5]} {
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Source{Path: file, Name: "h"}.Events()
		if err == nil || !strings.Contains(err.Error(), "decompress") || !strings.Contains(err.Error(), "h:") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestBomb: a gzip file that grows as no history does is given up, before it has filled
// anything.
func TestBomb(t *testing.T) {
	const size = 8 << 20
	r, err := Decompress(bytes.NewReader(zipped(t, strings.Repeat("\n", size))))
	if err != nil {
		t.Fatal(err)
	}
	if n, err := io.Copy(io.Discard, r); err != nil || n != size {
		t.Errorf("within what is free: %d bytes, %v", n, err)
	}
	if r, err = Decompress(bytes.NewReader(zipped(t, strings.Repeat("\n", size)))); err != nil {
		t.Fatal(err)
	}
	r.(*inflated).free = 1 << 20
	if n, err := io.Copy(io.Discard, r); !errors.Is(err, ErrBomb) || n > 2<<20 {
		t.Errorf("a bomb: %d bytes, %v", n, err)
	}
}
