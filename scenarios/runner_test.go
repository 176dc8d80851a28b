package scenarios

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/picklock/picklock/workloads"
)

// run runs in a bubble and returns what was done and how it ended.
func run(t *testing.T, steps string, prepare func(*stage)) (log []string, took time.Duration, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		st, _ := newStage(t, steps)
		if prepare != nil {
			prepare(st)
		}
		ctx, cancel := context.WithCancel(t.Context())
		began := time.Now()
		err = st.runner.Run(ctx)
		took = time.Since(began)
		if herr := st.runner.Heal(ctx); herr != nil {
			t.Error(herr)
		}
		cancel()
		st.mu.Lock()
		for _, c := range []string{"A", "B"} {
			st.killed[c] = true // ends who still waits
		}
		log = slices.Clone(st.log)
		st.mu.Unlock()
		st.perform.Wait()
	})
	return log, took, err
}

func TestRun(t *testing.T) {
	const second = "1s"
	tests := []struct {
		name, steps string
		prepare     func(*stage)
		want        string // the log
		took        string
	}{
		{"the pause falls between two acts", "  - A: acquire, read, check\n  - pause: A\n  - A: write &\n  - B: acquire, write\n  - resume: A\n  - await: A done\n", nil,
			"A acquire granted; A read ok; A check ok; pause A; B acquire granted; B write ok; end pause A; A write ok", second},
		{"the end of a lease", "  - A: acquire\n  - await: lease of A over\n  - A: write\n", nil, "A acquire granted; A write ok", second},
		{"a time after a grant", "  - A: acquire\n  - await: 300ms after A granted\n  - A: write\n", nil, "A acquire granted; A write ok", "300ms"},
		{"a time after a lease", "  - A: acquire\n  - await: 300ms after lease of A over\n  - A: write\n", nil, "A acquire granted; A write ok", "1.3s"},
		{"the key on a server", "  - A: acquire\n  - await: key on redis\n  - await: key gone on redis\n  - A: write\n", nil, "A acquire granted; A write ok", second},
		{"a waiter that stays", "  - A: acquire\n  - B: acquire &\n  - await: B waiting\n  - await: B granted or 200ms\n  - A: write\n", nil, "A acquire granted; A write ok", "200ms"},
		{"a waiter that comes in", "  - A: acquire\n  - B: acquire, read &\n  - await: B waiting\n  - A: release\n  - await: B done\n", nil,
			"A acquire granted; A release ok; B acquire granted; B read ok", "10ms"},
		{"a chain ends at the first refusal", "  - A: acquire\n  - A: write, release &\n  - await: A refused\n", func(s *stage) { s.refuse["A write"] = workloads.Refused }, "A acquire granted; A write refused", "0s"},
		{"a refusal is an answer", "  - A: acquire\n  - A: write\n  - A: release\n", func(s *stage) { s.refuse["A write"] = workloads.Refused }, "A acquire granted; A write refused; A release ok", "0s"},
		{"whatever comes of a late release", "  - A: acquire\n  - A: release\n", func(s *stage) { s.refuse["A release"] = workloads.NotHeld }, "A acquire granted; A release not held", "0s"},
		{"all is healed, the latest first", "  - A: acquire\n  - pause: A\n  - clock: redis +5s\n  - cut: B to redis\n", nil,
			"A acquire granted; pause A; clock redis; partition B; end partition B; end clock redis; end pause A", "0s"},
		{"a clock runs wrong", "  - A: acquire\n  - clock: redis x1.5\n  - clock: redis strobe 50ms\n  - clock: redis right\n", nil,
			"A acquire granted; clock redis; end clock redis; clock redis; end clock redis", "0s"},
		{"a clock is set anew", "  - A: acquire\n  - clock: redis +5s\n  - clock: redis +9s\n  - clock: redis right\n", nil,
			"A acquire granted; clock redis; end clock redis; clock redis; end clock redis", "0s"},
		{"held, and delivered one by one", "  - A: acquire\n  - hold: A to servers\n  - await: 2 messages from A to redis\n  - deliver: 1 from A to redis\n  - deliver: A to servers\n", nil,
			"A acquire granted; hold A; 2 held from A to redis; 1 delivered from A to redis; end hold A", "0s"},
		{"a reset ends the hold", "  - A: acquire\n  - hold: A to redis\n  - reset: A to redis silently\n", nil,
			"A acquire granted; hold A; reset A; end hold A; end reset A", "0s"},
		{"the act's messages, and what strikes after the second", "  - A: acquire\n  - A: release &\n  - await: 2 messages of A's release to servers sent\n  - cut: A to redis\n  - pause: redis\n  - await: A done\n", func(s *stage) { s.messages = 3 },
			"A acquire granted; gate A 2 redis; partition A; pause redis; open A 2 redis; A release ok; end pause redis; end partition A", "0s"},
		{"answers, of an act that comes later", "  - A: acquire, read, write &\n  - await: message of A's write answered\n  - await: A done\n  - A: release\n", func(s *stage) { s.messages = 1 },
			"A acquire granted; A read ok; gate A 1 answered; open A 1 answered; A write ok; A release ok", "0s"},
		{"messages that need not come", "  - A: acquire\n  - A: release &\n  - await: message of A's release sent or 300ms\n  - cut: A to redis\n", nil,
			"A acquire granted; gate A 1; A release ok; open A 1; partition A; end partition A", "300ms"},
		{"a script that ends opens every gate", "  - B: acquire\n  - A: acquire &\n  - await: message of A's acquire sent\n  - kill: A\n", func(s *stage) { s.messages = 1 },
			"B acquire granted; gate A 1; kill A; open A 1; end kill A", "0s"},
		{"slow, lossy and cut links are healed", "  - A: acquire\n  - slow: A to redis 50ms±10ms 100kB/s\n  - loss: A to redis 20%\n  - cut: A from redis\n  - heal: A to redis\n  - A: write\n  - heal\n", nil,
			"A acquire granted; slow A {50ms 10ms 100000} 0; loss A {0s 0s 0} 0.2; partition A; end slow A; end loss A; A write ok; end partition A", "0s"},
		{"a flapping link is healed", "  - A: acquire\n  - flap: A from redis 200ms\n  - A: write\n  - heal: A from redis\n", nil,
			"A acquire granted; flap A 200ms; A write ok; end flap A", "0s"},
		{"a killed client is forgotten", "  - A: acquire\n  - B: acquire &\n  - await: B waiting\n  - kill: B\n  - A: release\n", nil, "A acquire granted; kill B; A release ok; end kill B", "0s"},
		{"and starts anew", "  - A: acquire\n  - B: acquire &\n  - await: B waiting\n  - kill: B\n  - start: B\n  - A: release\n  - B: acquire\n", nil,
			"A acquire granted; kill B; end kill B; A release ok; B acquire granted", "0s"},
		{"servers stands for all", "  - A: acquire\n  - pause: servers\n  - resume: servers\n", nil, "A acquire granted; pause redis; end pause redis", "0s"},
		{"quiet", "  - A: acquire\n  - await: quiet 200ms\n  - A: write\n", nil, "A acquire granted; A write ok", "200ms"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			log, took, err := run(t, tt.steps, tt.prepare)
			if err != nil {
				t.Error(err)
			}
			if got := strings.Join(log, "; "); got != tt.want {
				t.Errorf("done %s\nwant %s", got, tt.want)
			}
			// Looks at servers come every few ms of the bubble's time.
			if want, _ := time.ParseDuration(tt.took); took < want-lookEvery || took > want+3*lookEvery {
				t.Errorf("took %v, want %v", took, want)
			}
		})
	}
}

// Members of a quorum that were killed answer only together, whoever starts them.
func TestAllStartAtOnce(t *testing.T) {
	for name, steps := range map[string]string{
		"by a step":     "  - A: acquire\n  - kill: servers\n  - start: servers\n",
		"in the end":    "  - A: acquire\n  - kill: servers\n",
		"by their name": "  - A: acquire\n  - kill: redis2\n  - kill: redis, redis3\n  - start: redis, redis2, redis3\n",
	} {
		t.Run(name, func(t *testing.T) {
			log, _, err := run(t, steps, func(s *stage) { s.servers = []string{"redis2", "redis3"} })
			if err != nil {
				t.Error(err)
			}
			for _, node := range []string{"redis", "redis2", "redis3"} {
				if n := slices.Index(log, "end kill "+node); n < 4 {
					t.Errorf("%s was started as the %dth: %q", node, n, log)
				}
			}
		})
	}
}

func TestRunFails(t *testing.T) {
	tests := []struct {
		name, steps string
		prepare     func(*stage)
		want        string
	}{
		{"a grant that had to come", "  - A: acquire\n  - A: write\n", func(s *stage) { s.refuse["A acquire"] = workloads.Failed }, "mine.yaml:8: A: acquire: acquire failed"},
		{"a write of unknown outcome", "  - A: acquire\n  - A: write\n", func(s *stage) { s.refuse["A write"] = workloads.Open }, "mine.yaml:9: A: write: write unknown"},
		{"an expired check", "  - A: acquire, check, write\n", func(s *stage) { s.refuse["A check"] = workloads.Expired }, "mine.yaml:8: A: acquire, check, write: check expired"},
		{"a fault that does not land", "  - A: acquire\n  - pause: A\n", func(s *stage) { s.broken["pause"] = errors.New("no hands") }, "mine.yaml:9: pause: A: no hands"},
		{"an event that never comes", "  - A: acquire\n  - await: request at redis\n", nil, "mine.yaml:9: await: request at redis: a request at redis did not come within 30s"},
		{"messages that did not come", "  - A: acquire\n  - A: release &\n  - await: 2 messages of A's release sent\n", func(s *stage) { s.messages = 1 },
			"mine.yaml:10: await: 2 messages of A's release sent: A's release was over after 1 of 2 messages sent"},
		{"messages of an act that was not come to", "  - A: acquire, write, release &\n  - await: message of A's release sent\n", func(s *stage) { s.refuse["A write"] = workloads.Refused },
			"mine.yaml:9: await: message of A's release sent: A did not come to its release: write refused"},
		{"messages that cannot be counted", "  - A: acquire, write &\n  - await: message of A's write sent\n", func(s *stage) { s.broken["gate"] = errors.New("no door") },
			"mine.yaml:8: A: acquire, write &: count the messages of A's write: no door"},
		{"a grant that cannot come", "  - A: acquire &\n  - await: A granted\n", func(s *stage) { s.refuse["A acquire"] = workloads.Failed }, "mine.yaml:9: await: A granted: A was not granted"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, _, err := run(t, tt.steps, tt.prepare)
			var step *StepError
			if !errors.As(err, &step) || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("error %v, want %s", err, tt.want)
			}
		})
	}
}

// A script leaves nothing to chance: what is done is the same every time.
func TestRunIsDeterministic(t *testing.T) {
	const steps = "  - A: acquire, read, check\n  - B: acquire, read, write &\n  - await: B waiting\n  - pause: A\n  - A: write &\n  - await: B done\n  - resume: A\n  - await: A done\n  - B: release\n"
	first, _, err := run(t, steps, nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		again, _, err := run(t, steps, nil)
		if err != nil || !slices.Equal(first, again) {
			t.Fatalf("%v, %v\nafter %v", err, again, first)
		}
	}
}

func TestCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, _ := newStage(t, "  - A: acquire\n  - count: wake-ups\n  - await: quiet 100ms\n  - counted: wake-ups\n")
		st.runner.Woken("B") // before anybody counts
		go func() {
			time.Sleep(50 * time.Millisecond)
			st.runner.Woken("B")
			st.runner.Woken("C")
		}()
		if err := st.runner.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		st.runner.Woken("B") // when nobody counts any more
		if got := st.runner.Counts()[WakeUps]; got != 2 {
			t.Errorf("%d wake-ups, want 2", got)
		}
		st.perform.Wait()
	})
}
