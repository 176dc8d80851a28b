package bulk

import (
	"fmt"

	"github.com/picklock/picklock/history"
)

// troubled are histories with faults, and of clients that wait in vain.
func troubled() []Kind {
	rare := func(m *maker, n, waiting int) {
		for c := range waiting {
			m.ask(fmt.Sprint("w", c))
		}
		for i := range n {
			m.release("c1", m.take("c1", m.lease(s)))
			m.ask(client(1 + i%2))
			m.do(client(1+i%2), history.Fail, history.Acquire)
			m.now += 8 * s
		}
	}
	return []Kind{
		of("rare use", func(m *maker, n int) { rare(m, n, 0) }),
		of("rare use, and many wait", func(m *maker, n int) { rare(m, n/2, n/2) }),
		of("deadlocks", func(m *maker, n int) {
			for range n / 4 {
				m.release("c1", m.take("c1", m.lease(s)))
				m.ask("c2")
				m.now += 20 * s
				m.do("c2", history.Fail, history.Acquire)
			}
		}),
		of("deadlocks of a semaphore", func(m *maker, n int) {
			for range n / 4 {
				m.release("c1", m.take("c1", permits(2), m.lease(s)), permits(2))
				m.ask("c2", permits(2))
				m.now += 20 * s
				m.do("c2", history.Fail, history.Acquire, permits(2))
			}
		}),
		of("leases that go on after their release", func(m *maker, n int) {
			m.ask(client(0))
			for i := range n / 4 {
				m.release(client(i%2), m.get(client(i%2), m.lease(2*s)))
				m.ask(client((i + 1) % 2))
				m.now += 2*s + ms
			}
		}),
		of("keys that nobody gets, and faults", func(m *maker, n int) {
			for i := range n / 2 {
				m.ask(client(i), key(fmt.Sprint("k", i)))
			}
			for range n / 2 {
				m.fault("pause", history.Begin, "server")
				m.fault("pause", history.End, "server")
				m.now += 20 * s
			}
		}),
		of("starvation", func(m *maker, n int) {
			m.Fair = s
			for i := range n / 2 {
				m.ask(fmt.Sprint("w", i))
			}
			for i := range n / 2 {
				m.release(client(i%8), m.take(client(i%8), m.lease(s)))
				m.now += ms
			}
			m.now += 2 * s
			for i := range n / 2 {
				m.do(fmt.Sprint("w", i), history.Fail, history.Acquire)
			}
		}),
		of("faults of many clients", func(m *maker, n int) {
			for i := range n {
				p := client(i)
				id := m.take(p, token(i+1), m.lease(s))
				m.fault("pause", history.Begin, p)
				m.fault("pause", history.End, p)
				m.release(p, id)
			}
		}),
		of("faults that never end", func(m *maker, n int) {
			m.take("old", m.lease(10_000*s))
			for i := range n / 2 {
				m.fault("pause", history.Begin, client(i))
			}
			for i := range n / 2 {
				m.release(client(i), m.take(client(i), m.lease(s)))
			}
		}),
		of("faults that end late", func(m *maker, n int) {
			for i := range n / 2 {
				m.ask(client(i))
				m.fault("pause", history.Begin, client(i))
			}
			for i := range n / 2 {
				m.release(client(i), m.get(client(i), m.lease(s)))
				m.fault("pause", history.End, client(i))
			}
		}),
		of("one is killed while many wait", func(m *maker, n int) {
			for i := range n / 2 {
				m.ask(fmt.Sprint("w", i))
			}
			for range n / 4 {
				m.ask("c1")
				m.fault("kill", history.Begin, "c1")
				m.fault("kill", history.End, "c1")
			}
		}),
		of("kinds of faults", func(m *maker, n int) {
			m.take("old", m.lease(10_000*s))
			for i := range n / 2 {
				m.fault(fmt.Sprint("pause", i), history.Begin, "server")
			}
			for i := range n / 2 {
				m.release(client(i%8), m.take(client(i%8), m.lease(s)))
			}
		}),
		of("kinds of faults, in turn", func(m *maker, n int) {
			for i := range n / 2 {
				id := m.take("old", m.lease(s))
				m.fault(fmt.Sprint("pause", i), history.Begin, "server")
				m.take("new", m.lease(s))
				m.fault(fmt.Sprint("pause", i), history.End, "server")
				m.release("old", id)
				m.now += 10 * s
			}
		}),
		of("a fault of many", func(m *maker, n int) {
			var nodes []string
			for i := range n / 2 {
				nodes = append(nodes, client(i))
			}
			m.take("old", m.lease(10_000*s))
			m.fault("pause", history.Begin, nodes...)
			for i := range n / 2 {
				m.release(client(i%8), m.take(client(i%8), m.lease(s)))
			}
			m.fault("pause", history.End, nodes...)
		}),
		of("stale writes among faults", func(m *maker, n int) {
			for i := range n / 2 {
				a, b := client(2*i%8), client((2*i+1)%8)
				old := m.take(a, token(2*i+1), m.lease(s))
				m.fault("pause", history.Begin, a)
				m.now += 2 * s
				young := m.take(b, token(2*i+2), m.lease(s))
				m.write(b, young, young)
				m.fault("pause", history.End, a)
				m.write(a, old, old)
			}
		}),
		of("one client, killed again and again", func(m *maker, n int) {
			for i := range n / 4 {
				k := key(fmt.Sprint("k", i))
				id := m.take("c1", k, m.lease(s))
				m.do("c1", history.Invoke, history.Release, k, grant(id))
			}
			for range n / 4 {
				m.fault("kill", history.Begin, "c1")
				m.fault("kill", history.End, "c1")
			}
		}),
		of("programs that failed, and faults", func(m *maker, n int) {
			for i := range n / 2 {
				m.fault("pause", history.Begin, "server")
				m.fault("pause", history.End, "server")
				m.now += 60 * s
				m.ask(client(i % 8))
				m.do(client(i%8), history.Info, history.Acquire, func(e *history.Event) { e.ClientFailed = true })
			}
		}),
		of("clocks apart, and kills", func(m *maker, n int) {
			m.Skew = ms
			for i := range n / 2 {
				p := client(i % 64)
				m.take(p, m.lease(s))
				m.fault("kill", history.Begin, p)
				m.fault("kill", history.End, p)
				m.now += 4 * ms
			}
		}),
	}
}

// used are histories of what clients did under their locks.
func used() []Kind {
	return []Kind{
		of("reads and writes", func(m *maker, n int) {
			last := ""
			for i := range n {
				p := client(i % 8)
				id := m.take(p, token(i+1), m.lease(s))
				m.read(p, id, last)
				last = id + ".1"
				m.write(p, id, last)
				m.release(p, id)
			}
		}),
		of("many reads of one grant", func(m *maker, n int) {
			id := m.take("c1", m.lease(1000*s))
			for range n {
				m.read("c1", id, "")
			}
		}),
		of("many reads without times", func(m *maker, n int) {
			id := m.take("c1", m.lease(1000*s))
			for range n {
				m.read("c1", id, "")
			}
			for i := range m.Effects {
				m.Effects[i].Time = 0
			}
		}),
		of("many reads of unknown outcome", func(m *maker, n int) {
			id := m.take("c1", m.lease(1000*s))
			for i := range n {
				m.do("c1", history.Invoke, history.Read, grant(id))
				m.do("c1", history.Info, history.Read, grant(id))
				if i%2 == 0 {
					m.effect("c1", history.Read, id, "", m.now)
				}
			}
		}),
		of("many reads in one instant", func(m *maker, n int) {
			id := m.take("c1", m.lease(1000*s))
			for range n {
				m.read("c1", id, "")
			}
			for i := range m.Events {
				m.Events[i].Time = 10
				m.Events[i].Since = min(m.Events[i].Since, 10)
			}
			for i := range m.Effects {
				m.Effects[i].Time = 10
			}
		}),
		of("many writes of one grant", func(m *maker, n int) {
			id := m.take("c1", m.lease(1000*s))
			for i := range n {
				m.write("c1", id, fmt.Sprintf("%s.%d", id, i+1))
			}
		}),
		of("stale writes", func(m *maker, n int) {
			old := m.take("old", token(1), m.lease(ms))
			for i := range n / 2 {
				m.now += ms
				p := client(i % 8)
				id := m.take(p, token(i+2), m.lease(s))
				m.write(p, id, id+".1")
				m.write("old", old, fmt.Sprintf("%s.%d", old, i+1))
				m.release(p, id)
			}
		}),
		of("interleaved writes of renewed grants", func(m *maker, n int) {
			a, b := m.take("c1", m.lease(ms)), m.take("c2", m.lease(ms))
			for i := range n / 4 {
				m.now += 2 * ms
				m.renew("c1", a, ms)
				m.now += 2 * ms
				m.renew("c2", b, ms)
				m.write("c1", a, fmt.Sprintf("%s.%d", a, i+1))
				m.write("c2", b, fmt.Sprintf("%s.%d", b, i+1))
			}
		}),
		of("lost updates", func(m *maker, n int) {
			a, b := m.take("c1"), m.take("c2")
			m.read("c1", a, "")
			for i := range n {
				m.write("c2", b, fmt.Sprintf("%s.%d", b, i+1))
			}
			m.write("c1", a, a+".1")
			for i := range n {
				p := []string{"c1", "c2"}[i%2]
				id := []string{a, b}[i%2]
				m.write(p, id, fmt.Sprintf("x%d", i))
			}
		}),
		of("refused operations", func(m *maker, n int) {
			id := m.take("c1", token(1), m.lease(10_000*s))
			for i := range n {
				v := fmt.Sprintf("%s.%d", id, i+1)
				m.do("c1", history.Invoke, history.Write, grant(id), value(v))
				m.effect("c1", history.Write, id, v, m.now)
				m.Effects[i].Error = "stale"
				m.do("c1", history.Fail, history.Write, grant(id), value(v))
			}
		}),
		of("no log", func(m *maker, n int) {
			for i := range n / 2 {
				a, b := client(2*i%8), client((2*i+1)%8)
				old := m.take(a, token(2*i+1), m.lease(ms))
				m.read(a, old, "")
				m.now += 2 * ms
				young := m.take(b, token(2*i+2), m.lease(ms))
				m.write(b, young, young)
				m.write(a, old, old)
			}
			m.Effects = nil
		}),
		of("no lock", func(m *maker, n int) {
			m.NoLock = true
			last := ""
			for i := range n {
				p := client(i % 8)
				m.read(p, "", last)
				v := fmt.Sprint("v", i)
				m.do(p, history.Invoke, history.Add, value(v))
				m.effect(p, history.Add, "", v, m.now)
				m.Effects[len(m.Effects)-1].Parent = last
				m.do(p, history.OK, history.Add, value(v))
				if i%3 != 0 {
					last = v
				}
			}
		}),
	}
}
