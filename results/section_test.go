package results

import (
	"strings"
	"testing"
	"time"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/workloads"
)

// withoutFaults is a run in which clients outlived their leases with no fault on.
func withoutFaults(hold time.Duration) sample {
	s := redisPaused(2)
	s.run.Faults, s.run.WorkTime, s.verdict.Stats.Faults = nil, hold, nil
	for i := range s.verdict.Anomalies {
		s.verdict.Anomalies[i].Faults = nil
	}
	return s
}

func TestASectionLongerThanTheLeaseSaysSo(t *testing.T) {
	long := withoutFaults(2 * time.Second)
	renewed := withoutFaults(2 * time.Second)
	renewed.run.Renew = true
	early := withoutFaults(2 * time.Second)
	for i := range early.verdict.Anomalies {
		early.verdict.Anomalies[i].Cause = "granted-early"
	}
	paused := redisPaused(2)
	paused.run.WorkTime = 2 * time.Second
	for name, x := range map[string]struct {
		sample
		said bool
		head string // what the headline says
	}{
		"longer than the lease":               {long, true, sectionTooLong},
		"with its jitter longer":              {withoutFaults(800 * time.Millisecond), true, sectionTooLong},
		"no longer than the lease":            {withoutFaults(50 * time.Millisecond), false, "without any fault"},
		"renewed":                             {renewed, false, "without any fault"},
		"the service ended the lease early":   {early, false, "without any fault"},
		"a pause that kept the client longer": {paused, false, "under pause"},
	} {
		t.Run(name, func(t *testing.T) {
			var report, junit strings.Builder
			if err := Report(&report, x.run, x.verdict, x.events, x.effects); err != nil {
				t.Fatal(err)
			}
			if err := JUnit(&junit, x.run, x.verdict); err != nil {
				t.Fatal(err)
			}
			for what, text := range map[string]string{"summary": summary(t, x.sample, false), "report": strings.ToLower(report.String()), "junit": junit.String()} {
				if got := strings.Contains(text, sectionTooLong+": it lasts up to"); got != x.said {
					t.Errorf("the %s says how much longer the section was than the lease: %v, want %v", what, got, x.said)
				}
			}
			if head := headline(x.run, x.verdict); !strings.Contains(head, x.head) {
				t.Errorf("headline %q, want %q in it", head, x.head)
			}
		})
	}
}

func TestTheReportTellsOfLongSections(t *testing.T) {
	if got := workTimeOf(Run{Settings: workloads.Settings{WorkTime: 50 * time.Millisecond, Reach: 0.97}}); got != "50 ms; some last up to 97 % of their lease" {
		t.Error(got)
	}
	if got := workTimeOf(Run{Settings: workloads.Settings{WorkTime: 50 * time.Millisecond}}); got != "50 ms" {
		t.Error(got)
	}
	again := Command(Run{Settings: workloads.Settings{Lock: "redis", WorkTime: 50 * time.Millisecond, Reach: 0.97, TTL: time.Second}})
	if strings.Contains(again, "--work-time") {
		t.Errorf("%s makes another run: --work-time makes all sections as long", again)
	}
	if v := (checker.Verdict{}); sectionNote(Run{Settings: workloads.Settings{WorkTime: 2 * time.Second, TTL: time.Second}}, v) != "" {
		t.Error("a note where nobody outlived anything")
	}
}
