package scenarios

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/workloads"
)

// stage is a lock with a lease of a second on one server, clients that can be
// paused, and a log of what was done, in the bubble's own time.
type stage struct {
	runner *Runner
	start  time.Time

	mu       sync.Mutex
	log      []string
	holder   string
	until    time.Time
	paused   map[string]chan struct{}
	killed   map[string]bool
	entries  map[string]int               // of who has entered the lock once more
	refuse   map[string]workloads.Outcome // what an act comes to instead, by "A write"
	broken   map[string]error             // faults that do not land, by kind
	healed   []string
	unread   int
	messages int                      // that an act brings
	unheard  bool                     // an act is over before its gate is known to have shut
	timed    bool                     // the log says when
	lands    time.Duration            // how long it takes a fault to land
	hangs    bool                     // a fault takes until the run is over
	takes    map[string]time.Duration // how long acts take, by "A write"
	gates    map[string]*gate         // that are shut, by client
	perform  sync.WaitGroup
	servers  []string // besides redis; of those that were killed none starts before all of them do
	leader   string
	asked    []string       // for faults: the kind, and whom
	started  sync.WaitGroup // counts those that have still to
	deaf     string         // a client that waits for the lock even if it is free
	skip     time.Duration  // that the machine loses between two looks at the clock
	skipped  atomic.Int64
}

func emptyStage() *stage {
	return &stage{start: time.Now(), paused: map[string]chan struct{}{}, killed: map[string]bool{}, entries: map[string]int{}, refuse: map[string]workloads.Outcome{}, broken: map[string]error{}, gates: map[string]*gate{}, takes: map[string]time.Duration{}}
}

func (s *stage) Now() int64                             { return int64(time.Since(s.start)) + 1 + s.skipped.Add(int64(s.skip)) }
func (s *stage) Servers() []string                      { return append([]string{"redis"}, s.servers...) }
func (s *stage) Leader(context.Context) (string, error) { return s.leader, nil }
func (s *stage) Mark(context.Context, string) error {
	s.say("mark")
	return nil
}

func (s *stage) say(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.note(format, args...)
}

// note is say where s.mu is held.
func (s *stage) note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if s.timed {
		text = fmt.Sprint(time.Since(s.start).Truncate(10*time.Millisecond), " ", text)
	}
	s.log = append(s.log, text)
}

func (s *stage) Look(context.Context, string) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.holder != "" && time.Now().Before(s.until) {
		return 1, nil
	}
	return 0, nil
}

func (s *stage) Unread(context.Context, string) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.unread, nil
}

func (s *stage) Messages(_ context.Context, from, to []string, count int) error {
	s.say("%d held from %s to %s", count, strings.Join(from, ","), strings.Join(to, ","))
	return nil
}

func (s *stage) Deliver(_ context.Context, from, to []string, count int) error {
	s.say("%d delivered from %s to %s", count, strings.Join(from, ","), strings.Join(to, ","))
	return nil
}

// gate is one whose messages pass as the test says: so many in all for an act.
type gate struct {
	stage  *stage
	name   string
	passed int
	shut   chan struct{}
	open   chan struct{}
	dead   bool // its client, when it was opened
}

func (g *gate) Shut() <-chan struct{}               { return g.shut }
func (g *gate) Passed(context.Context) (int, error) { return g.passed, nil }
func (g *gate) Open(context.Context) error {
	g.stage.say("open %s", g.name)
	g.stage.mu.Lock()
	g.dead = g.stage.killed[g.name[:1]]
	g.stage.mu.Unlock()
	close(g.open)
	return nil
}

// Gate shuts at once where the client's acts bring enough messages; its next act does not
// end before it is opened.
func (s *stage) Gate(_ context.Context, r GateRequest) (Gate, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.broken["gate"]; err != nil {
		return nil, err
	}
	g := &gate{stage: s, name: fmt.Sprintf("%s %d", r.Client, r.N), passed: min(s.messages, r.N), shut: make(chan struct{}), open: make(chan struct{})}
	if r.Answered {
		g.name += " answered"
	}
	g.name = strings.Join(append([]string{g.name}, r.To...), " ")
	s.note("gate %s", g.name)
	if g.passed == r.N && !s.unheard {
		close(g.shut)
		s.gates[r.Client] = g
	}
	return g, nil
}

func (s *stage) Inject(ctx context.Context, d FaultRequest) (func(context.Context) error, error) {
	name := d.Kind + " " + strings.Join(d.Nodes, ",")
	time.Sleep(s.lands)
	if s.hangs {
		<-ctx.Done()
		return nil, fmt.Errorf("still there: %w", ctx.Err())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := name
	if len(d.Peers) > 0 {
		asked += "-" + strings.Join(d.Peers, ",")
	}
	s.asked = append(s.asked, asked)
	if err := s.broken[d.Kind]; err != nil {
		return nil, err
	}
	said := name
	if d.Slow.Delay > 0 || d.Loss > 0 {
		said += fmt.Sprint(" ", d.Slow, " ", d.Loss)
	}
	if d.Flap > 0 {
		said += fmt.Sprint(" ", d.Flap)
	}
	s.note("%s", said)
	if d.Kind == "pause" {
		s.paused[d.Nodes[0]] = make(chan struct{})
	}
	if d.Kind == "kill" {
		s.killed[d.Nodes[0]] = true
	}
	quorum := d.Kind == "kill" && len(s.servers) > 0 && slices.Contains(s.Servers(), d.Nodes[0])
	if quorum {
		s.started.Add(1)
	}
	return func(context.Context) error {
		if quorum {
			s.started.Done()
			s.started.Wait()
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.note("end %s", name)
		s.healed = append(s.healed, name)
		if d.Kind == "kill" {
			s.killed[d.Nodes[0]] = false
		}
		if d.Kind == "pause" {
			close(s.paused[d.Nodes[0]])
			delete(s.paused, d.Nodes[0])
		}
		return nil
	}, nil
}

func (s *stage) Act(client, act string) (<-chan workloads.Done, error) {
	done := make(chan workloads.Done, 1)
	s.perform.Go(func() {
		s.mu.Lock()
		paused, gate := s.paused[client], s.gates[client]
		delete(s.gates, client)
		s.mu.Unlock()
		if gate != nil {
			if <-gate.open; gate.dead {
				return
			}
		}
		if paused != nil {
			<-paused
		}
		time.Sleep(s.takes[client+" "+act])
		if do, other := strings.CutSuffix(act, " other"); other {
			outcome := workloads.Did
			if do == history.Acquire {
				outcome = workloads.Granted
			}
			s.mu.Lock()
			s.note("%s %s %s", client, act, outcome)
			s.mu.Unlock()
			for _, typ := range []history.Type{history.Invoke, history.OK} {
				s.runner.Observe(history.Event{Process: client, F: do, Type: typ, Key: "other", Grant: client + " other", Time: s.Now()})
			}
			done <- workloads.Done{Outcome: outcome}
			return
		}
		if act == enters && s.refuse[client+" "+act] == "" {
			s.enter(client)
			done <- workloads.Done{Outcome: workloads.Granted}
			return
		}
		if strings.HasPrefix(act, history.Acquire) && act != enters {
			if outcome := s.acquire(client, act); outcome != "" {
				done <- workloads.Done{Outcome: outcome}
			}
			return
		}
		outcome := workloads.Did
		s.mu.Lock()
		if o := s.refuse[client+" "+act]; o != "" {
			outcome = o
		}
		grant := client
		if act == history.Release && s.entries[client] > 0 {
			s.entries[client]--
			grant = "an entry"
		} else if act == history.Release && s.holder == client {
			s.holder = ""
		}
		s.note("%s %s %s", client, act, outcome)
		s.mu.Unlock()
		if act == history.Release {
			s.runner.Observe(history.Event{Process: client, F: history.Release, Type: history.OK, Grant: grant, Time: s.Now()})
		}
		done <- workloads.Done{Outcome: outcome}
	})
	return done, nil
}

// enters is the act of a client that enters the lock once more.
const enters = "acquire nested"

func (s *stage) enter(client string) {
	e := history.Event{Process: client, F: history.Acquire, Mode: history.Nested, Type: history.Invoke, Time: s.Now()}
	s.runner.Observe(e)
	s.mu.Lock()
	s.entries[client]++
	s.until = time.Now().Add(time.Second)
	s.note("%s %s %s", client, enters, workloads.Granted)
	s.mu.Unlock()
	e.Type, e.Grant, e.Time, e.Since, e.Lease = history.OK, "an entry", s.Now(), s.Now(), int64(time.Second)
	s.runner.Observe(e)
}

// acquire waits for the lock; "" says that the client was killed. The log has the grant before
// anybody sees it: what follows from it at the same time comes after it.
func (s *stage) acquire(client, act string) workloads.Outcome {
	s.runner.Observe(history.Event{Process: client, F: history.Acquire, Type: history.Invoke, Time: s.Now()})
	for {
		s.mu.Lock()
		if o := cmp.Or(s.refuse[client+" acquire"], s.refuse[client+" "+act]); o != "" {
			s.note("%s %s %s", client, act, o)
			s.mu.Unlock()
			if o != workloads.Granted {
				s.runner.Observe(history.Event{Process: client, F: history.Acquire, Type: history.Fail, Error: "no server answered", Time: s.Now()})
			}
			return o
		}
		if s.killed[client] {
			s.mu.Unlock()
			return ""
		}
		if client != s.deaf && (s.holder == "" || !time.Now().Before(s.until)) {
			s.holder, s.until = client, time.Now().Add(time.Second)
			s.note("%s %s %s", client, act, workloads.Granted)
			s.mu.Unlock()
			s.runner.Observe(history.Event{Process: client, F: history.Acquire, Type: history.OK, Grant: client, Time: s.Now(), Since: s.Now(), Lease: int64(time.Second)})
			return workloads.Granted
		}
		s.mu.Unlock()
		s.runner.Waiting(client)
		time.Sleep(10 * time.Millisecond)
	}
}
