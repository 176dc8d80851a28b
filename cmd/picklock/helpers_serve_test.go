package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// served is what a helper is asked in a client's process, and what its answer has to be. The
// lock is FakeLock of testdata/helpers.
var served = []struct {
	ask  string
	want string // a regular expression; of several lines, where events come first
}{
	{
		`"op":"open","servers":["10.0.0.1:7"],"client":"c1","ttl_ms":1500,"directory":"/d","options":{"x":"y","a":"b"}`,
		`{"confirms":false,"id":1,"kind":"mutex","lease":true,"notifies":true,"ok":true,"renew":true,"tokens":true,"watchdog":false}`,
	},
	{`"op":"acquire","key":"k","timeout_ms":700`, `{"id":2,"lease_ms":1250,"ok":true,"since_ns":42,"token":7}`},
	{`"op":"renew","key":"k"`, `{"id":3,"lease_ms":1250,"ok":true,"since_ns":\d{5,}}`},
	{`"op":"release","key":"k"`, `{"id":4,"ok":true}`},
	{`"op":"acquire","key":"no since"`, `{"id":5,"lease_ms":1250,"ok":true,"since_ns":\d{5,},"token":7}`},
	{`"op":"acquire","key":"busy","timeout_ms":700`, `{"definite":true,"error":"timeout","id":6,"ok":false}`},
	{`"op":"acquire","key":"told","timeout_ms":700`, `{"definite":false,"error":".*10.0.0.1:7 c1 1500 b /d 700.*","id":7,"ok":false}`},
	{`"op":"release","key":"told"`, `{"definite":false,"error":".*told.*","id":8,"ok":false}`},
	{`"op":"acquire","key":"definite"`, `{"definite":true,"error":".*definite.*","id":9,"ok":false}`},
	{`"op":"acquire","key":"unmade"`, `{"definite":true,"error":".*","id":10,"ok":false}`},
	{
		`"op":"acquire","key":"events"`,
		`{"event":"renewed","key":"events","lease_ms":1000,"since_ns":43}` + "\n" +
			`{"event":"lost","key":"events"}` + "\n" + `{"id":11,"lease_ms":1250,"ok":true,"since_ns":42,"token":7}`,
	},
	{`"op":"renew","key":"gone"`, `{"definite":true,"error":"not held","id":12,"ok":false}`},
	{`"op":"release","key":"gone"`, `{"definite":true,"error":"not held","id":13,"ok":false}`},
	{`"op":"acquire","key":"k","mode":"shared"`, `{"definite":true,"error":"unknown request","id":14,"ok":false}`},
	{`"op":"dance"`, `{"definite":true,"error":"unknown request","id":15,"ok":false}`},
}

// TestHelpersSpeak: in a client's process a helper answers for a lock what that does.
func TestHelpersSpeak(t *testing.T) {
	for name, r := range runners {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r.command(t) // says here what this machine lacks
			dir := r.copied(t)
			words := r.serve(t, dir)
			for _, end := range []string{"idle", "busy", "stdin"} {
				t.Run(end, func(t *testing.T) { converse(t, dir, words, end) })
			}
		})
	}
}

// converse asks a helper everything, and ends it: by close when it has nothing to do, by
// close when its lock waits, or by the end of its standard input.
func converse(t *testing.T, dir string, words []string, end string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Dir = dir
	var log bytes.Buffer
	cmd.Stderr = &log
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	answers := bufio.NewScanner(out)
	for i, s := range served {
		fmt.Fprintf(in, `{"id":%d,%s}`+"\n", i+1, s.ask)
		var lines []string
		for range 1 + strings.Count(s.want, "\n") {
			answers.Scan()
			lines = append(lines, sorted(answers.Bytes()))
		}
		if said := strings.Join(lines, "\n"); !regexp.MustCompile("^" + s.want + "$").MatchString(said) {
			t.Errorf("%s: it said %s, want %s\n%s", s.ask, said, s.want, log.String())
		}
	}
	switch end {
	case "busy":
		fmt.Fprintln(in, `{"id":98,"op":"acquire","key":"forever"}`)
		fallthrough
	case "idle":
		fmt.Fprintln(in, `{"id":99,"op":"close"}`)
	case "stdin":
		in.Close()
	}
	began := time.Now()
	rest, _ := io.ReadAll(out)
	if err := cmd.Wait(); err != nil || len(rest) > 0 {
		t.Errorf("it ended with %v, and said at last %q\n%s", err, rest, log.String())
	}
	if took := time.Since(began); took > 10*time.Second { // a second, on a quiet machine
		t.Errorf("it took %v to end", took)
	}
	if !strings.Contains(log.String(), "a word of the lock") || (end != "busy") != strings.Contains(log.String(), "closed k\n") {
		t.Errorf("what the lock prints does not come to the log, or it was not closed:\n%s", log.String())
	}
}

// sorted is a line of JSON with its fields in order and without spaces.
func sorted(line []byte) string {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(line, &fields); err != nil {
		return string(line)
	}
	text, err := json.Marshal(fields)
	if err != nil {
		return string(line)
	}
	return string(text)
}

// serve is the command that picklock would start for a client of the fake lock.
func (r runner) serve(t *testing.T, dir string) []string {
	t.Helper()
	copyFile(t, filepath.Join("testdata/helpers", r.fake), filepath.Join(dir, r.fake))
	switch r.folder {
	case "pytest":
		return []string{pytest(t), "picklock_pytest.py", "--serve", "fake_lock:FakeLock", "fake_lock.py"}
	case "node-test":
		return []string{"node", "picklock.mjs", "--serve", "file://" + filepath.Join(dir, r.fake) + "#fake"}
	}
	compile := exec.CommandContext(t.Context(), "java", "-m", "jdk.compiler/com.sun.tools.javac.Main", "-cp", junitJar, "Picklock.java", r.fake)
	compile.Dir = dir
	if out, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", compile, err, out)
	}
	return []string{"java", "-XX:TieredStopAtLevel=1", "-cp", ".", "Picklock", "FakeLock"}
}
