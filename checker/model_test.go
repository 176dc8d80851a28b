package checker

import (
	"container/heap"
	"fmt"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/picklock/picklock/history"
)

const ms = int64(1e6)

// traits are what one simulated lock service, its clients and its network are like.
type traits struct {
	clients  int
	permits  int   // of a semaphore; 0: a mutex
	shared   bool  // a read-write lock
	nested   bool  // a reentrant lock
	lease    int64 // 0: a hold ends by its release, or with its client's connection
	tokens   bool
	fencing  bool // with tokens: the register refuses what is older than it has seen
	careful  bool // clients look at their lease before each step
	watchdog bool // the library renews by itself
	silent   bool // and says nothing of its leases
	polls    bool // a client that waits asks again and again
	try      bool // an acquire that finds the lock taken fails at once
	confirms bool // answers say whether the grant was in force
	agrees   bool // a release of what is no longer held is no error
	faults   bool
	losses   bool // answers and requests get lost
	bug      string
}

// bugs are what a simulated service can do wrong.
var bugs = []string{"early", "forgets", "frees anyone's", "two at once", "tokens repeat", "tokens fall", "extends the lost", "revokes", "loses a waiter", "by a clock", "frees anyone's, by a clock", "keeps the lock"}

// service is the truth: who holds the lock.
type service struct {
	holds   []*serviceHold
	waiting []*serviceWait
	token   int64
}

type serviceHold struct {
	id, token int64
	owner     string
	mode      string
	entries   int
	until     int64 // -1: without a lease
}

type serviceWait struct {
	owner, mode string
	granted     func(*serviceHold)
	gone        bool
}

// model runs traits through time and writes down what its clients saw.
type model struct {
	traits
	t        *rapid.T
	now      int64
	end      int64
	queue    timers
	order    int
	service  service
	ids      int64
	in       Input
	clients  []*modelClient
	register struct {
		value   string
		highest int64
		seq     int64
		version int64
	}
	prompt bool     // what is sent now is not held up: a library has no excuse for renewing late
	down   interval // the server stands still
	ahead  int64    // by how much the server's clock is
}

type modelClient struct {
	m      *model
	name   string
	grants int
	dead   int64
	life   int // a process that was killed has another
	paused interval
	cut    interval
	held   []*modelGrant
}

// modelGrant is what a client knows of one grant.
type modelGrant struct {
	id    string
	hold  *serviceHold
	until int64 // by its own reckoning; 0 without a lease
	token int64
	over  bool // released, lost, or given up
	again bool // it is released once more
	mode  string
}

type timer struct {
	at    int64
	order int
	do    func()
}

type timers []timer

func (q timers) Len() int { return len(q) }
func (q timers) Less(i, j int) bool {
	return q[i].at < q[j].at || q[i].at == q[j].at && q[i].order < q[j].order
}
func (q timers) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *timers) Push(x any)   { *q = append(*q, x.(timer)) }
func (q *timers) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}

func (m *model) at(t int64, do func()) {
	m.order++
	heap.Push(&m.queue, timer{max(t, m.now), m.order, do})
}

func (m *model) pick(name string, lo, hi int64) int64 {
	return rapid.Int64Range(lo, hi).Draw(m.t, name)
}

// chance is true in about percent of 100 draws, and never in the simplest.
func (m *model) chance(name string, percent int64) bool { return m.pick(name, 0, 99) >= 100-percent }

// way is how long a message is under way.
func (m *model) way() int64 {
	d := m.pick("way", 1, 20) * ms / 4
	if m.faults && !m.prompt && m.chance("slow", 4) {
		part := int64(20)
		if m.silent { // no answer that is as late as the lease is long: nothing would show how much of it is left
			part = 100
		}
		d += m.pick("late", 1, 30) * max(m.lease, 200*ms) / part
	}
	return d
}

func (m *model) log(e history.Event) {
	e.Time = m.now
	m.in.Events = append(m.in.Events, e)
}

func (m *model) event(c *modelClient, typ history.Type, f, grant string) history.Event {
	e := history.Event{Process: c.name, Type: typ, F: f, Key: "k", Grant: grant}
	if f == history.Acquire {
		e.Permits = int64(m.permits)
	}
	return e
}

// send carries a request to the server and what it answers back; lost says that the client
// will wait in vain.
func (m *model) send(c *modelClient, carried func() (answer func())) (lost bool) {
	at := m.now + m.way()
	if c.cut.from <= m.now && m.now < c.cut.to {
		if at = c.cut.to + m.way(); m.losses && m.chance("request lost", 50) {
			return true
		}
	}
	lost = m.losses && m.chance("answer lost", 5)
	if m.losses && m.chance("request lost", 5) {
		return true
	}
	if m.down.from <= at && at < m.down.to {
		at = m.down.to
	}
	life := c.life
	m.at(at, func() {
		answer := carried()
		if answer != nil && !lost {
			m.back(c, life, answer)
		}
		m.prompt = false
	})
	return lost
}

// back carries an answer to a client.
func (m *model) back(c *modelClient, life int, answer func()) {
	at := m.now + m.way()
	if c.cut.from <= m.now && m.now < c.cut.to {
		at = c.cut.to + m.way()
	}
	m.at(at, func() { c.awake(life, answer) })
}

// awake does something in a client's process, if that runs; later, if it stands still.
func (c *modelClient) awake(life int, do func()) {
	switch {
	case c.life != life:
	case c.paused.from <= c.m.now && c.m.now < c.paused.to:
		c.m.at(c.paused.to, func() { c.awake(life, do) })
	default:
		do()
	}
}

func (c *modelClient) after(d int64, do func()) {
	life := c.life
	c.m.at(c.m.now+d, func() { c.awake(life, do) })
}

func simulated(t *rapid.T, is traits) *model {
	m := &model{traits: is, t: t, end: 20_000 * ms}
	m.in.Options.TTL = is.lease
	for i := range is.clients {
		c := &modelClient{m: m, name: fmt.Sprintf("c%d", i+1), paused: interval{-1, -1}, cut: interval{-1, -1}}
		m.clients = append(m.clients, c)
		rounds := m.pick("rounds", 1, 4)
		c.after(m.pick("start", 0, 20)*ms, func() { c.round(rounds) })
	}
	m.down = interval{-1, -1}
	if is.faults {
		for range m.pick("faults", 1, 3) {
			m.fault()
		}
	}
	if is.bug == "forgets" {
		m.at(m.pick("forgets", 1, 60)*max(is.lease, 100*ms)/20, m.forget)
	}
	for len(m.queue) > 0 {
		next := heap.Pop(&m.queue).(timer)
		if next.at > m.end {
			break
		}
		m.now = next.at
		next.do()
	}
	m.now = max(m.now, 1) + ms
	m.log(history.Event{Process: history.Nemesis, Type: history.Info, F: "end", Phase: history.Begin})
	slices.SortStableFunc(m.in.Events, func(a, b history.Event) int { return int(a.Time - b.Time) })
	for i := range m.in.Events {
		m.in.Events[i].Index = int64(i)
	}
	return m
}

// fault puts one fault into the run.
func (m *model) fault() {
	from := m.pick("begins", 1, 60) * max(m.lease, 100*ms) / 20
	to := from + m.pick("lasts", 1, 40)*max(m.lease, 100*ms)/20
	c := m.clients[m.pick("whose", 0, int64(len(m.clients)-1))]
	begin := func(f string, nodes ...string) {
		m.log(history.Event{Process: history.Nemesis, Type: history.Info, F: f, Phase: history.Begin, Nodes: nodes, Confirmed: true})
		m.at(to, func() {
			m.log(history.Event{Process: history.Nemesis, Type: history.Info, F: f, Phase: history.End, Nodes: nodes})
		})
	}
	switch kind := m.pick("fault", 0, 4); kind {
	case 0:
		m.at(from, func() {
			if m.now < c.paused.to || m.now < c.dead {
				return
			}
			begin("pause", c.name)
			c.paused = interval{m.now, to}
		})
	case 1:
		m.at(from, func() {
			if m.now < c.cut.to {
				return
			}
			begin("partition", c.name, "server")
			c.cut = interval{m.now, to}
			if m.lease == 0 { // the server may give its session up
				m.at(m.now+m.pick("session", 1, 20)*20*ms, func() { m.giveUp(c, to) })
			}
		})
	case 2:
		m.at(from, func() {
			if m.now < m.down.to {
				return
			}
			begin("pause", "server")
			m.down = interval{m.now, to}
		})
	case 3:
		m.at(from, func() {
			if m.now < c.dead || m.now < c.paused.to {
				return
			}
			begin("kill", c.name)
			c.dead = to + 1
			c.life++
			c.held = nil
			if m.lease == 0 { // its connection ends
				for _, h := range slices.Clone(m.service.holds) {
					if h.owner == c.name {
						m.at(m.now+m.way(), func() { m.drop(h) })
					}
				}
			}
			for _, w := range m.service.waiting {
				w.gone = w.gone || w.owner == c.name
			}
			m.at(to, func() { c.round(2) })
		})
	case 4:
		m.at(from, func() {
			if m.ahead > 0 {
				return
			}
			by := m.pick("ahead", 1, 40) * max(m.lease, 100*ms) / 20
			m.log(history.Event{
				Process: history.Nemesis, Type: history.Info, F: "clock", Phase: history.Begin, Nodes: []string{"server"}, Confirmed: true,
				Fault: fmt.Sprintf("clock: server +%s", time.Duration(by)),
			})
			m.at(m.now+m.way()/4, func() { m.set(by) })
			m.at(to+5*ms, func() {
				m.set(0)
				m.at(m.now+m.way()/4, func() {
					m.log(history.Event{Process: history.Nemesis, Type: history.Info, F: "clock", Phase: history.End, Nodes: []string{"server"}})
				})
			})
		})
	}
}

// set sets the server's clock, by which it may count the leases.
func (m *model) set(ahead int64) {
	if strings.HasSuffix(m.bug, "by a clock") {
		for _, h := range m.service.holds {
			if h.until >= 0 {
				h.until = max(0, h.until+m.ahead-ahead)
				m.at(h.until, m.serve)
			}
		}
	}
	m.ahead = ahead
	m.serve()
}

// giveUp ends the holds of a client that is cut off, if it still is. The client learns of it once the
// network is healed.
func (m *model) giveUp(c *modelClient, healed int64) {
	if m.now >= healed {
		return
	}
	for _, h := range slices.Clone(m.service.holds) {
		if h.owner == c.name {
			m.drop(h)
		}
	}
	life := c.life
	m.at(healed+m.way(), func() {
		c.awake(life, func() {
			for _, g := range c.held {
				if !g.over && !slices.Contains(m.service.holds, g.hold) {
					c.lose(g, true)
				}
			}
		})
	})
}

func (m *model) String() string {
	s := fmt.Sprintf("%+v\n", m.traits)
	for _, e := range m.in.Events {
		s += fmt.Sprintf("%d: %.2f %s %s %s %s %s", e.Index, float64(e.Time)/1e6, e.Process, e.Type, e.F, e.Grant, e.Mode)
		if e.Lease > 0 {
			s += fmt.Sprintf(" since %.2f lease %.2f", float64(e.Since)/1e6, float64(e.Lease)/1e6)
		}
		s += strings.TrimRight(fmt.Sprintf(" %s %v %s", e.Value, e.Nodes, e.Phase), " ")
		for _, is := range []struct {
			so   bool
			word string
		}{{e.Held, " held"}, {e.NotHeld, " not held"}, {e.Watchdog, " watchdog"}} {
			if is.so {
				s += is.word
			}
		}
		s += "\n"
	}
	for _, e := range m.in.Effects {
		s += fmt.Sprintf("effect %d @%.2f %s %s %s %s\n", e.Seq, float64(e.Time)/1e6, e.F, e.Grant, e.Value, e.Error)
	}
	return s
}
