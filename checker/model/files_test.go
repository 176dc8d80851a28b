package model

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/picklock/picklock/checker"
)

// porcupineDir is where the module's own test data are.
func porcupineDir(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/anishathalye/porcupine").Output()
	dir := strings.TrimSpace(string(out))
	if err != nil || dir == "" {
		t.Fatalf("where is Porcupine's module? %v", err)
	}
	return dir
}

// TestPorcupinesHistories: the verdicts that Porcupine's own tests expect of its
// own test data, which are read from the module cache.
func TestPorcupinesHistories(t *testing.T) {
	dir := porcupineDir(t)
	src, err := os.ReadFile(filepath.Join(dir, "porcupine_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	logs, bad := 0, 0
	for _, m := range regexp.MustCompile(`(?s)func TestEtcdJepsen\d+\(t \*testing\.T\) \{\s*checkJepsen\(t, (\d+), (true|false)\)`).FindAllStringSubmatch(string(src), -1) {
		n, _ := strconv.Atoi(m[1])
		if testing.Short() && n%10 != 3 {
			continue
		}
		name := filepath.Join(dir, "test_data", "jepsen", "etcd_"+strings.Repeat("0", 3-len(strconv.Itoa(n)))+strconv.Itoa(n)+".log")
		want := checker.True
		if m[2] == "false" {
			want = checker.False
			bad++
		}
		v := checkFile(t, name)
		if v.Valid != want {
			t.Errorf("%s: %v (%s), want %v", filepath.Base(name), v.Valid, v.Why, want)
		}
		logs++
	}
	if !testing.Short() && (logs != 102 || bad == 0 || bad == logs) {
		t.Errorf("%d etcd logs, %d of them bad: want 102 of both kinds", logs, bad)
	}
	kv, err := filepath.Glob(filepath.Join(dir, "test_data", "kv", "*.txt"))
	if err != nil || len(kv) != 6 {
		t.Fatalf("%d KV histories, want 6: %v", len(kv), err)
	}
	for _, name := range kv {
		if testing.Short() && !strings.Contains(name, "c01") {
			continue
		}
		want := checker.True
		if strings.HasSuffix(name, "-bad.txt") {
			want = checker.False
		}
		if v := checkFile(t, name); v.Valid != want {
			t.Errorf("%s: %v (%s), want %v", filepath.Base(name), v.Valid, v.Why, want)
		}
	}
}

func checkFile(t *testing.T, name string) checker.Verdict {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	start := time.Now()
	h, err := Read(f, name)
	if err != nil {
		t.Fatal(err)
	}
	m, err := Recognise(h)
	if err != nil {
		t.Fatal(err)
	}
	v, err := Check(context.Background(), h, m, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if d := time.Since(start); d > 100*time.Millisecond {
		t.Logf("%s: %v, %s", filepath.Base(name), d.Round(time.Millisecond), v.Properties[Linearizable].Why)
	}
	return v
}
