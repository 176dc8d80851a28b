package results

import (
	"encoding/json"
	"encoding/xml"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/workloads"
)

var started = time.Date(2026, 11, 21, 14, 3, 9, 0, time.UTC)

func TestDirNames(t *testing.T) {
	for _, c := range []struct {
		run  Run
		want string
	}{
		{Run{Settings: workloads.Settings{Lock: "redis", Faults: []string{"pause:holder", "clock"}}}, "20261121-140309-redis-pause-holder+clock"},
		{Run{Settings: workloads.Settings{Lock: "etcd"}}, "20261121-140309-etcd-none"},
		{Run{Settings: workloads.Settings{Lock: "exec:python3 ../../my_lock.py"}}, "20261121-140309-exec-python3-..-..-my_lock.py-none"},
		{Run{Settings: workloads.Settings{Lock: "../../../etc/passwd", Faults: []string{"/"}}}, "20261121-140309-etc-passwd-x"},
		{Run{Settings: workloads.Settings{Lock: "\x00\n☃"}}, "20261121-140309-x-none"},
		{Run{Settings: workloads.Settings{Lock: strings.Repeat("a", 300), Faults: []string{strings.Repeat("b", 300)}}}, "20261121-140309-" + strings.Repeat("a", 40) + "-" + strings.Repeat("b", 40)},
	} {
		c.run.Started = started
		if got := dirName(c.run); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

func TestCreate(t *testing.T) {
	root := filepath.Join(t.TempDir(), "deep", "results")
	run := Run{Settings: workloads.Settings{Lock: "redis"}, Started: started}
	a, err := Create(root, run)
	if err != nil {
		t.Fatal(err)
	}
	b, err := Create(root, run)
	if err != nil {
		t.Fatal(err)
	}
	if a.Path() == b.Path() {
		t.Fatal("two runs share a directory")
	}
	if got, err := os.Readlink(filepath.Join(root, "latest")); err != nil || got != filepath.Base(b.Path()) {
		t.Errorf("latest is %q, %v", got, err)
	}
	entries, _ := os.ReadDir(root)
	if len(entries) != 3 {
		t.Errorf("left behind: %v", entries)
	}

	// A user's own folder of that name is not touched.
	other := t.TempDir()
	if err := os.MkdirAll(filepath.Join(other, "latest", "mine"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := Create(other, run); err == nil || !strings.Contains(err.Error(), "move it away") {
		t.Errorf("err = %v", err)
	}
	if _, err := os.Stat(filepath.Join(other, "latest", "mine")); err != nil {
		t.Error(err)
	}

	if _, err := CreateAt(filepath.Join(root, "named")); err != nil {
		t.Error(err)
	}
	if err := a.WriteRun(run); err != nil {
		t.Fatal(err)
	}
	if _, err := CreateAt(a.Path()); err == nil || !strings.Contains(err.Error(), "holds a run already") {
		t.Errorf("err = %v", err)
	}
}

func TestNodeLogStaysInside(t *testing.T) {
	d, err := CreateAt(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"c1", "../../evil", "/etc/passwd", "", "..", strings.Repeat("n", 500)} {
		path, err := d.NodeLog(name)
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Dir(path) != filepath.Join(d.Path(), NodesFolder) {
			t.Errorf("%q goes to %q", name, path)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Error(err)
		}
	}
}

func TestWritesDoNotLeaveTheDirectory(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "precious")
	if err := os.WriteFile(outside, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	d, _ := CreateAt(t.TempDir())
	if err := os.Symlink(outside, d.File(VerdictFile)); err != nil {
		t.Fatal(err)
	}
	if err := d.WriteVerdict(Run{}, checker.Verdict{}); err != nil {
		t.Fatal(err)
	}
	if b, _ := os.ReadFile(outside); string(b) != "precious" {
		t.Errorf("a link led out of the directory: %q", b)
	}
}

func TestWriteAllAndOpen(t *testing.T) {
	s := redisPaused(2)
	d, err := Create(t.TempDir(), s.run)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.WriteRun(s.run); err != nil {
		t.Fatal(err)
	}
	if err := history.WriteFile(d.History(), s.events); err != nil {
		t.Fatal(err)
	}
	writeEffects(t, d, s.effects)
	before, err := Open(d.Path())
	if err != nil {
		t.Fatal(err)
	}
	if before.Verdict != nil {
		t.Error("a verdict from nowhere")
	}
	if err := WriteAll(d, s.run, s.verdict, s.events, s.effects); err != nil {
		t.Fatal(err)
	}
	l, err := Open(filepath.Join(filepath.Dir(d.Path()), "latest"))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(l.Run, s.run) || !reflect.DeepEqual(*l.Verdict, s.verdict) {
		t.Error("what was written is not what is read")
	}
	for _, f := range []string{ReportFile, JUnitFile} {
		if fi, err := os.Stat(d.File(f)); err != nil || fi.Size() < 500 {
			t.Errorf("%s: %v", f, err)
		}
	}
	if left, _ := filepath.Glob(d.File(".*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func writeEffects(t *testing.T, d *Dir, effects []history.Effect) {
	t.Helper()
	f, err := os.Create(d.Register())
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	enc := json.NewEncoder(f)
	for _, e := range effects {
		if err := enc.Encode(e); err != nil {
			t.Fatal(err)
		}
	}
}

func TestEmptyVerdictKeepsItsForm(t *testing.T) {
	d, _ := CreateAt(t.TempDir())
	if err := d.WriteVerdict(Run{}, checker.Verdict{}); err != nil {
		t.Fatal(err)
	}
	b, _ := os.ReadFile(d.File(VerdictFile))
	for _, want := range []string{`"valid": "unknown"`, `"anomalies": []`, `"properties": {}`, `"faults": {}`, `"root_causes": []`} {
		if !strings.Contains(string(b), want) {
			t.Errorf("%s is missing from %s", want, b)
		}
	}
}

func TestOpenErrorsNameFileAndRemedy(t *testing.T) {
	good := `{"index":0,"time":1,"process":"c1","type":"invoke","f":"acquire"}` + "\n"
	effect := `{"seq":1,"time":1,"process":"c1","f":"write","key":"k0","version":1}` + "\n"
	for name, c := range map[string]struct {
		files map[string]string
		want  []string // empty: no error
	}{
		"no run.json":     {map[string]string{HistoryFile: good}, []string{RunFile, "picklock-results/latest"}},
		"broken run.json": {map[string]string{RunFile: "{", HistoryFile: good}, []string{RunFile, "run again"}},
		"no history":      {map[string]string{RunFile: "{}"}, []string{HistoryFile, "run it again"}},
		"broken history":  {map[string]string{RunFile: "{}", HistoryFile: good + "{\"index\":\n" + good}, []string{HistoryFile + ":2", "repair the line"}},
		"torn history":    {map[string]string{RunFile: "{}", HistoryFile: good + "{\"ind"}, nil},
		"broken register": {map[string]string{RunFile: "{}", HistoryFile: good, RegisterFile: "x\n"}, []string{RegisterFile + ":1", "repair the line"}},
		"broken verdict":  {map[string]string{RunFile: "{}", HistoryFile: good, RegisterFile: effect, VerdictFile: "["}, []string{VerdictFile, "picklock check"}},
		"whole":           {map[string]string{RunFile: "{}", HistoryFile: good, RegisterFile: effect}, nil},
		"no register":     {map[string]string{RunFile: "{}", HistoryFile: good}, nil},
		"empty register":  {map[string]string{RunFile: "{}", HistoryFile: good, RegisterFile: ""}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for f, content := range c.files {
				if err := os.WriteFile(filepath.Join(dir, f), []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			l, err := Open(dir)
			var x excerpt
			if err == nil {
				x, err = readExcerpt(l.Dir, l.Run, checker.Verdict{}, maxExcerpt)
			}
			if len(c.want) == 0 {
				if err != nil {
					t.Fatal(err)
				}
				if _, has := c.files[RegisterFile]; has != (x.effects != nil) {
					t.Errorf("effects %v", x.effects)
				}
				return
			}
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q lacks %q", err, want)
				}
			}
		})
	}
	if _, err := Open(filepath.Join(t.TempDir(), "gone")); err == nil || !strings.Contains(err.Error(), "name a run directory") {
		t.Errorf("err = %v", err)
	}
	file := filepath.Join(t.TempDir(), "f")
	_ = os.WriteFile(file, nil, 0o600)
	if _, err := Open(file); err == nil || !strings.Contains(err.Error(), "is a file") {
		t.Errorf("err = %v", err)
	}
}

func TestJUnit(t *testing.T) {
	parse := func(s sample) JUnitSuite {
		t.Helper()
		var b strings.Builder
		if err := JUnit(&b, s.run, s.verdict); err != nil {
			t.Fatal(err)
		}
		var suite JUnitSuite
		if err := xml.Unmarshal([]byte(b.String()), &suite); err != nil {
			t.Fatalf("%v in %s", err, b.String())
		}
		return suite
	}
	byName := func(s JUnitSuite) map[string]JUnitCase {
		out := map[string]JUnitCase{}
		for _, c := range s.Cases {
			out[c.Name] = c
		}
		return out
	}

	broken := parse(redisPaused(30))
	cases := byName(broken)
	if broken.Name != "picklock.redis" || broken.Tests != 5 || broken.Failures != 1 || broken.Skipped != 1 {
		t.Errorf("suite %s: %d tests, %d failures, %d skipped", broken.Name, broken.Tests, broken.Failures, broken.Skipped)
	}
	if f := cases[checker.Register].Failure; f == nil || !strings.Contains(f.Text, "c1's write was accepted at 2.688 s") || !strings.HasPrefix(f.Text, "stale-write × 30: the lease ended") || f.Type != "lease hazard" {
		t.Errorf("register: %+v", f)
	}
	if s := cases[checker.Belief].Skipped; s == nil || !strings.Contains(s.Message, "not required: 30 anomalies") {
		t.Errorf("belief: %+v", s)
	}
	if c := cases[checker.Exclusion]; c.Failure != nil || c.Skipped != nil {
		t.Errorf("exclusion: %+v", c)
	}

	held := parse(etcdValid(30))
	if held.Failures != 0 || held.Tests != 5 {
		t.Errorf("held: %d tests, %d failures", held.Tests, held.Failures)
	}

	unknown := parse(nothingContested())
	if s := byName(unknown)["verdict"].Skipped; s == nil || !strings.Contains(s.Message, "clock was requested and never took effect") {
		t.Errorf("unknown: %+v", unknown.Cases)
	}
	gaveUp := etcdValid(30)
	gaveUp.verdict.Valid = checker.Unknown
	gaveUp.verdict.Properties[checker.Register] = checker.Property{Required: true, Why: "the arbiter gave up"}
	cases = byName(parse(gaveUp))
	if s := cases[checker.Register].Skipped; s == nil || s.Message != "unknown: the arbiter gave up" {
		t.Errorf("register: %+v", s)
	}
	if _, ok := cases["verdict"]; ok {
		t.Error("one reason told twice")
	}

	parse(hostileSample())
	if s := parse(sample{}); s.Skipped != 6 || s.Name != "picklock.unnamed" {
		t.Errorf("empty: %+v", s)
	}
}
