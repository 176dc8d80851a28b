package results

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/history"
)

// Root is the folder under which runs are kept unless the user names another.
const Root = "picklock-results"

// The files of a run directory. They are public: other tools read them.
const (
	RunFile      = "run.json"
	HistoryFile  = "history.jsonl"
	RegisterFile = "register.jsonl"
	VerdictFile  = "verdict.json"
	ReportFile   = "report.html"
	JUnitFile    = "junit.xml"
	NodesFolder  = "nodes"

	dataFolder = "data" // of the nodes; gone at the run's end
)

// Dir is one run's directory. Nothing is ever written outside of it, whatever
// links that another program placed inside.
type Dir struct {
	path string
	// What Discard needs: whether the folder was made for the run, and where root's link
	// "latest" led before.
	made   bool
	root   string // "" where no link was set
	latest string
}

// Create makes a new run directory under root (Root if empty), named after the
// run's start, lock and faults, and points root's link "latest" at it.
func Create(root string, run Run) (*Dir, error) {
	if root == "" {
		root = Root
	}
	if err := os.MkdirAll(root, 0o755); err != nil {
		return nil, fmt.Errorf("create results folder: %w (name another with --out)", err)
	}
	base := dirName(run)
	for n := 1; n < 1000; n++ {
		name := base
		if n > 1 {
			name += "-" + strconv.Itoa(n)
		}
		err := os.Mkdir(filepath.Join(root, name), 0o755)
		if errors.Is(err, fs.ErrExist) {
			continue // another run of the same second
		}
		if err != nil {
			return nil, fmt.Errorf("create run directory: %w (name another with --out)", err)
		}
		d := &Dir{path: filepath.Join(root, name), made: true, root: root}
		d.latest, _ = os.Readlink(filepath.Join(root, "latest")) // "" for the first run
		return d, link(root, name)
	}
	return nil, fmt.Errorf("create run directory: %s has a thousand runs named %s: remove some", root, base)
}

// CreateAt makes path itself the run directory. A directory that holds a run
// already is refused, so that no evidence is overwritten.
func CreateAt(path string) (*Dir, error) {
	_, err := os.Lstat(path)
	made := errors.Is(err, fs.ErrNotExist)
	if err := os.MkdirAll(path, 0o755); err != nil {
		return nil, fmt.Errorf("create run directory: %w (name another with --out)", err)
	}
	for _, f := range []string{RunFile, HistoryFile} {
		if _, err := os.Lstat(filepath.Join(path, f)); err == nil {
			return nil, fmt.Errorf("create run directory: %s holds a run already (%s): name another with --out or remove it", path, f)
		}
	}
	return &Dir{path: path, made: made}, nil
}

// Evidence says whether a run that came to no verdict left something to look at: an
// event, or what a node said.
func (d *Dir) Evidence() bool {
	logs, _ := filepath.Glob(d.File(NodesFolder + "/*")) // no special characters
	for _, path := range append(logs, d.History()) {
		if fi, err := os.Stat(path); err == nil && fi.Mode().IsRegular() && fi.Size() > 0 {
			return true
		}
	}
	return false
}

// Discard removes what the run wrote, and its folder if that was made for it.
func (d *Dir) Discard() error {
	if d.root != "" {
		if now, err := os.Readlink(filepath.Join(d.root, "latest")); err == nil && now == filepath.Base(d.path) {
			err = os.Remove(filepath.Join(d.root, "latest"))
			if err == nil && d.latest != "" {
				err = link(d.root, d.latest)
			}
			if err != nil {
				return fmt.Errorf("remove the run that did not start: %w", err)
			}
		}
	}
	var errs []error
	for _, name := range []string{RunFile, HistoryFile, RegisterFile, NodesFolder, dataFolder} {
		errs = append(errs, os.RemoveAll(d.File(name)))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("remove the run that did not start: %w", err)
	}
	if d.made {
		_ = os.Remove(d.path) // stays if another program put something there
	}
	if d.root != "" {
		_ = os.Remove(d.root) // stays if there are other runs
	}
	return nil
}

// link replaces root's "latest" in one step: a reader sees the old run or the
// new one. File systems without links go without.
func link(root, name string) error {
	latest := filepath.Join(root, "latest")
	if fi, err := os.Lstat(latest); err == nil && fi.Mode()&fs.ModeSymlink == 0 {
		return fmt.Errorf("link latest run: %s is not a link: move it away", latest)
	}
	tmp := filepath.Join(root, fmt.Sprintf(".latest-%d-%s", os.Getpid(), name))
	if err := os.Symlink(name, tmp); err != nil {
		if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EPERM) {
			return nil
		}
		return fmt.Errorf("link latest run: %w", err)
	}
	if err := os.Rename(tmp, latest); err != nil {
		_ = os.Remove(tmp)
		return fmt.Errorf("link latest run: %w", err)
	}
	return nil
}

func dirName(run Run) string {
	faults := make([]string, 0, len(run.Faults))
	for _, f := range run.Faults {
		faults = append(faults, safeName(f, 40))
	}
	what := strings.Join(faults, "+")
	if what == "" {
		what = "none"
	}
	return run.Started.Format("20060102-150405") + "-" + safeName(run.Lock, 40) + "-" + safeName(what, 80)
}

// safeName makes s one path element of at most n bytes that needs no quoting
// and is neither hidden nor special.
func safeName(s string, n int) string {
	var b strings.Builder
	dash := false
	for _, r := range s {
		ok := r < utf8.RuneSelf && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._+-", r))
		if !ok {
			if !dash {
				b.WriteByte('-')
			}
			dash = true
			continue
		}
		dash = r == '-'
		b.WriteRune(r)
	}
	out := b.String()
	if len(out) > n {
		out = out[:n]
	}
	out = strings.Trim(out, ".-+")
	if out == "" {
		return "x"
	}
	return out
}

// Path is the directory itself.
func (d *Dir) Path() string { return d.path }

// File is the path of one of the run's files.
func (d *Dir) File(name string) string { return filepath.Join(d.path, name) }

// History is where the run's events go.
func (d *Dir) History() string { return d.File(HistoryFile) }

// Register is where the register's log goes.
func (d *Dir) Register() string { return d.File(RegisterFile) }

// Report is where the report goes.
func (d *Dir) Report() string { return d.File(ReportFile) }

// NodeLog is where a node's output goes; it makes the folder.
func (d *Dir) NodeLog(node string) (string, error) {
	dir := d.File(NodesFolder)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("create folder for node logs: %w", err)
	}
	return filepath.Join(dir, safeName(node, 100)+".log"), nil
}

// write replaces one file as a whole: a reader, or a crash, sees the old
// content or the new.
func (d *Dir) write(name string, content []byte) error {
	root, err := os.OpenRoot(d.path)
	if err != nil {
		return fmt.Errorf("write %s: %w", d.File(name), err)
	}
	defer root.Close()
	tmp := fmt.Sprintf(".%s.%d", name, os.Getpid())
	if err := root.WriteFile(tmp, content, 0o644); err != nil {
		_ = root.Remove(tmp)
		return fmt.Errorf("write %s: %w", d.File(name), err)
	}
	if err := root.Rename(tmp, name); err != nil {
		_ = root.Remove(tmp)
		return fmt.Errorf("write %s: %w", d.File(name), err)
	}
	return nil
}

func (d *Dir) writeJSON(name string, v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("write %s: %w", d.File(name), err)
	}
	return d.write(name, b.Bytes())
}

// WriteRun writes run.json.
func (d *Dir) WriteRun(run Run) error { return d.writeJSON(RunFile, run) }

// WriteVerdict writes verdict.json: the verdict, and its root causes.
func (d *Dir) WriteVerdict(run Run, v checker.Verdict) error {
	// Lists and maps are part of the format, also where they are empty.
	if v.Anomalies == nil {
		v.Anomalies = []checker.Anomaly{}
	}
	if v.Properties == nil {
		v.Properties = map[string]checker.Property{}
	}
	if v.Stats.Faults == nil {
		v.Stats.Faults = map[string]checker.FaultCount{}
	}
	return d.writeJSON(VerdictFile, struct {
		checker.Verdict
		RootCauses []RootCause `json:"root_causes"`
	}{v, RootCauses(run, v)})
}

// WriteStored is WriteAll with the events and effects that the directory holds, or an
// excerpt of them where they are very many.
func WriteStored(d *Dir, run Run, verdict checker.Verdict) error {
	x, err := readExcerpt(d, run, verdict, maxExcerpt)
	if err != nil {
		return fmt.Errorf("write %s: %w", d.Report(), err)
	}
	return WriteAll(d, run, verdict, x.events, x.effects)
}

// WriteAll writes all that is drawn from a run: verdict.json, report.html and
// junit.xml.
func WriteAll(d *Dir, run Run, verdict checker.Verdict, events []history.Event, effects []history.Effect) error {
	if err := d.WriteVerdict(run, verdict); err != nil {
		return err
	}
	var b bytes.Buffer
	if err := Report(&b, run, verdict, events, effects); err != nil {
		return fmt.Errorf("write %s: %w", d.Report(), err)
	}
	if err := d.write(ReportFile, b.Bytes()); err != nil {
		return err
	}
	b.Reset()
	if err := JUnit(&b, run, verdict); err != nil {
		return fmt.Errorf("write %s: %w", d.File(JUnitFile), err)
	}
	return d.write(JUnitFile, b.Bytes())
}

// Loaded is a run read back from its directory.
type Loaded struct {
	Dir     *Dir
	Run     Run
	Verdict *checker.Verdict // nil where none was drawn yet
}

// ErrNoRun marks a path that is no run directory.
var ErrNoRun = errors.New("no run directory")

// Open reads a run directory, or the link "latest" to one. The error wraps ErrNoRun
// where path is none.
func Open(path string) (*Loaded, error) {
	fi, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("open run: %w: %w: name a run directory, e.g. %s/latest", ErrNoRun, err, Root)
	}
	if !fi.IsDir() {
		return nil, fmt.Errorf("open run: %w: %s is a file: name the directory it is in", ErrNoRun, path)
	}
	// A link to the run may move to another one while this one is written to.
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return nil, fmt.Errorf("open run: %w", err)
	}
	l := &Loaded{Dir: &Dir{path: path}}
	if err := readJSON(l.Dir.File(RunFile), &l.Run); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("open run: %w: %s has no %s: name a run directory, e.g. %s/latest", ErrNoRun, path, RunFile, Root)
		}
		return nil, fmt.Errorf("open run: %w: restore it, or run again", err)
	}
	if _, err := os.Stat(l.Dir.History()); err != nil {
		return nil, fmt.Errorf("open run: %s has no %s: the run ended before it was written, run it again", path, HistoryFile)
	}
	var v checker.Verdict
	err = readJSON(l.Dir.File(VerdictFile), &v)
	switch {
	case err == nil:
		l.Verdict = &v
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("open run: %w: remove it and check the run again with picklock check", err)
	}
	return l, nil
}

func readJSON(path string, v any) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
