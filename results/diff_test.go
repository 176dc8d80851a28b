package results

import (
	"strings"
	"testing"
	"time"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/workloads"
)

func TestDiff(t *testing.T) {
	run := Run{Settings: workloads.Settings{Lock: "redis", Faults: []string{"pause:holder"}, TTL: time.Second, Seed: 1<<63 + 1}, Command: []string{"a"}, Versions: map[string]string{"redis": "7"}}
	held := checker.Verdict{Valid: checker.True, Properties: map[string]checker.Property{
		checker.Register: {Valid: checker.True, Required: true}, checker.Belief: {Valid: checker.True},
	}, Stats: checker.Stats{Grants: 10, Duration: 2e9, Faults: map[string]checker.FaultCount{"pause": {Injected: 3, Confirmed: 3}}}}
	broke := checker.Verdict{Valid: checker.False, Properties: map[string]checker.Property{
		checker.Register: {Valid: checker.False, Required: true}, checker.Belief: {Valid: checker.True},
	}, Anomalies: []checker.Anomaly{{Name: "stale-write", Cause: "lease-outlived"}, {Name: "stale-write", Cause: "lease-outlived"}, {Name: "stale-write"}}}

	other := run
	other.Seed, other.TTL, other.Command, other.Versions = 1<<63+2, 2*time.Second, []string{"b"}, map[string]string{"redis": "8"}
	tests := []struct {
		name       string
		b          Run
		verdict    checker.Verdict
		same       bool
		want, wont []string
	}{
		{"the same", run, held, true, []string{"The verdicts are the same", "  register", "  grants a second"}, []string{"settings", "*"}},
		{"settings", other, held, true,
			[]string{"* seed", "9223372036854775810", "* ttl", "2s", "* versions.redis"}, []string{"command", "lock"}},
		{"verdict", run, broke, false,
			[]string{"The verdicts differ", "* register", "✗ fail", "  belief", "* stale-write (lease-outlived)", "* stale-write  ", "* pause"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := diff(run, tt.b, held, tt.verdict)
			d.A, d.B = "x", "x"
			var b strings.Builder
			if err := d.Text(&b); err != nil {
				t.Fatal(err)
			}
			if d.Same != tt.same {
				t.Errorf("same: %v", d.Same)
			}
			for _, w := range tt.want {
				if !strings.Contains(b.String(), w) {
					t.Errorf("no %q in\n%s", w, &b)
				}
			}
			for _, w := range tt.wont {
				if strings.Contains(b.String(), w) {
					t.Errorf("%q in\n%s", w, &b)
				}
			}
		})
	}
	// A property that is required of one run only is another verdict.
	required := held
	required.Properties = map[string]checker.Property{checker.Register: {Valid: checker.True, Required: true}, checker.Belief: {Valid: checker.True, Required: true}}
	if diff(run, run, held, required).Same {
		t.Error("the same, although one requires belief")
	}
}
