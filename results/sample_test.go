package results

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/checker/verdict"
	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/internal/format"
	"github.com/picklock/picklock/workloads"
)

// sample is a run as the harness would hand it over.
type sample struct {
	run     Run
	events  []history.Event
	effects []history.Effect
	verdict checker.Verdict
}

const ms = int64(time.Millisecond)

// sim runs one lock on one key among clients, step by step in time, with the
// faults that a sample wants.
type sim struct {
	sample
	rng     *rand.Rand
	clients []string
	n       map[string]int // grants by client
	token   int64
	now     int64
}

func (s *sim) event(at int64, e history.Event) int {
	e.Time = at
	s.events = append(s.events, e)
	return len(s.events) - 1
}

func (s *sim) effect(e history.Effect) {
	s.effects = append(s.effects, e)
}

// section is one client's whole critical section, granted at s.now.
func (s *sim) section(c string, asked int64, lease int64, held int64, fenced bool) (grant string, token int64) {
	s.n[c]++
	s.token++
	grant, token = fmt.Sprintf("%s.%d", c, s.n[c]), s.token
	at := s.now
	asked = max(asked, ms)
	s.event(asked, history.Event{Process: c, Type: history.Invoke, F: history.Acquire, Key: "k0"})
	s.event(at, history.Event{Process: c, Type: history.OK, F: history.Acquire, Key: "k0", Grant: grant, Token: tokenOf(fenced, token), Since: max(asked, at-2*ms), Lease: lease})
	s.event(at+ms/2, history.Event{Process: c, Type: history.Invoke, F: history.Read, Key: "k0", Grant: grant, Token: tokenOf(fenced, token)})
	s.event(at+ms, history.Event{Process: c, Type: history.OK, F: history.Read, Key: "k0", Grant: grant})
	s.effect(history.Effect{Time: at + 3*ms/4, Process: c, F: history.Read, Key: "k0", Grant: grant, Token: tokenOf(fenced, token)})
	s.write(c, grant, tokenOf(fenced, token), at+held, "")
	s.event(at+held+2*ms, history.Event{Process: c, Type: history.Invoke, F: history.Release, Key: "k0", Grant: grant})
	s.event(at+held+3*ms, history.Event{Process: c, Type: history.OK, F: history.Release, Key: "k0", Grant: grant, Held: true})
	s.now = at + held + 4*ms
	return grant, token
}

func tokenOf(fenced bool, t int64) int64 {
	if fenced {
		return t
	}
	return 0
}

func (s *sim) write(c, grant string, token, at int64, refuse string) {
	value := grant + ".1"
	s.event(at, history.Event{Process: c, Type: history.Invoke, F: history.Write, Key: "k0", Grant: grant, Token: token, Value: value})
	e := history.Event{Process: c, Type: history.OK, F: history.Write, Key: "k0", Grant: grant, Value: value}
	if refuse != "" {
		e.Type, e.Error = history.Fail, refuse
	}
	s.effect(history.Effect{Time: at + ms/2, Process: c, F: history.Write, Key: "k0", Grant: grant, Token: token, Value: value, Error: refuse})
	s.event(at+ms, e)
}

func newSim(seed uint64, clients int) *sim {
	s := &sim{rng: rand.New(rand.NewPCG(seed, 1)), n: map[string]int{}, now: 40 * ms}
	for i := range clients {
		s.clients = append(s.clients, fmt.Sprintf("c%d", i+1))
	}
	return s
}

// number orders the events and the effects, gives them their indexes, and runs
// the register.
func (s *sim) number() {
	history.Sort(s.events)
	for i := range s.events {
		s.events[i].Index = int64(i)
	}
	slices.SortStableFunc(s.effects, func(a, b history.Effect) int { return int(a.Time - b.Time) })
	var value string
	var version, highest int64
	read := map[string]string{}
	for i := range s.effects {
		e := &s.effects[i]
		highest = max(highest, e.Token)
		switch {
		case e.F == history.Read:
			e.Value, read[e.Grant] = value, value
		case e.Error == "":
			value = e.Value
			version++
		}
		e.Seq, e.Version, e.Highest = int64(i+1), version, highest
	}
	for i := range s.events {
		if e := &s.events[i]; e.F == history.Read && e.Type == history.OK {
			e.Value = read[e.Grant]
		}
	}
}

func (s *sim) find(process, f string, typ history.Type, grant string) int64 {
	for i := range s.events {
		if e := &s.events[i]; e.Process == process && e.F == f && e.Type == typ && e.Grant == grant {
			return e.Index
		}
	}
	return -1
}

// redisPaused is redis without fencing: now and then the holder is paused
// between its read and its write, another client is granted the lock meanwhile,
// and the first one writes all the same.
func redisPaused(pauses int) sample {
	s := newSim(7, 5)
	lease := 1000 * ms
	type hit struct {
		a, b, ga, gb             string
		grantB, wake, writeA, on int64
	}
	var found []hit
	for p := 0; p < pauses; p++ {
		for i := range 14 {
			c := s.clients[(i*3+p+s.rng.IntN(2))%5]
			s.section(c, s.now-int64(5+s.rng.IntN(60))*ms, lease, int64(40+s.rng.IntN(50))*ms, false)
			s.now += int64(s.rng.IntN(30)) * ms
		}
		s.now += 80 * ms
		a, b := s.clients[p%5], s.clients[(p+2)%5]
		s.n[a]++
		ga := fmt.Sprintf("%s.%d", a, s.n[a])
		at := s.now
		s.event(at-20*ms, history.Event{Process: a, Type: history.Invoke, F: history.Acquire, Key: "k0"})
		s.event(at, history.Event{Process: a, Type: history.OK, F: history.Acquire, Key: "k0", Grant: ga, Since: at - 2*ms, Lease: lease})
		s.event(at+ms/2, history.Event{Process: a, Type: history.Invoke, F: history.Read, Key: "k0", Grant: ga})
		s.event(at+ms, history.Event{Process: a, Type: history.OK, F: history.Read, Key: "k0", Grant: ga})
		s.effect(history.Effect{Time: at + 3*ms/4, Process: a, F: history.Read, Key: "k0", Grant: ga})
		on := at + 6*ms
		wake := at + 1400*ms
		s.event(on, history.Event{Process: history.Nemesis, Type: history.Info, F: "pause", Nodes: []string{a}, Phase: history.Begin, Confirmed: true, Detail: "SIGSTOP, seen stopped in /proc"})
		s.event(wake, history.Event{Process: history.Nemesis, Type: history.Info, F: "pause", Nodes: []string{a}, Phase: history.End})
		s.now = at + 1003*ms
		grantB := s.now
		gb, _ := s.section(b, at+60*ms, lease, 470*ms, false)
		s.write(a, ga, 0, wake+12*ms, "")
		s.event(wake+20*ms, history.Event{Process: a, Type: history.Invoke, F: history.Release, Key: "k0", Grant: ga})
		s.event(wake+21*ms, history.Event{Process: a, Type: history.Fail, F: history.Release, Key: "k0", Grant: ga, Error: "redis: the key is no longer ours"})
		found = append(found, hit{a, b, ga, gb, grantB, wake, wake + 13*ms, on})
		for i, c := range s.clients {
			if c != a && c != b {
				s.event(at+int64(80+i*30)*ms, history.Event{Process: c, Type: history.Invoke, F: history.Acquire, Key: "k0"})
				s.event(at+int64(1900+i*30)*ms, history.Event{Process: c, Type: history.Fail, F: history.Acquire, Key: "k0", Error: "timeout"})
			}
		}
		s.now = at + 2100*ms
	}
	s.number()
	v := checker.Verdict{Valid: checker.False, Promises: checker.True, Properties: map[string]checker.Property{
		checker.Exclusion: {Valid: checker.True, Required: true, Why: "no two certainly alive leases of one key intersect"},
		checker.Belief:    {Valid: checker.False, Anomalies: pauses, Why: "a client pause longer than the lease breaks it for every lease"},
		checker.Tokens:    {Valid: checker.True, Required: true, Why: "the lock has no tokens"},
		checker.Register:  {Valid: checker.False, Required: true, Anomalies: pauses, Why: "a write of an older grant was accepted after a newer grant's"},
		checker.Liveness:  {Valid: checker.True, Required: true, Why: "the longest wait for a free lock was 61 ms of 5 s"},
	}}
	for _, h := range found {
		evidence := []int64{s.find(h.a, history.Acquire, history.OK, h.ga), s.find(h.b, history.Acquire, history.OK, h.gb),
			s.find(h.a, history.Write, history.Invoke, h.ga), s.find(h.a, history.Write, history.OK, h.ga)}
		var seqs []int64
		for _, e := range s.effects {
			if e.Grant == h.gb && e.F == history.Read || e.Grant == h.ga && e.F == history.Write {
				seqs = append(seqs, e.Seq)
			}
		}
		v.Anomalies = append(v.Anomalies,
			checker.Anomaly{Name: "two-holders", Property: checker.Belief, Key: "k0", Processes: []string{h.a, h.b}, Grants: []string{h.ga, h.gb}, Time: h.grantB,
				Events: []int64{evidence[0], evidence[1], s.find(h.a, history.Release, history.Invoke, h.ga)}, Faults: []string{"pause"}, Suspect: &verdict.Suspect{Fault: "pause", Nodes: []string{"c1"}, On: verdict.OnClient}, Cause: "lease-outlived",
				Sizes:       map[string]int64{"overlap": 417 * ms},
				Explanation: fmt.Sprintf("%s and %s both believed that they held k0 for 417 ms: %s outlived its lease while it was paused.", h.a, h.b, h.a)},
			checker.Anomaly{Name: "stale-write", Property: checker.Register, Key: "k0", Processes: []string{h.a, h.b}, Grants: []string{h.ga, h.gb}, Time: h.writeA,
				Events: evidence, Effects: seqs, Faults: []string{"pause"}, Suspect: &verdict.Suspect{Fault: "pause", Nodes: []string{"c1"}, On: verdict.OnClient}, Cause: "lease-outlived", Sizes: map[string]int64{"late": h.writeA - h.grantB},
				Explanation: fmt.Sprintf("%s's write was accepted at %s, %s after %s was granted the lock: %s's lease had ended while it was paused, and it did not notice.", h.a, format.Instant(h.writeA), format.Page.Length(h.writeA-h.grantB), h.b, h.a)})
	}
	s.stats(&v)
	v.Stats.Faults = map[string]checker.FaultCount{"pause": {Injected: pauses, Confirmed: pauses}}
	v.Stats.FirstAnomaly = found[0].writeA
	s.verdict = v
	s.run = Run{Settings: workloads.Settings{Lock: "redis", Cluster: "redis", Workload: "register", Faults: []string{"pause:holder"}, Fencing: "none", Clients: 5, Keys: 1, TTL: time.Second, WorkTime: 50 * time.Millisecond, Limit: 30 * time.Second, Seed: 7}, Command: []string{"run", "--lock", "redis", "--faults", "pause:holder", "--fencing", "none", "--clients", "5", "--ttl", "1s", "--duration", "30s"}, Started: time.Date(2026, 11, 21, 14, 3, 9, 0, time.UTC), About: "SET NX PX and compare-and-delete on one Redis", Runtime: "local", Bound: 5 * time.Second, Nodes: nodes(s.clients, "redis1"), Versions: map[string]string{"picklock": "0.1.0", "go": "go1.26.8", "redis-server": "7.0.15"}, Machine: Machine{OS: "linux", Arch: "amd64", Kernel: "6.18.5", CPUs: 2}}
	return s.sample
}

func nodes(clients []string, servers ...string) []Node {
	var out []Node
	for i, n := range servers {
		out = append(out, Node{Name: n, Role: roleServer, Addr: fmt.Sprintf("10.0.0.%d:6379", i+2)})
	}
	for i, c := range clients {
		out = append(out, Node{Name: c, Role: roleClient, Addr: fmt.Sprintf("10.0.1.%d", i+2)})
	}
	return append(out, Node{Name: "register", Role: roleRegister, Addr: "10.0.2.2:7000"})
}

func (s *sim) stats(v *checker.Verdict) {
	st := &v.Stats
	st.Events = len(s.events)
	for _, e := range s.events {
		st.Duration = max(st.Duration, e.Time)
		if e.F == history.Acquire && e.Type == history.OK {
			st.Grants++
			if st.FirstGrant == 0 {
				st.FirstGrant = e.Time
			}
		}
	}
	st.Contested = st.Grants * 9 / 10
	for _, e := range s.effects {
		switch {
		case e.Error != "":
			st.Rejected++
		case e.F == history.Write:
			st.Writes++
		}
	}
}

// etcdValid is etcd with fencing under four kinds of fault: nothing breaks, and
// the paused holder's write is refused.
func etcdValid(sections int) sample {
	s := newSim(11, 5)
	servers := []string{"etcd1", "etcd2", "etcd3"}
	count := map[string]checker.FaultCount{}
	lease := 2000 * ms
	var slept [][2]string // the grants that were held at once
	for i := range sections {
		c := s.clients[s.rng.IntN(5)]
		if i%40 == 20 {
			// the holder sleeps over its lease, and the register refuses it
			s.n[c]++
			s.token++
			g, tok := fmt.Sprintf("%s.%d", c, s.n[c]), s.token
			at := s.now
			s.event(at-30*ms, history.Event{Process: c, Type: history.Invoke, F: history.Acquire, Key: "k0"})
			s.event(at, history.Event{Process: c, Type: history.OK, F: history.Acquire, Key: "k0", Grant: g, Token: tok, Since: at - 2*ms, Lease: lease})
			s.event(at+ms, history.Event{Process: c, Type: history.Invoke, F: history.Read, Key: "k0", Grant: g, Token: tok})
			s.event(at+2*ms, history.Event{Process: c, Type: history.OK, F: history.Read, Key: "k0", Grant: g})
			s.effect(history.Effect{Time: at + 3*ms/2, Process: c, F: history.Read, Key: "k0", Grant: g, Token: tok})
			s.event(at+5*ms, history.Event{Process: history.Nemesis, Type: history.Info, F: "pause", Nodes: []string{c}, Phase: history.Begin, Confirmed: true})
			s.event(at+2600*ms, history.Event{Process: history.Nemesis, Type: history.Info, F: "pause", Nodes: []string{c}, Phase: history.End})
			d := s.clients[(slices.Index(s.clients, c)+1)%5]
			s.now = at + 2100*ms
			gd, _ := s.section(d, at+50*ms, lease, 200*ms, true)
			slept = append(slept, [2]string{g, gd})
			s.write(c, g, tok, at+2610*ms, fmt.Sprintf("stale token %d < %d", tok, s.token))
			s.event(at+2630*ms, history.Event{Process: c, Type: history.Info, F: history.Lost, Key: "k0", Grant: g})
			f := count["pause"]
			count["pause"] = checker.FaultCount{Injected: f.Injected + 1, Confirmed: f.Confirmed + 1}
			s.now = at + 2700*ms
			continue
		}
		s.section(c, s.now-int64(5+s.rng.IntN(120))*ms, lease, int64(30+s.rng.IntN(60))*ms, true)
		if i%15 == 7 {
			f := []string{"partition", "clock", "kill", "partition"}[i/15%4]
			on := []string{servers[s.rng.IntN(3)]}
			detail := map[string]string{"partition": on[0] + " cut from the other servers", "clock": "clock +2m0s", "kill": "SIGKILL, restarted with its data"}[f]
			if f == "partition" && i%2 == 0 {
				on = []string{s.clients[s.rng.IntN(5)], "register"}
				detail = on[0] + " cut from register"
			}
			confirmed := i != 37
			s.event(s.now+3*ms, history.Event{Process: history.Nemesis, Type: history.Info, F: f, Nodes: on, Phase: history.Begin, Confirmed: confirmed, Detail: detail})
			s.event(s.now+int64(700+s.rng.IntN(1500))*ms, history.Event{Process: history.Nemesis, Type: history.Info, F: f, Nodes: on, Phase: history.End})
			n := count[f]
			n.Injected++
			if confirmed {
				n.Confirmed++
			}
			count[f] = n
		}
		s.now += int64(s.rng.IntN(100)) * ms
	}
	s.number()
	v := checker.Verdict{Valid: checker.True, Properties: map[string]checker.Property{
		checker.Exclusion: {Valid: checker.True, Required: true, Why: "no two certainly alive leases of one key intersect"},
		checker.Belief:    {Valid: checker.False, Anomalies: 1, Why: "a client pause longer than the lease breaks it for every lease"},
		checker.Tokens:    {Valid: checker.True, Required: true, Why: "all grants carry rising tokens"},
		checker.Register:  {Valid: checker.True, Required: true, Why: "linearizable; every write of an older grant was refused"},
		checker.Liveness:  {Valid: checker.True, Required: true, Why: "the longest wait for a free lock was 840 ms of 5 s"},
	}}
	for _, g := range slept {
		a, _, _ := strings.Cut(g[0], ".")
		b, _, _ := strings.Cut(g[1], ".")
		at := s.find(b, history.Acquire, history.OK, g[1])
		v.Anomalies = append(v.Anomalies, checker.Anomaly{Name: "two-holders", Property: checker.Belief, Key: "k0", Processes: []string{a, b}, Grants: []string{g[0], g[1]},
			Time: s.events[at].Time, Events: []int64{s.find(a, history.Acquire, history.OK, g[0]), at, s.find(a, history.Lost, history.Info, g[0])},
			Faults: []string{"pause"}, Suspect: &verdict.Suspect{Fault: "pause", Nodes: []string{"c1"}, On: verdict.OnClient}, Cause: "lease-outlived", Sizes: map[string]int64{"overlap": 202 * ms},
			Explanation: fmt.Sprintf("%s and %s both believed that they held k0 for 202 ms: %s outlived its lease while it was paused.", a, b, a)})
	}
	belief := v.Properties[checker.Belief]
	belief.Anomalies = len(slept)
	v.Properties[checker.Belief] = belief
	s.stats(&v)
	v.Stats.Faults = count
	s.verdict = v
	s.run = Run{Settings: workloads.Settings{Lock: "etcd", Cluster: "etcd", Workload: "register", Faults: []string{"pause", "kill", "partition", "clock"}, Fencing: "read-write", Clients: 5, Keys: 1, TTL: 2 * time.Second, WorkTime: 50 * time.Millisecond, Limit: 60 * time.Second, Seed: 11}, Command: []string{"run", "--lock", "etcd", "--faults", "pause,kill,partition,clock", "--fencing", "read-write", "--seed", "11"}, Started: time.Date(2026, 11, 21, 14, 5, 0, 0, time.UTC), About: "clientv3 concurrency.Mutex on three etcd", Runtime: "local", Bound: 5 * time.Second, Nodes: nodes(s.clients, servers...), Versions: map[string]string{"etcd": "3.7.3", "go": "go1.26.8"}, Machine: Machine{OS: "linux", Arch: "amd64", CPUs: 2}}
	return s.sample
}

// nothingContested is a run that proves nothing.
func nothingContested() sample {
	s := etcdValid(30)
	s.verdict.Valid = checker.Unknown
	s.verdict.Why = "the fault clock was requested and never took effect"
	s.verdict.Stats.Faults["clock"] = checker.FaultCount{Injected: 3}
	return s
}
