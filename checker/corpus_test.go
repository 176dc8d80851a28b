package checker

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/picklock/picklock/history"
)

// TestCorpus runs the small histories of testdata: for every anomaly some that
// break the property and some that almost do. A file's "# want:" line names all
// anomalies that must be found, no more and no fewer; "# valid:" the verdict;
// "# says:" a part of an anomaly's explanation; "# overlap:", "# since_entry:", "# since_inner:", "# ahead:", "# set_back:", "# faults:", "# bystanders:" and
// "# suspect:" what the first anomaly says of them; "# exclusion: unknown, WHY" the
// verdict on a property and a part of its reason.
func TestCorpus(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no corpus: %v", err)
	}
	seen := map[string]bool{}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			in := script(t, string(text))
			v := Check(in)
			want := []string{}
			checked := false
			for _, line := range strings.Split(string(text), "\n") {
				name, value, _ := strings.Cut(strings.TrimPrefix(line, "# "), ":")
				value = strings.TrimSpace(value)
				switch {
				case !strings.HasPrefix(line, "# "):
				case name == "want":
					checked = true
					if value != "nothing" {
						want = strings.Fields(value)
					}
					slices.Sort(want)
					if got := found(v); !slices.Equal(got, want) {
						t.Errorf("found %v, want %v", got, want)
					}
				case name == "valid":
					if v.Valid.String() != value {
						t.Errorf("valid %v (%s), want %s", v.Valid, v.Why, value)
					}
				case name == "says":
					if !slices.ContainsFunc(v.Anomalies, func(a Anomaly) bool { return strings.Contains(a.Explanation, value) }) {
						t.Errorf("no explanation says %q", value)
					}
				case name == "faults":
					if got := strings.Join(v.Anomalies[0].Faults, " "); got != strings.TrimSuffix(value, "none") {
						t.Errorf("faults %q, want %q", got, value)
					}
				case name == "bystanders":
					if got := strings.Join(v.Anomalies[0].Bystanders, " "); got != strings.TrimSuffix(value, "none") {
						t.Errorf("bystanders %q, want %q", got, value)
					}
				case name == "suspect":
					if got := v.Anomalies[0].Suspect.Kind(); got != strings.TrimSuffix(value, "none") {
						t.Errorf("suspect %q, want %q", got, value)
					}
				case name == "overlap", name == "since_entry", name == "since_inner", name == "ahead", name == "set_back":
					if got := time.Duration(v.Anomalies[0].Sizes[name]).String(); got != value {
						t.Errorf("%s %s, want %s", name, got, value)
					}
				case slices.Contains(Properties, name):
					valid, why, _ := strings.Cut(value, ", ")
					if p := v.Properties[name]; p.Valid.String() != valid || !strings.Contains(p.Why, why) {
						t.Errorf("%s %v: %s; want %s", name, p.Valid, p.Why, value)
					}
				case name == "why":
					if !strings.Contains(v.Why, value) {
						t.Errorf("why %q does not say %q", v.Why, value)
					}
				}
			}
			if !checked {
				t.Error("no want line")
			}
			for _, a := range v.Anomalies {
				seen[a.Name] = true
				if a.Cause != "" && a.CauseWords() == "" {
					t.Errorf("the table's line of %s has no cause %s", a.Name, a.Cause)
				}
				t.Logf("%s: %s; events %v effects %v faults %v sizes %v", a.Name, a.Explanation, a.Events, a.Effects, a.Faults, a.Sizes)
			}
			a, _ := json.Marshal(v)
			b, _ := json.Marshal(Check(in))
			if string(a) != string(b) {
				t.Errorf("two verdicts on one history:\n%s\n%s", a, b)
			}
			evidenceIsNeeded(t, in, v)
		})
	}
	for _, a := range Anomalies() {
		if !seen[a.Name] {
			t.Errorf("no history of the corpus shows %s", a.Name)
		}
	}
}

// isMutex says that no grant tells otherwise.
func isMutex(in Input) bool {
	return !slices.ContainsFunc(in.Events, func(e history.Event) bool { return e.Mode != "" || e.Permits > 0 })
}

// evidenceIsNeeded cuts the history down to each anomaly's evidence: what is left
// still shows it, and taking any one event or effect away does not.
func evidenceIsNeeded(t interface {
	Helper()
	Errorf(string, ...any)
}, in Input, v Verdict) bool {
	t.Helper()
	good := true
	fail := func(format string, args ...any) {
		good = false
		t.Errorf(format, args...)
	}
	for _, a := range v.Anomalies {
		if a.Name == "granted-early" && len(a.Grants) > 2 {
			// Of leases that cover a window together, one may look as if it did so
			// alone once the release that cut it short is out of sight.
			continue
		}
		evidence := Input{Options: in.Options}
		for _, e := range in.Events {
			// That a fault excuses what else would be another anomaly, or of another cause, is no event of the lock.
			excused := a.Name == "false-belief" || a.Name == "wrong-release" || a.Cause == "wrong-release" || a.Cause == "lease-outlived" || a.Cause == noNotice || a.Cause == lateRelease || a.Cause == renewedLate || a.Cause == confirmedLost || a.Cause == minority || a.Cause == noServer
			if slices.Contains(a.Events, e.Index) || excused && e.Process == history.Nemesis && !unseen(in, a, e) {
				evidence.Events = append(evidence.Events, e)
			}
		}
		for _, e := range in.Effects {
			if slices.Contains(a.Effects, e.Seq) {
				evidence.Effects = append(evidence.Effects, e)
			}
		}
		if !shows(evidence, in, a) {
			// What tells that the lock is no mutex is out of sight, and of a mutex the same shows that
			// the confirmation is false.
			// Or another entry, by which the hold may have lasted, is out of sight.
			disproved := func(b Anomaly) bool {
				return (b.Name == "false-belief" || b.Cause == confirmedLost) && slices.Equal(b.Grants, a.Grants)
			}
			if a.Name == "granted-early" && !isMutex(in) && slices.ContainsFunc(Check(evidence).Anomalies, disproved) {
				continue
			}
			fail("%s (%v): its events %v and effects %v do not show it", a.Name, a.Grants, a.Events, a.Effects)
			continue
		}
		for i := range evidence.Events {
			if evidence.Events[i].Process == history.Nemesis {
				continue
			}
			less := evidence
			less.Events = slices.Delete(slices.Clone(evidence.Events), i, i+1)
			if shows(less, in, a) {
				fail("%s (%v): event %d of its evidence is not needed", a.Name, a.Grants, evidence.Events[i].Index)
			}
		}
		for i := range evidence.Effects {
			less := evidence
			less.Effects = slices.Delete(slices.Clone(evidence.Effects), i, i+1)
			if shows(less, in, a) {
				fail("%s (%v): effect %d of its evidence is not needed", a.Name, a.Grants, evidence.Effects[i].Seq)
			}
		}
	}
	return good
}

func shows(part, whole Input, a Anomaly) bool {
	// What did not happen until the run's end is known from the run's end only;
	// a register without a log and one whose log is empty differ.
	last := whole.Events[len(whole.Events)-1]
	part.Events = append(slices.Clone(part.Events), history.Event{
		Index: last.Index + 1, Time: last.Time, Process: history.Nemesis, Type: history.Info, F: "end", Phase: history.End,
	})
	if len(part.Effects) == 0 && len(whole.Effects) > 0 {
		part.Effects = []history.Effect{{Seq: 1e6, F: history.Write, Key: "another", Process: "nobody"}}
	}
	return slices.ContainsFunc(Check(part).Anomalies, func(b Anomaly) bool {
		// Out of sight of what excuses the wait's beginning, all of it counts.
		longer := a.Name == "deadlock" && b.Time < a.Time
		if a.Name == "stale-write" && len(a.Effects) == 3 && whoWasLate(a) != whoWasLate(b) {
			return false
		}
		// That a release freed more may show in others of the lock.
		others := a.Cause == freedMore && !strings.Contains(a.Explanation, "which had waited for it") && b.Cause != freedMore
		// As long as other requests, or faults, are out of sight, nothing else can have ended a lease.
		others = others || a.Cause == "granted-early" && b.Cause == endedEarly
		return a.Name == b.Name && slices.Equal(a.Grants, b.Grants) && (a.Time == b.Time || longer) && slices.Equal(a.Effects, b.Effects) &&
			(a.Cause == b.Cause || others || !slices.Contains([]string{lateRelease, renewedLate, lostWakeUp, ownAgain}, a.Cause) && !slices.Contains([]string{"stale-write", "nonlinearizable", "granted-early", "double-grant"}, a.Name))
	})
}

// unseen says that a fault fell on a client of which the evidence has nothing: cut down to that, it would look like a server.
func unseen(in Input, a Anomaly, fault history.Event) bool {
	return slices.ContainsFunc(fault.Nodes, func(node string) bool {
		of := func(e history.Event) bool { return e.Process == node }
		return slices.ContainsFunc(in.Events, of) && !slices.ContainsFunc(in.Events, func(e history.Event) bool { return of(e) && slices.Contains(a.Events, e.Index) })
	})
}

// whoWasLate is whose lease is given as over when two critical sections interleaved.
func whoWasLate(a Anomaly) string {
	_, reported, _ := strings.Cut(a.Explanation, "one of these writes is stale; ")
	who, _, _ := strings.Cut(reported, "'s lease")
	return who
}
