package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/picklock/picklock/harness/conform"
	"github.com/picklock/picklock/internal/testkit"
	"github.com/picklock/picklock/nemesis/clock"
)

// TestSkeletonsPassExecCheck: what init writes has nothing wrong in it, nor left out.
func TestSkeletonsPassExecCheck(t *testing.T) {
	testkit.NeedProgram(t, "redis-server", "redis-server")
	program, remove, err := testkit.Program()
	if err != nil {
		t.Fatal(err)
	}
	defer remove()
	tools := map[string][2]string{"go": {"go", "golang"}, "java": {"javac", "default-jdk-headless"}, "node": {"node", "nodejs"}, "python": {"python3", "python3"}}
	for lang, how := range languages {
		t.Run(lang, func(t *testing.T) {
			testkit.NeedProgram(t, tools[lang][0], tools[lang][1])
			dir := filepath.Join(t.TempDir(), "lock")
			if err := writeSkeleton(dir, lang); err != nil {
				t.Fatal(err)
			}
			if build := strings.Fields(strings.ReplaceAll(how.build, "{}", dir)); len(build) > 0 {
				if out, err := exec.CommandContext(t.Context(), build[0], build[1:]...).CombinedOutput(); err != nil {
					t.Fatalf("%q: %v\n%s", build, err, out)
				}
			}
			out, err := exec.CommandContext(t.Context(), program, "lock", "check", strings.ReplaceAll(how.run, "{}", dir), "--cluster", filepath.Join(dir, "compose.yml"), "--json").Output()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			var all checked
			if err := json.Unmarshal(out, &all); err != nil {
				t.Fatal(err)
			}
			clocks := clock.Supported()
			for _, r := range all.Checks {
				if r.Check == "watchdog" && r.Outcome == conform.NotTried {
					continue // it has none
				}
				if r.Outcome != conform.OK && (r.Check != "clock" || clocks == nil) {
					t.Errorf("%s: %s %s %v", r.Check, r.Outcome, r.Why, r.Problems)
				}
			}
			if len(all.Checks) < 20 {
				t.Errorf("only %d checks were made", len(all.Checks))
			}
		})
	}
}

// protocolWords are those of docs/reference/exec.md: the requests and events of its lines, and the
// first column of its tables.
var protocolWords = regexp.MustCompile("\"(?:op|event|mode)\":\"([a-z]+)\"|(?m:^\\| `([a-z_]+)` \\|)|\"(timeout_ms|ttl_ms|servers)\":")

// TestSkeletonsSpeakTheProtocol: what init writes has every word of the protocol in it, so
// so that a user who puts a lock in its place sees all that there is to report.
func TestSkeletonsSpeakTheProtocol(t *testing.T) {
	page, err := os.ReadFile("../../docs/reference/exec.md")
	if err != nil {
		t.Fatal(err)
	}
	words := map[string]*regexp.Regexp{}
	for _, m := range protocolWords.FindAllStringSubmatch(string(page), -1) {
		if word := m[2] + m[3]; word != "" {
			words[word] = regexp.MustCompile(`\b` + word + `\b`)
		}
	}
	for _, m := range protocolWords.FindAllStringSubmatch(string(page), -1) {
		if m[1] != "" { // a text in every language, so that a comment does not do
			words[m[1]] = regexp.MustCompile(`["']` + m[1] + `\\?["']`)
		}
	}
	for _, word := range []string{"open", "renew", "renewed", "lost", "shared", "tokens", "since_ns", "permits", "reentrant", "timeout_ms"} {
		if words[word] == nil {
			t.Errorf("docs/reference/exec.md does not show %q where this test looks", word)
		}
	}
	for lang := range languages {
		files, err := skeletonFiles(lang)
		if err != nil || len(files) < 2 {
			t.Fatalf("%s: %d files, %v", lang, len(files), err)
		}
		var all strings.Builder
		for _, text := range files {
			all.Write(text)
		}
		for word, form := range words {
			if !form.MatchString(all.String()) {
				t.Errorf("the skeleton in %s does not have the protocol's %q", lang, word)
			}
		}
	}
}
