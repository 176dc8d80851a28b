package bulk

import (
	"fmt"

	"github.com/picklock/picklock/history"
)

// Kinds lists all kinds of histories.
func Kinds() []Kind {
	var out []Kind
	for _, list := range [][]Kind{sound(), broken(), troubled(), used()} {
		out = append(out, list...)
	}
	return out
}

// Named is the kind of a name; nil where there is none.
func Named(name string) *Kind {
	for _, k := range Kinds() {
		if k.Name == name {
			return &k
		}
	}
	return nil
}

// sound are histories in which nothing is wrong.
func sound() []Kind {
	return []Kind{
		of("mutex", func(m *maker, n int) {
			m.ask(client(0))
			for i := range n {
				m.ask(client((i + 1) % 8))
				p := client(i % 8)
				m.release(p, m.get(p, token(i+1), m.lease(s)), held)
			}
		}),
		of("mutex without leases", func(m *maker, n int) {
			m.ask(client(0))
			for i := range n {
				m.ask(client((i + 1) % 8))
				p := client(i % 8)
				m.release(p, m.get(p))
			}
		}),
		of("unknown outcomes", func(m *maker, n int) {
			for i := range n {
				p := client(i % 8)
				m.ask(p)
				if i%2 == 0 {
					m.do(p, history.Info, history.Acquire)
					m.now += s
					continue
				}
				id := m.get(p, token(i+1), m.lease(s/2))
				m.do(p, history.Invoke, history.Release, grant(id))
				m.do(p, history.Info, history.Release, grant(id))
				m.now += s
			}
		}),
		of("many keys", func(m *maker, n int) {
			for i := range n {
				p, k := client(i%8), key(fmt.Sprint("k", i))
				m.release(p, m.take(p, k, m.lease(s)), k)
			}
		}),
		of("many keys held by one", func(m *maker, n int) {
			ids := make([]string, n)
			for i := range n {
				ids[i] = m.take("c1", key(fmt.Sprint("k", i)), m.lease(s))
			}
			for i, id := range ids {
				m.release("c1", id, key(fmt.Sprint("k", i)))
			}
		}),
		of("many processes", func(m *maker, n int) {
			for i := range n {
				m.release(client(i), m.take(client(i), token(i+1), m.lease(s)))
			}
		}),
		of("readers and writers", func(m *maker, n int) {
			for range n / 8 {
				var ids []string
				for c := range 6 {
					ids = append(ids, m.take(client(c), mode(history.Shared), m.lease(s)))
				}
				for c, id := range ids {
					m.release(client(c), id)
				}
				m.release(client(7), m.take(client(7), m.lease(s)))
			}
		}),
		of("semaphore", func(m *maker, n int) {
			ids := make([]string, 64)
			for i := range n {
				p := i % 64
				if ids[p] != "" {
					m.release(client(p), ids[p])
				}
				ids[p] = m.take(client(p), permits(64), m.lease(100*s))
			}
		}),
		of("semaphore, one process", func(m *maker, n int) {
			var ids []string
			for range n {
				ids = append(ids, m.take("c1", permits(n), m.lease(1000*s)))
			}
			for _, id := range ids {
				m.release("c1", id)
			}
		}),
		of("entered deeply", func(m *maker, n int) {
			ids := []string{m.take("c1", m.lease(1000*s))}
			for range n {
				ids = append(ids, m.take("c1", mode(history.Nested), m.lease(1000*s)))
			}
			for i := range ids {
				m.release("c1", ids[len(ids)-1-i])
			}
		}),
		of("entered for less and less", func(m *maker, n int) {
			ids := []string{m.take("c1", m.lease(1000*s))}
			for i := range n {
				ids = append(ids, m.take("c1", mode(history.Nested), m.lease(100*s+900*s/int64(i+2))))
			}
			for i := range ids {
				m.release("c1", ids[len(ids)-1-i])
			}
		}),
		of("entered, left in order", func(m *maker, n int) {
			ids := []string{m.take("c1", m.lease(1000*s))}
			for range n {
				ids = append(ids, m.take("c1", mode(history.Nested), m.lease(1000*s)))
			}
			for _, id := range ids {
				m.release("c1", id)
			}
		}),
		of("renewals", func(m *maker, n int) {
			id := m.take("c1", m.lease(s))
			for range n {
				m.renew("c1", id, s)
			}
			m.release("c1", id)
		}),
		of("renewals with gaps", func(m *maker, n int) {
			id := m.take("c1", m.lease(ms))
			for range n {
				m.now += 2 * ms
				m.renew("c1", id, ms)
			}
			m.release("c1", id)
		}),
	}
}

// broken are histories of locks that keep nobody out.
func broken() []Kind {
	semaphore := func(leases bool) func(m *maker, n int) {
		return func(m *maker, n int) {
			for i := range 2 * (n / 2) {
				c := permits(n / 2)
				if leases {
					m.take(client(i), c, m.lease(1000*s))
				} else {
					m.take(client(i), c)
				}
			}
		}
	}
	return []Kind{
		of("broken mutex", func(m *maker, n int) {
			for i := range n {
				m.take(client(i%8), token(n-i), m.lease(s))
			}
		}),
		of("one holder, many beside", func(m *maker, n int) {
			m.take("old")
			for i := range n {
				m.release(client(i%8), m.take(client(i%8)))
			}
		}),
		of("one lease, many beside", func(m *maker, n int) {
			m.take("old", m.lease(10_000*s))
			for i := range n {
				m.release(client(i%8), m.take(client(i%8), m.lease(s)))
			}
		}),
		of("one renewed, many beside", func(m *maker, n int) {
			id := m.take("old", m.lease(s))
			for i := range n {
				m.renew("old", id, s)
				m.release(client(i%8), m.take(client(i%8), m.lease(s)))
			}
		}),
		of("one renewed with gaps, many beside", func(m *maker, n int) {
			id := m.take("old", m.lease(ms))
			for i := range n {
				m.now += 2 * ms
				m.renew("old", id, ms)
				m.release(client(i%8), m.take(client(i%8), m.lease(s)))
			}
		}),
		of("many holders of a semaphore", semaphore(true)),
		of("many holders of a semaphore without leases", semaphore(false)),
		of("a semaphore of one", func(m *maker, n int) {
			for i := range n {
				m.take(client(i), permits(1), m.lease(1000*s))
			}
		}),
		of("many writers", func(m *maker, n int) {
			for i := range n {
				if i%2 == 0 {
					m.take(client(i), m.lease(1000*s))
				} else {
					m.take(client(i), mode(history.Shared), m.lease(1000*s))
				}
			}
		}),
		of("entered by many", func(m *maker, n int) {
			for i := range n {
				m.take(client(i), mode(history.Nested), m.lease(1000*s))
			}
		}),
		of("given away without a gap", func(m *maker, n int) {
			// What is granted in the end was held by a client throughout, one after the other.
			for i := range n / 2 {
				m.ask(fmt.Sprint("d", i))
			}
			for i := range n / 2 {
				m.take(client(i), m.lease(s))
				m.now += s / 2
			}
			for i := range n / 2 {
				m.get(fmt.Sprint("d", i), func(e *history.Event) { e.Since, e.Lease = s, 1 })
			}
		}),
		of("tokens that fall", func(m *maker, n int) {
			for i := range n {
				m.release(client(i%8), m.take(client(i%8), token(2*n-i), m.lease(s)))
			}
		}),
		of("one token", func(m *maker, n int) {
			for i := range n {
				m.release(client(i%8), m.take(client(i%8), token(1), m.lease(s)))
			}
		}),
		of("wrong releases", func(m *maker, n int) {
			for range n / 3 {
				a := m.take("c1", m.lease(ms))
				m.now += 2 * ms
				b := m.take("c2", m.lease(100*ms))
				m.release("c1", a)
				c := m.take("c3", m.lease(100*ms))
				m.release("c3", c)
				m.release("c2", b)
				m.now += s
			}
		}),
		of("clocks apart", func(m *maker, n int) {
			m.Skew = ms
			for i := range n {
				p := i % 8
				m.take(client(p), token(n-i), m.lease(s), machine(fmt.Sprint("m", p%2)))
				m.now += 4 * ms
			}
		}),
	}
}
