package inprocess

import (
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/picklock/picklock/checker"
	enginepkg "github.com/picklock/picklock/compose/docker"
	"github.com/picklock/picklock/compose/local"
	"github.com/picklock/picklock/harness"
	"github.com/picklock/picklock/harness/docker"
	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/internal/testkit"
	"github.com/picklock/picklock/scenarios"
)

// watching is told of a run as the progress line is.
type watching struct{ phases, events chan struct{} }

func (w watching) Phase(string, time.Time) { w.note(w.phases) }
func (w watching) Event(history.Event)     { w.note(w.events) }

func (watching) note(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// TestRuntimes makes a run of autonomous clients and runs a script, on each runtime.
func TestRuntimes(t *testing.T) {
	for name, runtime := range map[string]func(*testing.T) harness.Runtime{
		"local": func(t *testing.T) harness.Runtime {
			testkit.NeedProgram(t, "redis-server", "apt-get install redis-server")
			return harness.Local{Sandbox: &local.Sandbox{Why: "a test"}}
		},
		"docker": func(t *testing.T) harness.Runtime {
			testkit.Need(t, "docker", testkit.Images("redis"))
			e, err := enginepkg.Connect(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { e.Close() })
			return &docker.Runtime{Engine: e}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := watching{make(chan struct{}, 1), make(chan struct{}, 1)}
			o := options()
			o.Runtime, o.Observer, o.Log = runtime(t), w, slog.New(slog.DiscardHandler)
			o.Out = filepath.Join(t.TempDir(), "run")
			o.Faults = []string{"pause:holder", "kill:client"}
			out, err := harness.Run(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			if out.Verdict.Valid == checker.False || out.Verdict.Stats.Grants == 0 || len(w.phases) == 0 || len(w.events) == 0 {
				t.Errorf("%v (%s), %d grants", out.Verdict.Valid, out.Verdict.Why, out.Verdict.Stats.Grants)
			}
			s, err := scenarios.Lookup("pause-holder")
			if err != nil {
				t.Fatal(err)
			}
			h := o.Host
			h.Out = filepath.Join(t.TempDir(), "scenario")
			played, err := harness.RunScenario(t.Context(), harness.ScenarioOptions{Scenario: s, Lock: o.Lock, Fencing: o.Fencing, Host: h})
			if err != nil {
				t.Fatal(err)
			}
			if played.Result.Met != checker.True || len(played.Result.Steps) == 0 {
				t.Errorf("%v: %s, %d steps", played.Result.Met, played.Result.Why, len(played.Result.Steps))
			}
		})
	}
}
