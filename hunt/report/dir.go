// Package report is what people and programs read of a hunt: its folder, hunt.json, the
// scenarios that were found, the summary and hunt.html. It knows what a hunt found, not
// how.
package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/picklock/picklock/hunt"
	"github.com/picklock/picklock/results"
	"github.com/picklock/picklock/scenarios"
)

// The files of a hunt's folder. They are public: other tools read them.
const (
	ResultFile            = "hunt.json"
	CommandFile           = "command.json"    // the command line, which a hunt that goes on takes up
	RunsFile              = "runs.jsonl"      // every schedule that was run, as it was run
	FoundFile             = "found.jsonl"     // each counterexample as it was found, for a hunt that goes on; in the end as it was finished
	CounterexamplesFolder = "counterexamples" // a scenario for each counterexample
	TestbedsFolder        = "testbeds"        // the servers' logs
	PageFile              = "hunt.html"
	JUnitFile             = "hunt-junit.xml"
)

// Dir is a hunt's folder.
type Dir struct {
	path     string
	testbeds string
	made     bool // for this hunt: it does not go on with another
	kept     bool

	mu     sync.Mutex
	played *os.File
	err    error
}

// Open makes a folder for a hunt at out ("": a new one below results.Root), or opens that
// of one which goes on.
func Open(out, resume, lock string) (*Dir, error) {
	d := &Dir{path: out, made: resume == ""}
	switch {
	case resume != "" && out != "":
		return nil, errors.New("--resume names the folder already: leave out --out")
	case resume != "":
		d.path = resume
		if _, err := os.Stat(filepath.Join(resume, RunsFile)); err != nil {
			return nil, fmt.Errorf("--resume %s is no folder of a hunt: %w", resume, err)
		}
	case out == "":
		name := strings.Map(func(r rune) rune {
			if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' {
				return r
			}
			return '-'
		}, lock)
		d.path = filepath.Join(results.Root, time.Now().Format("20060102-150405")+"-hunt-"+name[:min(len(name), 40)])
	}
	if resume == "" {
		if entries, err := os.ReadDir(d.path); err == nil && len(entries) > 0 {
			return nil, fmt.Errorf("%s is not empty: name another folder with --out, or go on with --resume", d.path)
		}
	}
	if err := os.MkdirAll(d.path, 0o755); err != nil {
		return nil, fmt.Errorf("make the folder of the hunt: %w (name another with --out)", err)
	}
	d.testbeds = filepath.Join(d.path, TestbedsFolder)
	err := os.Mkdir(d.testbeds, 0o755)
	for n := 2; errors.Is(err, fs.ErrExist) && resume != ""; n++ {
		d.testbeds = filepath.Join(d.path, fmt.Sprintf("%s-%d", TestbedsFolder, n))
		err = os.Mkdir(d.testbeds, 0o755)
	}
	if err != nil {
		return nil, fmt.Errorf("make the folder of the servers' logs: %w", err)
	}
	if d.played, err = os.OpenFile(filepath.Join(d.path, RunsFile), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o644); err != nil {
		return nil, fmt.Errorf("keep what was run: %w", err)
	}
	return d, nil
}

// Path is the folder.
func (d *Dir) Path() string { return d.path }

// Testbeds is the folder of the servers' logs: one of its own each time that a hunt goes on.
func (d *Dir) Testbeds() string { return d.testbeds }

// Begin keeps the command line for a hunt that goes on.
func (d *Dir) Begin(command []string) error {
	if !d.made {
		return nil
	}
	b, err := json.Marshal(command)
	if err == nil {
		err = os.WriteFile(filepath.Join(d.path, CommandFile), append(b, '\n'), 0o644)
	}
	if err != nil {
		return fmt.Errorf("keep the command line of the hunt: %w", err)
	}
	return nil
}

// Command is the command line that the hunt in a folder was begun with.
func Command(folder string) ([]string, error) {
	b, err := os.ReadFile(filepath.Join(folder, CommandFile))
	if err != nil {
		return nil, fmt.Errorf("--resume %s is no folder of a hunt: %w", folder, err)
	}
	var out []string
	if err := json.Unmarshal(b, &out); err != nil {
		return nil, fmt.Errorf("--resume %s: read %s: %w", folder, CommandFile, err)
	}
	return out, nil
}

// Known reads what was run before. A last line that is half written is that of a hunt
// that was killed: its schedule is run again.
func (d *Dir) Known() ([]hunt.Ran, error) {
	b, err := os.ReadFile(filepath.Join(d.path, RunsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read what was run: %w", err)
	}
	var out []hunt.Ran
	for n, line := range bytes.SplitAfter(b, []byte("\n")) {
		if !bytes.HasSuffix(line, []byte("\n")) {
			if len(line) > 0 {
				if err := d.played.Truncate(int64(len(b) - len(line))); err != nil {
					return nil, fmt.Errorf("cut off the half line of %s: %w", RunsFile, err)
				}
			}
			break
		}
		var p hunt.Ran
		if err := json.Unmarshal(line, &p); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", filepath.Join(d.path, RunsFile), n+1, err)
		}
		out = append(out, p)
	}
	return out, nil
}

// Record keeps a run, at once.
func (d *Dir) Record(p hunt.Ran) {
	line, err := json.Marshal(p)
	d.mu.Lock()
	defer d.mu.Unlock()
	if err == nil {
		_, err = d.played.Write(append(line, '\n'))
	}
	d.err = errors.Join(d.err, err)
}

// Found reads the counterexamples that KeepFound kept. A last line that is half written is that of a hunt that was
// killed: its runs tell of it.
func (d *Dir) Found() ([]hunt.Find, error) {
	path := filepath.Join(d.path, FoundFile)
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read what was found: %w", err)
	}
	var out []hunt.Find
	lines := bytes.SplitAfter(b, []byte("\n"))
	if half := len(lines[len(lines)-1]); half > 0 {
		if err := os.Truncate(path, int64(len(b)-half)); err != nil {
			return nil, fmt.Errorf("cut off the half line of %s: %w", FoundFile, err)
		}
	}
	for n, line := range lines[:len(lines)-1] {
		var f hunt.Find
		err := json.Unmarshal(line, &f)
		if err == nil {
			err = checkFound(f.Counterexample)
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, n+1, err)
		}
		out = append(out, f)
	}
	return out, nil
}

// KeepFound keeps counterexamples for a hunt that goes on: one as it is found, or in the end all of them.
func (d *Dir) KeepFound(all bool, finds ...hunt.Find) {
	mode := os.O_APPEND
	if all {
		mode = os.O_TRUNC
	}
	var b bytes.Buffer
	var err error
	for _, f := range finds {
		err = errors.Join(err, json.NewEncoder(&b).Encode(f))
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	file, ferr := os.OpenFile(filepath.Join(d.path, FoundFile), os.O_CREATE|os.O_WRONLY|mode, 0o644)
	if err = errors.Join(err, ferr); err == nil {
		_, err = file.Write(b.Bytes())
		err = errors.Join(err, file.Close())
	}
	d.err = errors.Join(d.err, err)
}

// Write writes the results. A coverage that does not add up is an error of picklock: nothing is
// written then.
func (d *Dir) Write(r *hunt.Result) error {
	d.mu.Lock()
	err := d.err
	d.mu.Unlock()
	if err != nil {
		return fmt.Errorf("keep what was run: %w", err)
	}
	if err := r.CheckCoverage(); err != nil {
		return err
	}
	r.Verdict = r.Summary()
	if err := d.removeScenarios(); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(d.path, CounterexamplesFolder), 0o755); err != nil {
		return fmt.Errorf("make the folder of the counterexamples: %w", err)
	}
	for _, w := range every(r) {
		file := filepath.Join(d.path, d.CounterexampleFile(w))
		text, err := scenarios.WrittenTo(filepath.Dir(file), []byte(w.Schedule))
		if err == nil {
			err = os.WriteFile(file, text, 0o644)
		}
		if err != nil {
			return fmt.Errorf("write a counterexample's scenario: %w", err)
		}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetIndent("", "  ")
	if err := enc.Encode(r); err != nil {
		return fmt.Errorf("write %s: %w", ResultFile, err)
	}
	if err := os.WriteFile(filepath.Join(d.path, ResultFile), b.Bytes(), 0o644); err != nil {
		return fmt.Errorf("write %s: %w", ResultFile, err)
	}
	for name, write := range map[string]func(io.Writer, *hunt.Result, string) error{PageFile: HTML, JUnitFile: JUnit} {
		var b bytes.Buffer
		err := write(&b, r, d.path)
		if err == nil {
			err = os.WriteFile(filepath.Join(d.path, name), b.Bytes(), 0o644)
		}
		if err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
	}
	return nil
}

// removeScenarios removes the counterexamples' files of the results that are there already: those of a hunt that goes on
// have other names.
func (d *Dir) removeScenarios() error {
	b, err := os.ReadFile(filepath.Join(d.path, ResultFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var former hunt.Result
	if err == nil {
		err = json.Unmarshal(b, &former)
	}
	if err != nil {
		return fmt.Errorf("read the results that are there: %w (move %s away)", err, filepath.Join(d.path, ResultFile))
	}
	for _, w := range every(&former) {
		if w == nil || filepath.Base(w.Name) != w.Name {
			continue
		}
		if err := os.Remove(filepath.Join(d.path, d.CounterexampleFile(w))); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove a counterexample's scenario that is replaced: %w", err)
		}
	}
	return nil
}

// every lists the counterexamples and their variants.
func every(r *hunt.Result) []*hunt.Counterexample {
	var out []*hunt.Counterexample
	for _, w := range r.Counterexamples {
		out = append(append(out, w), w.Variants...)
	}
	return out
}

// CounterexampleFile is where a counterexample's scenario is, within the folder.
func (d *Dir) CounterexampleFile(w *hunt.Counterexample) string {
	return filepath.Join(CounterexamplesFolder, w.Name+".yaml")
}

// Keep lets the folder stay though nothing was run: what the testbeds said may say why.
func (d *Dir) Keep() { d.kept = true }

// Close closes the files. A folder that was made for a hunt in which nothing was run
// goes, unless it is to be kept.
func (d *Dir) Close() error {
	at, err := d.played.Stat()
	if err = errors.Join(err, d.played.Close()); err != nil || at.Size() > 0 || !d.made || d.kept {
		return err
	}
	if _, err := os.Stat(filepath.Join(d.path, ResultFile)); err == nil {
		return nil
	}
	return os.RemoveAll(d.path)
}

// WriteTo writes the results of a hunt that other machines run into a folder.
func WriteTo(folder string, r *hunt.Result) error { return (&Dir{path: folder}).Write(r) }
