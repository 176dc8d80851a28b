//go:build linux

package harness_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/results"
)

// cutShort stands for the exit code of a run that was interrupted and judged.
const cutShort = -2

// judgedShort fails the test unless the run's results say that it was cut short.
func (u *underway) judgedShort(t *testing.T, code int) {
	t.Helper()
	if code != 1 && code != 2 {
		t.Errorf("exit %d, want a verdict that does not say that it held", code)
	}
	l, err := results.Open(u.dir)
	if err != nil {
		t.Fatal(err)
	}
	if l.Run.CutShort <= results.Unfinished || l.Run.CutShort >= l.Run.Limit {
		t.Errorf("run.json says that it lasted %v", l.Run.CutShort)
	}
	if v := l.Verdict; v == nil || v.Valid == checker.True || v.Valid == checker.Unknown && !strings.Contains(v.Why, "cut short after") {
		t.Errorf("verdict.json: %+v", v)
	}
	for _, name := range []string{results.ReportFile, results.JUnitFile} {
		if text, err := os.ReadFile(l.Dir.File(name)); err != nil || !bytes.Contains(text, []byte("cut short after")) {
			t.Errorf("%s does not say it: %v", name, err)
		}
	}
	// Every fault that took effect was healed before it was judged.
	on := 0
	events, err := history.ReadFile(l.Dir.History())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		switch {
		case e.Process == history.Nemesis && e.Phase == history.Begin:
			on++
		case e.Process == history.Nemesis && e.Phase == history.End:
			on--
		}
	}
	if on != 0 {
		t.Errorf("%d faults were not healed", on)
	}
}

// interruptAt starts a command, interrupts it when a line of its output holds a text, and
// returns that output when the command has ended.
func interruptAt(t *testing.T, cmd *exec.Cmd, output func() (io.ReadCloser, error), at string) string {
	t.Helper()
	r, err := output()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	for lines := bufio.NewScanner(r); lines.Scan(); {
		fmt.Fprintln(&said, lines.Text())
		if strings.Contains(lines.Text(), at) {
			if err := cmd.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
		}
	}
	_ = cmd.Wait() // the exit code says it
	return said.String()
}

// TestInterruptedBeforeItBegan leaves no folder: there is nothing in it to look at.
func TestInterruptedBeforeItBegan(t *testing.T) {
	t.Parallel()
	need(t, "redis")
	dir := filepath.Join(t.TempDir(), "run")
	cmd := exec.Command(program, "run", "--lock", "redis", "--out", dir)
	said := interruptAt(t, cmd, cmd.StderrPipe, "start the cluster")
	if code := cmd.ProcessState.ExitCode(); code != 255 || !strings.Contains(said, "there is nothing to judge") {
		t.Errorf("exit %d:\n%s", code, said)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s is left: %v", dir, err)
	}
}

// TestInterruptedWhileItOpens: a lock's program that does not answer at once is named, so that its user can stop waiting for it.
func TestInterruptedWhileItOpens(t *testing.T) {
	t.Parallel()
	need(t, "redis")
	dir := filepath.Join(t.TempDir(), "run")
	cmd := exec.Command(program, "run", "--lock", "exec:sleep 600", "--cluster", "redis", "--clients", "2", "--out", dir)
	said := interruptAt(t, cmd, cmd.StderrPipe, "wait for c1 and c2, which open the lock, for at most 45s more")
	if code := cmd.ProcessState.ExitCode(); code != 255 || !strings.Contains(said, "there is nothing to judge") {
		t.Errorf("exit %d:\n%s", code, said)
	}
}

// TestInterruptedRuns keeps what is finished and leaves out the rest.
func TestInterruptedRuns(t *testing.T) {
	t.Parallel()
	need(t, "redis")
	dir := filepath.Join(t.TempDir(), "runs")
	cmd := exec.Command(program, "run", "--lock", "redis", "--faults", "pause:holder", "--duration", "3s", "--count", "9", "--seed", "1", "--out", dir)
	said := interruptAt(t, cmd, cmd.StdoutPipe, "1/9")
	if code := cmd.ProcessState.ExitCode(); code != 1 && code != 2 || !strings.Contains(said, "of 9 runs") {
		t.Errorf("exit %d:\n%s", code, said)
	}
	text, err := os.ReadFile(filepath.Join(dir, results.RunsFile))
	var all results.Runs
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil || len(all.Runs) < 1 || len(all.Runs) > 2 || all.Asked != 9 {
		t.Errorf("%v: %+v", err, all)
	}
}

// TestInterruptedScenario is inconclusive, whatever was found by then.
func TestInterruptedScenario(t *testing.T) {
	t.Parallel()
	need(t, "redis")
	dir := filepath.Join(t.TempDir(), "run")
	cmd := exec.Command(program, "scenario", "run", "pause-holder", "--lock", "redis", "--out", dir)
	r, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(r); lines.Scan(); {
		if strings.Contains(lines.Text(), " s  pause: A") { // B waits for the lease of A next; a second signal would not wait
			if err := cmd.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
		}
	}
	_ = cmd.Wait() // the exit code says it
	if code := cmd.ProcessState.ExitCode(); code != 2 || !strings.Contains(out.String(), "cut short after") {
		t.Errorf("exit %d:\n%s", code, &out)
	}
	c, err := results.ReadCell(filepath.Join(dir, results.CellFile))
	if err != nil || !c.CutShort || c.Met != checker.Unknown {
		t.Errorf("%s: %+v, %v", results.CellFile, c, err)
	}
}
