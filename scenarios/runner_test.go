package scenarios

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/workloads"
)

// scheduled is what came of a schedule in a bubble.
type scheduled struct {
	log  []string // of the stage, with times
	told []string // moves and faults
	took time.Duration
	err  error
}

// canceling is a stage whose clients can be told to give up.
type canceling struct {
	*stage
	times int
}

func (s *canceling) Cancel(client string) error {
	s.say("cancel %s", client)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.times++
	s.refuse[client+" acquire"] = workloads.Failed
	return nil
}

// runSchedule runs programs and faults.
func runSchedule(t *testing.T, text string, prepare func(*stage, *Runner)) (out scheduled) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s, err := Parse("mine.yaml", []byte(scheduleHead+text))
		if err != nil {
			t.Fatal(err)
		}
		st := emptyStage()
		st.timed = true
		p := NewRunner(s, &canceling{stage: st}, func(x Taken) {
			st.mu.Lock()
			defer st.mu.Unlock()
			out.told = append(out.told, fmt.Sprintf("%s %s", x.Text, x.Outcome))
		})
		st.runner = p
		if prepare != nil {
			prepare(st, p)
		}
		ctx, cancel := context.WithCancel(t.Context())
		began := time.Now()
		out.err = p.Run(ctx)
		out.took = time.Since(began)
		if err := p.Heal(ctx); err != nil {
			t.Error(err)
		}
		cancel()
		st.mu.Lock()
		for _, c := range s.Clients {
			st.killed[c] = true // ends who still waits
		}
		out.log = slices.Clone(st.log)
		st.mu.Unlock()
		st.perform.Wait()
	})
	return out
}

// slowly makes faults and writes take their time, so that it shows what comes first.
func slowly(s *stage, _ *Runner) {
	s.lands = 100 * time.Millisecond
	s.takes["A write"], s.takes["A acquire"] = 300*time.Millisecond, 200*time.Millisecond
}

func TestRunner(t *testing.T) {
	messages := func(n int) func(*stage, *Runner) { return func(s *stage, _ *Runner) { s.messages = n } }
	refuse := func(act string, o workloads.Outcome) func(*stage, *Runner) {
		return func(s *stage, _ *Runner) { s.refuse[act] = o }
	}
	tests := []struct {
		name, text string
		prepare    func(*stage, *Runner)
		want       string // the log
	}{
		{"no fault", "clients:\n  A: acquire, read, work 0.305 leases, write, release\n  B: await A granted, acquire, write\n", nil,
			"0s A acquire granted; 0s A read ok; 300ms A write ok; 300ms A release ok; 310ms B acquire granted; 310ms B write ok"},

		// Where a fault strikes.
		{"at the start", "clients:\n  A: acquire\n" + strike("start", "cut: A to redis", "50ms"), slowly,
			"100ms partition A; 150ms end partition A; 300ms A acquire granted"},
		{"before a move", "clients:\n  A: acquire, write, release\n" + strike("before A's write", "cut: A to redis", "50ms"), slowly,
			"200ms A acquire granted; 300ms partition A; 350ms end partition A; 600ms A write ok; 600ms A release ok"},
		{"during a move", "clients:\n  A: acquire, write, release\n" + strike("A's write", "cut: A to redis", "50ms"), slowly,
			"200ms A acquire granted; 300ms partition A; 350ms end partition A; 500ms A write ok; 500ms A release ok"},
		{"after a move", "clients:\n  A: acquire, write, release\n" + strike("after A's write", "cut: A to redis", "50ms"), slowly,
			"200ms A acquire granted; 500ms A write ok; 600ms partition A; 600ms A release ok; 600ms end partition A"},
		{"during work", "clients:\n  A: acquire, work 1 lease, write\n" + strike("A's work", "cut: A to redis", "0.5 leases"), nil,
			"0s A acquire granted; 0s partition A; 500ms end partition A; 1s A write ok"},
		{"after work", "clients:\n  A: acquire, work 1 lease, write\n" + strike("after A's work", "cut: A to redis", "0.5 leases"), nil,
			"0s A acquire granted; 1s partition A; 1s A write ok; 1s end partition A"},
		{"before an await", "clients:\n  A: acquire, work 0.205 leases, release\n  B: await A granted, acquire\n" + strike("after B's await", "clock: B +5s", "1 lease"), nil,
			"0s A acquire granted; 0s clock B; 200ms A release ok; 210ms B acquire granted; 210ms end clock B"},
		{"the second time", "clients:\n  A: acquire, read, work 0.2 leases, read, release\n" + strike("before A's 2nd read", "pause: A", "0.5 leases"), nil,
			"0s A acquire granted; 0s A read ok; 200ms pause A; 700ms end pause A; 700ms A read ok; 700ms A release ok"},
		{"at a message", "clients:\n  A: acquire, release\n" + strike("A's release has sent message 2", "cut: A to redis", "300ms"), messages(3),
			"0s A acquire granted; 0s gate A 2 redis; 0s partition A; 0s open A 2 redis; 0s A release ok; 0s end partition A"},
		{"at a message of a library's own", "clients:\n  A: acquire, work 0.5 leases, release\n" + strike("A's work has sent message 2", "cut: A to redis", "300ms"), messages(3),
			"0s A acquire granted; 0s gate A 2 redis; 0s partition A; 0s open A 2 redis; 300ms end partition A; 500ms A release ok"},
		{"at an answer", "clients:\n  A: acquire, release\n" + strike("A's release has got answer 1", "cut: A to redis", "300ms"), messages(1),
			"0s A acquire granted; 0s gate A 1 answered redis; 0s partition A; 0s open A 1 answered redis; 0s A release ok; 0s end partition A"},
		{"at an answer that ended the act first", "clients:\n  A: acquire, release\n" + strike("A's release has got answer 1", "cut: A to redis", "300ms"), func(s *stage, _ *Runner) { s.messages, s.unheard = 1, true },
			"0s A acquire granted; 0s gate A 1 answered redis; 0s A release ok; 0s partition A; 0s open A 1 answered redis; 0s end partition A"},
		{"at an event", "clients:\n  A: acquire, work 0.505 leases, release\n  B: await A granted, acquire\n" + strike("B waiting", "clock: A +5s", "0.2 leases"), nil,
			"0s A acquire granted; 0s clock A; 200ms end clock A; 500ms A release ok; 510ms B acquire granted"},
		{"at the end of a lease", "clients:\n  A: acquire, work 1.3 leases, write\n" + strike("lease of A over", "clock: A +5s", "0.1 leases"), nil,
			"0s A acquire granted; 1s clock A; 1.1s end clock A; 1.3s A write ok"},
		{"at what a server knows", "clients:\n  A: acquire, work 0.5 leases, release, acquire\n" + strike("key on redis", "clock: A +5s", "0.1 leases"), nil,
			"0s A acquire granted; 0s clock A; 100ms end clock A; 500ms A release ok; 500ms A acquire granted"},
		{"at quiet", "clients:\n  A: acquire, work 0.5 leases, release\n" + strike("quiet 200ms", "clock: A +5s", "0.1 leases"), nil,
			"0s A acquire granted; 200ms clock A; 300ms end clock A; 500ms A release ok"},
		{"two at one trigger, in their order", "clients:\n  A: acquire, write\n" + strike("before A's write", "cut: A to redis", "0.1 leases") + more("before A's write", "pause: A", "0.3 leases"), nil,
			"0s A acquire granted; 0s partition A; 0s pause A; 100ms end partition A; 300ms end pause A; 300ms A write ok"},

		// How it ends.
		{"until an event", "clients:\n  A: acquire, write\n  B: await A granted, acquire, work 0.2 leases, write\n" + strike("before A's write", "pause: A", "B granted or 9 leases"), nil,
			"0s A acquire granted; 0s pause A; 1s B acquire granted; 1s end pause A; 1s A write ok; 1.2s B write ok"},
		{"until a move", "clients:\n  A: acquire, write\n  B: await A granted, acquire, work 0.2 leases, write\n" + strike("before A's write", "pause: A", "after B's write or 9 leases"), nil,
			"0s A acquire granted; 0s pause A; 1s B acquire granted; 1.2s B write ok; 1.2s end pause A; 1.2s A write ok"},
		{"until a time", "clients:\n  A: acquire, write\n  B: await A granted, acquire\n" + strike("before A's write", "pause: A", "B granted or 0.4 leases"), nil,
			"0s A acquire granted; 0s pause A; 400ms end pause A; 400ms A write ok; 1s B acquire granted"},
		{"until nothing was said", "clients:\n  A: acquire, write\n" + strike("before A's write", "pause: A", ""), nil,
			"0s A acquire granted; 0s pause A; 2s end pause A; 2s A write ok"},
		{"a grant from before does not end it", "clients:\n  A: acquire, release\n  B: await 300ms after A granted, acquire, work 0.2 leases, release, await quiet 400ms, acquire, work 0.1 leases, release\n" + strike("after B's work", "clock: A +5s", "B granted or 9 leases"), nil,
			"0s A acquire granted; 0s A release ok; 300ms B acquire granted; 500ms clock A; 500ms B release ok; 900ms B acquire granted; 900ms end clock A; 1s B release ok"},
		{"a move from before does not end it", "clients:\n  A: acquire, write\n" + strike("before A's write", "pause: A", "after A's acquire or 0.4 leases"), nil,
			"0s A acquire granted; 0s pause A; 400ms end pause A; 400ms A write ok"},
		{"what was so before does not end it", "clients:\n  A: acquire, work 1.3 leases, write\n" + strike("before A's write", "pause: A", "lease of A over or 0.4 leases"), nil,
			"0s A acquire granted; 1.3s pause A; 1.7s end pause A; 1.7s A write ok"},
		{"but when it comes anew", "clients:\n  A: acquire, work 1.1 leases, release, acquire, work 1.5 leases, release\n" + strike("after A's work", "clock: redis +5s", "lease of A over or 9 leases"), nil,
			"0s A acquire granted; 1.1s clock redis; 1.1s A release ok; 1.1s A acquire granted; 2.1s end clock redis; 2.6s A release ok"},
		{"the end of the run ends it", "clients:\n  A: acquire\n" + strike("start", "clock: A +5s", "9 leases"), nil, "0s clock A; 0s A acquire granted; 0s end clock A"},

		{"at once", "clients:\n  A: acquire, write\n" + strike("before A's write", "kill: redis", "at once"), func(s *stage, _ *Runner) { s.takes["A write"] = 10 * time.Millisecond },
			"0s A acquire granted; 0s kill redis; 0s end kill redis; 10ms A write ok"},
		{"until another comes to a move, which waits for it", "clients:\n  A: acquire, work 0.705 leases, release\n  B: await pause on, await 300ms after A granted, acquire\n" + strike("after A's acquire", "pause: redis", "before B's acquire"), slowly,
			"200ms A acquire granted; 300ms pause redis; 500ms end pause redis; 1s A release ok; 1.01s B acquire granted"},
		{"until another fault has taken effect", "clients:\n  A: acquire, write\n" + strike("before A's write", "pause: redis", "cut on") + more("before A's write", "cut: A to redis", "0.1 leases"), func(s *stage, _ *Runner) { s.takes["A write"] = 10 * time.Millisecond },
			"0s A acquire granted; 0s pause redis; 0s partition A; 0s end pause redis; 10ms A write ok; 10ms end partition A"},
		{"until what a server knows", "clients:\n  A: acquire, work 0.5 leases, release, work 0.5 leases, read\n" + strike("A's work", "clock: A +5s", "key gone on redis"), nil,
			"0s A acquire granted; 0s clock A; 500ms A release ok; 500ms end clock A"},

		// What is awaited of other programs and of faults.
		{"a move that has begun", "clients:\n  A: acquire, write\n  B: await A's write, acquire\n", func(s *stage, _ *Runner) { s.takes["A write"] = 100 * time.Millisecond },
			"0s A acquire granted; 100ms A write ok; 1s B acquire granted"},
		{"a move that has ended", "clients:\n  A: acquire, write, await B's acquire, work 0.305 leases, release\n  B: await after A's write, acquire\n", nil,
			"0s A acquire granted; 0s A write ok; 300ms A release ok; 310ms B acquire granted"},
		{"a client that stands at a fault", "clients:\n  A: acquire, write\n  B: await before A's write, acquire\n" + strike("before A's write", "pause: A", "B granted or 9 leases"), nil,
			"0s A acquire granted; 0s pause A; 1s B acquire granted; 1s end pause A; 1s A write ok"},
		{"a fault, and its end", "clients:\n  A: acquire, write\n  B: await pause of A on, await 2nd pause over, acquire\n" + strike("before A's write", "pause: A", "0.3 leases") + more("before A's write", "pause: redis", "0.1 leases"), nil,
			"0s A acquire granted; 0s pause A; 0s pause redis; 100ms end pause redis; 300ms end pause A; 300ms A write ok; 1s B acquire granted"},
		{"a move that is passed over, with another way", "clients:\n  A: acquire, write\n  B: await after A's write or 9 leases, acquire\n", refuse("A acquire", workloads.Failed),
			"0s A acquire failed; 0s B acquire granted"},
		{"a server that has synced", "clients:\n  A: await redis synced, acquire\n", nil, "0s mark; 0s A acquire granted"},
		{"the end of a program", "clients:\n  A: acquire, work 0.3 leases, release\n  B: await A done, acquire\n", nil, "0s A acquire granted; 300ms A release ok; 300ms B acquire granted"},
		{"messages to another", "clients:\n  A: acquire, write\n" + strike("A's write has got answer 1 from register", "cut: A to redis", "300ms"), messages(1),
			"0s A acquire granted; 0s gate A 1 answered register; 0s partition A; 0s open A 1 answered register; 0s A write ok; 0s end partition A"},

		// What makes no sense any more.
		{"nothing without a grant", "clients:\n  A: acquire, read, check, work 1 lease, renew, write, release, acquire\n", refuse("A acquire", workloads.Failed),
			"0s A acquire failed; 0s A acquire failed"},
		{"nothing under a lease that is over, but to release", "clients:\n  A: acquire, check, write, work 1 lease, release, acquire\n", refuse("A check", workloads.Expired),
			"0s A acquire granted; 0s A check expired; 0s A release ok; 0s A acquire granted"},
		{"nothing of what is not held", "clients:\n  A: acquire, renew, write, acquire, write\n", refuse("A renew", workloads.NotHeld),
			"0s A acquire granted; 0s A renew not held; 1s A acquire granted; 1s A write ok"},
		{"a second acquire under a grant", "clients:\n  A: acquire, acquire, write\n", nil, "0s A acquire granted; 0s A write ok"},
		{"a refused write is followed by the next", "clients:\n  A: acquire, write, read\n", refuse("A write", workloads.Refused), "0s A acquire granted; 0s A write refused; 0s A read ok"},
		{"an await that does not come", "clients:\n  A: acquire, write\n  B: await 9 queued or 3 leases, acquire, write\n", nil, "0s A acquire granted; 0s A write ok; 3s B acquire granted; 3s B write ok"},
		{"an await that need not come", "clients:\n  A: acquire, await B granted or 300ms, write\n  B: await A granted, acquire\n", nil, "0s A acquire granted; 300ms A write ok; 1s B acquire granted"},

		// Killed.
		{"a killed client goes on at its next acquire", "clients:\n  A: acquire, read, write, release, acquire, write\n" + strike("before A's write", "kill: A", "0.5 leases"), nil,
			"0s A acquire granted; 0s A read ok; 0s kill A; 500ms end kill A; 1s A acquire granted; 1s A write ok"},
		{"killed and started again while it thought", "clients:\n  A: acquire, work 1.3 leases, write, release, acquire, write\n" + strike("A's work", "kill: A", "0.5 leases"), nil,
			"0s A acquire granted; 0s kill A; 500ms end kill A; 1.3s A acquire granted; 1.3s A write ok"},
		{"killed while it waited for its turn", "clients:\n  A: acquire, release\n  B: await 300ms after A granted, acquire, write\n" + strike("B's await", "kill: B", "0.5 leases"), func(s *stage, _ *Runner) { s.takes["A acquire"] = 50 * time.Millisecond },
			"0s kill B; 50ms A acquire granted; 50ms A release ok; 500ms end kill B; 500ms B acquire granted; 500ms B write ok"},
		{"killed as it asks", "clients:\n  A: acquire, work 0.905 leases, release\n  B: await A granted, acquire, write, acquire, write\n" + strike("B waiting", "kill: B", "0.2 leases"), nil,
			"0s A acquire granted; 0s kill B; 200ms end kill B; 900ms A release ok; 910ms B acquire granted; 910ms B write ok"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := runSchedule(t, tt.text, tt.prepare)
			if got.err != nil {
				t.Error(got.err)
			}
			if log := strings.Join(got.log, "; "); log != tt.want {
				t.Errorf("done %s\nwant %s\ntold %q", log, tt.want, got.told)
			}
		})
	}
}

// What must come and does not ends the run, and says what it means.
func TestWhatMustCome(t *testing.T) {
	failed := func(s *stage, _ *Runner) { s.refuse["A acquire"] = workloads.Failed }
	for name, tt := range map[string]struct {
		text    string
		prepare func(*stage, *Runner)
		why     string
		unfit   bool
		busy    bool
	}{
		"an event": {"clients:\n  A: acquire\n  B: await 9 queued, acquire\n", nil, "discarded: B: await 9 queued: 9 in line did not come within 30s", false, false},
		"a grant that cannot come": {"clients:\n  A: acquire\n  B: await A granted, acquire\n", failed,
			"discarded: B: await A granted: A was not granted: its program is over", false, false},
		"a move that is passed over": {"clients:\n  A: acquire, write\n  B: await after A's write, acquire\n", failed,
			"discarded: B: await after A's write: after A's write did not come: A passed over its write, after a request that ended with failed: no server answered", false, false},
		"a move that is passed over after a grant": {"clients:\n  A: acquire, write, acquire, release, write\n  B: await after A's 2nd write, acquire\n", nil,
			"discarded: B: await after A's 2nd write: after A's 2nd write did not come: A passed over its write", false, false},
		"in time": {"clients:\n  A: acquire\n  B: await 9 queued within 1 lease as it does where many wait, acquire\n", nil,
			"discarded: B: await 9 queued within 1 lease as it does where many wait: 9 in line did not come within 1 lease, as it does where many wait", true, false},
		"the end of a fault": {"clients:\n  A: acquire, write\n" + strike("before A's write", "pause: A", "A lost"), nil,
			"discarded: pause: A: what ends it, A lost, did not come within 30s", false, false},
		"the end of a fault in time": {"clients:\n  A: acquire, write\n" + strike("before A's write", "pause: A", "A lost within 300ms as it is told"), nil,
			"discarded: pause: A: what ends it, A lost, did not come within 300ms, as it is told", true, false},
		"the end of a fault at a move that is passed over": {"clients:\n  A: acquire, write\n  B: acquire within 0.1 leases, write\n" + strike("before A's write", "pause: A", "after B's write"),
			func(s *stage, _ *Runner) {
				s.refuse["B acquire within 100ms"] = workloads.Failed
				s.takes["B acquire within 100ms"] = time.Millisecond
			}, "discarded: pause: A: after B's write did not come: B passed over its write, after a request that ended with failed", false, false},
		"an end that had come before": {"clients:\n  A: acquire, work 1.1 leases, write\n" + strike("before A's write", "pause: A", "lease of A over"), nil,
			"discarded: pause: A: what ends it, lease of A over, had come before it began: this machine is too busy", false, true},
		"what a lock can do": {"clients:\n  A: acquire, renew\n", func(s *stage, _ *Runner) { s.refuse["A renew"] = workloads.Cannot }, "discarded: A: renew: ", true, false},
	} {
		t.Run(name, func(t *testing.T) {
			got := runSchedule(t, tt.text, tt.prepare)
			var unfit *Unfit
			if got.err == nil || !strings.HasPrefix(got.err.Error(), tt.why) || errors.As(got.err, &unfit) != tt.unfit || errors.Is(got.err, ErrBusy) != tt.busy {
				t.Errorf("%v\nwant %s, unfit %v, busy %v", got.err, tt.why, tt.unfit, tt.busy)
			}
			const reason = "after a request that ended with"
			if got.err != nil && strings.Contains(got.err.Error(), reason) != strings.Contains(tt.why, reason) {
				t.Errorf("%v\nwant %s", got.err, tt.why)
			}
			if on := strings.Count(strings.Join(got.log, ";"), " pause "); on != strings.Count(strings.Join(got.log, ";"), " end pause ")*2 {
				t.Errorf("not healed: %q", got.log)
			}
		})
	}
}

// Members of a quorum that were killed answer only together.
func TestAllStartAtOnce(t *testing.T) {
	for name, until := range map[string]string{"by its end": "at once", "by the run's": "9 leases"} {
		t.Run(name, func(t *testing.T) {
			got := runSchedule(t, "clients:\n  A: acquire\n"+strike("start", "kill: servers", until), func(s *stage, _ *Runner) { s.servers = []string{"redis2", "redis3"} })
			if ends := strings.Count(strings.Join(got.log, ";"), "end kill"); got.err != nil || ends != 3 {
				t.Errorf("%d were started: %q, %v", ends, got.log, got.err)
			}
		})
	}
}

// A client whose process is reported to have ended while a kill of it takes effect was killed, and
// goes on with its program.
func TestKilledNotEnded(t *testing.T) {
	got := runSchedule(t, "clients:\n  A: acquire, write, acquire, write\n"+strike("A's write", "kill: A", "0.5 leases"), func(s *stage, r *Runner) {
		s.takes["A write"], s.lands = time.Second, 100*time.Millisecond
		time.AfterFunc(50*time.Millisecond, func() { r.Ended("A", "its process ended") })
	})
	if want := "A: write killed"; got.err != nil || !slices.Contains(got.told, want) {
		t.Errorf("%q, %v", got.told, got.err)
	}
}

// What is counted is counted from its trigger to its end.
func TestCount(t *testing.T) {
	var counts func() map[string]int
	got := runSchedule(t, "clients:\n  A: acquire, work 0.3 leases, work 0.3 leases, work 0.3 leases\ncount:\n  - what: wake-ups\n    when: before A's 2nd work\n    until: before A's 3rd work\n", func(s *stage, r *Runner) {
		counts = r.Counts
		for _, at := range []time.Duration{100, 400, 500, 700} {
			time.AfterFunc(at*time.Millisecond, func() { r.Woken("B") })
		}
	})
	if got.err != nil || counts()[WakeUps] != 2 {
		t.Errorf("%v, want 2 wake-ups (%v)", counts(), got.err)
	}
}

// A client is told that its grant is gone; what it does then is the run's choice.
func TestIgnoreLost(t *testing.T) {
	const text = "clients:\n  A: acquire, work 0.5 leases, write, release\n"
	for ignore, want := range map[bool]string{false: "0s A acquire granted; 500ms A release ok", true: "0s A acquire granted; 500ms A write ok; 500ms A release ok"} {
		got := runSchedule(t, text, func(s *stage, p *Runner) {
			p.IgnoreLost = ignore
			time.AfterFunc(200*time.Millisecond, func() {
				p.Observe(history.Event{Process: "A", F: history.Lost, Type: history.Info, Time: s.Now()})
			})
		})
		if log := strings.Join(got.log, "; "); got.err != nil || log != want {
			t.Errorf("ignoring %v: %s, want %s (%v)", ignore, log, want, got.err)
		}
	}
}

// Clients that wait for what does not come give up, once nothing happens any more.
func TestGiveUp(t *testing.T) {
	got := runSchedule(t, "clients:\n  A: acquire, work 0.5 leases\n  B: await A's acquire, acquire, write\n", func(s *stage, p *Runner) {
		p.Patience = 3 * time.Second
		s.until, s.holder = time.Now().Add(time.Hour), "another"
		s.refuse["A acquire"] = workloads.Granted
	})
	want := []string{"0s A acquire granted", "4s cancel A", "4s cancel B", "4s B acquire failed"}
	if got.err != nil || len(got.log) != 4 || got.log[0] != want[0] || !strings.HasSuffix(got.log[1], "cancel A") || !strings.HasSuffix(got.log[3], "B acquire failed") {
		t.Errorf("%q, want %q (%v)", got.log, want, got.err)
	}
}

// Before a client gives up that waits for the lock, another one that has come to its end asks for it, once: it is granted a lock that is free. Who may hold the
// lock still is not asked to.
func TestAskAfresh(t *testing.T) {
	const waits = "  B: await A granted, acquire, write\n"
	for _, c := range []struct {
		name, programs string
		change         func(*stage)
		want           []string
	}{
		{"free", "  A: acquire, release\n" + waits, nil, []string{"A acquire granted", "A release ok", "A acquire within 2s granted", "A release ok"}},
		{"its lease is over", "  A: acquire\n" + waits, nil, []string{"A acquire granted", "A acquire within 2s granted", "A release ok"}},
		{"the other key", "  A: acquire, release\n  B: await A granted, acquire key 2, write\n", nil, []string{"A acquire granted", "A release ok", "A acquire key 2 within 2s granted", "A release ok"}},
		{"taken", "  A: acquire, release\n" + waits, func(s *stage) { s.refuse["A acquire within 2s"] = workloads.Refused }, []string{"A acquire granted", "A release ok", "A acquire within 2s refused"}},
		{"at work", "  A: acquire, release, await B's write or 40 leases\n" + waits, nil, []string{"A acquire granted", "A release ok"}},
		{"nobody else", "  B: acquire, write\n", nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := runSchedule(t, "clients:\n"+c.programs, func(s *stage, p *Runner) {
				p.Patience, s.deaf = 3*time.Second, "B"
				if c.change != nil {
					c.change(s)
				}
			})
			var log []string
			for _, line := range got.log {
				_, what, _ := strings.Cut(line, " ")
				if strings.HasPrefix(what, "A ") {
					log = append(log, what)
				}
			}
			if got.err != nil || !slices.Equal(log, c.want) {
				t.Errorf("%q, want %q (%v)", log, c.want, got.err)
			}
		})
	}
}

// The told are the moves and the faults, with what came of them.
func TestRunnerTells(t *testing.T) {
	got := runSchedule(t, "clients:\n  A: acquire within 0.5 leases, write\n"+strike("before A's write", "pause: A", "0.1 leases"), func(s *stage, _ *Runner) {
		s.takes["A write"] = time.Millisecond // what is told at one instant has no order
	})
	want := []string{"A: acquire within 0.5 leases granted", "pause: A ", "end of pause: A ", "A: write ok"}
	if !slices.Equal(got.told, want) {
		t.Errorf("%q, want %q", got.told, want)
	}
}

// A run that is given up ends, and nobody is left behind.
func TestRunnerEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := Parse("mine.yaml", []byte(scheduleHead+"clients:\n  A: acquire, work 5 leases, write\n"+strike("A's work", "pause: A", "")))
		if err != nil {
			t.Fatal(err)
		}
		st := emptyStage()
		p := NewRunner(s, st, nil)
		st.runner = p
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("enough")
		time.AfterFunc(time.Second, func() { cancel(why) })
		if err := p.Run(ctx); !errors.Is(err, why) {
			t.Errorf("%v", err)
		}
		if err := p.Heal(t.Context()); err != nil || len(st.healed) != 1 {
			t.Errorf("healed %q, %v", st.healed, err)
		}
		st.perform.Wait()
	})
}
