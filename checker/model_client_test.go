package checker

import (
	"fmt"

	"github.com/picklock/picklock/history"
)

// round is one acquire and what is done under it, n times.
func (c *modelClient) round(n int64) {
	if n == 0 {
		return
	}
	mode := ""
	if c.m.shared && c.m.chance("shared", 50) {
		mode = history.Shared
	}
	c.acquire(mode, func(g *modelGrant) {
		again := func() { c.after(c.m.pick("rest", 1, 40)*ms, func() { c.round(n - 1) }) }
		if g == nil {
			again()
			return
		}
		c.section(g, c.m.pick("steps", 0, 5), again)
	})
}

// acquire asks for the lock; then is called with the grant, or nil if there is none.
func (c *modelClient) acquire(mode string, then func(*modelGrant)) {
	m, life := c.m, c.life
	ask := m.event(c, history.Invoke, history.Acquire, "")
	ask.Mode = mode
	m.log(ask)
	sent, answered := m.now, false
	var waits *serviceWait
	var got *serviceHold
	answer := func(h *serviceHold) {
		if answered {
			return // it has given up
		}
		answered = true
		e := m.event(c, history.OK, history.Acquire, "")
		e.Mode = mode
		if h == nil {
			e.Type = history.Fail
			m.log(e)
			then(nil)
			return
		}
		c.grants++
		g := &modelGrant{id: fmt.Sprintf("%s.%d", c.name, c.grants), hold: h, mode: mode}
		e.Grant = g.id
		if m.tokens {
			g.token = h.token
			e.Token = h.token
		}
		if m.lease > 0 {
			if e.Watchdog = m.watchdog; !m.silent {
				e.Since, e.Lease = sent, m.lease
			}
			g.until = sent + m.lease
		}
		m.log(e)
		c.held = append(c.held, g)
		if m.watchdog && m.lease > 0 {
			c.watch(g)
		}
		then(g)
	}
	lost := false
	lost = m.send(c, func() func() {
		arrived := m.now
		waits = m.acquire(c.name, mode, func(h *serviceHold) {
			got = h
			if m.polls && m.now > arrived {
				sent = max(arrived, m.now-m.way()) // by a later request
			}
			if !lost {
				m.back(c, life, func() { answer(h) })
			}
		})
		return nil
	})
	c.after(m.patience(), func() {
		if answered {
			return
		}
		answered = true
		e := m.event(c, history.Info, history.Acquire, "")
		e.Mode = mode
		m.log(e)
		if m.lease == 0 { // it closes its connection
			m.at(m.now+m.way(), func() {
				if waits != nil {
					waits.gone = true
				}
				if got != nil && mode != history.Nested {
					m.drop(got)
				}
			})
		} else if waits != nil {
			w := waits
			m.at(m.now+m.way(), func() { w.gone = true })
		}
		then(nil)
	})
}

// patience is how long a client waits for an answer. A network without faults loses no messages for
// longer than a lock may stay free.
func (m *model) patience() int64 {
	if !m.losses && (m.polls || m.chance("patient", 30)) {
		return m.pick("patience", 6, 12) * 1000 * ms
	}
	return m.pick("patience", 4, 16) * 50 * ms
}

// watch is the library's own renewing.
func (c *modelClient) watch(g *modelGrant) {
	m := c.m
	c.after(m.lease/3, func() {
		if g.over {
			return
		}
		sent := m.now
		m.prompt = true
		m.send(c, func() func() {
			held := m.renew(g.hold)
			m.prompt = true
			return func() {
				switch {
				case g.over:
				case held:
					if !m.silent {
						e := m.event(c, history.OK, history.Renew, g.id)
						e.Since, e.Lease, e.Held = sent, m.lease, m.confirms
						m.log(e)
					}
					g.until = max(g.until, sent+m.lease)
				default:
					c.lose(g, true)
				}
			}
		})
		m.prompt = false
		c.watch(g)
	})
}

// lose is how a client learns that a grant is gone.
func (c *modelClient) lose(g *modelGrant, notice bool) {
	e := c.m.event(c, history.Info, history.Lost, g.id)
	e.NotHeld = notice
	c.m.log(e)
	g.over = true
}

// section does steps more things under a grant, and gives it back.
func (c *modelClient) section(g *modelGrant, steps int64, then func()) {
	m := c.m
	c.after(m.pick("works", 1, 30)*max(m.lease, 100*ms)/100, func() {
		if m.careful && m.lease > 0 && !g.over && m.now >= g.until {
			c.lose(g, false)
		}
		if g.over {
			then()
			return
		}
		next := func() { c.section(g, steps-1, then) }
		if steps == 0 {
			if !m.watchdog && m.chance("leaves it", 10) {
				g.over = true
				then()
				return
			}
			c.ask(g, history.Release, func() { c.releaseAgain(g, then) })
			return
		}
		switch what := m.pick("what", 0, 9); {
		case what < 3:
			c.use(g, history.Write, next)
		case what < 6:
			c.use(g, history.Read, next)
		case what == 6 && m.lease > 0 && !m.watchdog:
			c.ask(g, history.Renew, next)
		case what == 7:
			c.ask(g, history.Holds, next)
		case what == 8 && m.shared && g.mode == "":
			c.downgrade(g, steps-1, then)
		case what == 8 && m.nested && g.mode == "":
			c.acquire(history.Nested, func(inner *modelGrant) {
				if inner == nil {
					next()
					return
				}
				if g.until = max(g.until, inner.until); g.over {
					c.lose(inner, false)
				}
				c.section(inner, m.pick("inner", 0, 2), next)
			})
		default:
			next()
		}
	})
}

// releaseAgain is a client that gives back what it has given back, now and then: not what it has entered and not left.
func (c *modelClient) releaseAgain(g *modelGrant, then func()) {
	if m := c.m; g.mode == history.Nested || m.nested && g.hold.entries > 0 || !m.chance("releases again", 15) {
		then()
		return
	}
	g.again = true
	c.after(c.m.pick("again", 0, 40)*ms, func() { c.ask(g, history.Release, then) })
}

// ask is one request to the lock under a grant.
func (c *modelClient) ask(g *modelGrant, f string, then func()) {
	m := c.m
	m.log(m.event(c, history.Invoke, f, g.id))
	if f == history.Release {
		g.over = true
	}
	sent, answered := m.now, false
	m.send(c, func() func() {
		var held bool
		switch f {
		case history.Release:
			held = m.release(g.hold)
		case history.Renew:
			held = m.renew(g.hold)
		default:
			held = m.holding(g.hold)
		}
		return func() {
			if answered {
				return
			}
			answered = true
			e := m.event(c, history.OK, f, g.id)
			switch {
			case held:
				e.Held = m.confirms && !g.again || f == history.Holds
				if f == history.Renew {
					e.Since, e.Lease = sent, m.lease
					g.until = max(g.until, sent+m.lease)
				}
			case f == history.Holds:
				e.NotHeld = true
				g.over = true
			case f == history.Release && m.agrees && !m.confirms:
			default:
				e.Type, e.NotHeld = history.Fail, m.confirms
				g.over = true
			}
			m.log(e)
			then()
		}
	})
	c.after(m.patience(), func() {
		if !answered {
			answered = true
			m.log(m.event(c, history.Info, f, g.id))
			then()
		}
	})
}

// use is one operation on the register under a grant.
func (c *modelClient) use(g *modelGrant, f string, then func()) {
	m := c.m
	e := m.event(c, history.Invoke, f, g.id)
	if f == history.Write {
		m.ids++
		e.Value = fmt.Sprintf("%s.%d", g.id, m.ids)
	}
	m.log(e)
	answered := false
	m.send(c, func() func() {
		r := &m.register
		r.seq++
		effect := history.Effect{Seq: r.seq, Time: m.now, Process: c.name, F: f, Key: "k", Grant: g.id, Value: e.Value, Token: g.token}
		done := e
		done.Type = history.OK
		switch {
		case m.fencing && m.tokens && g.token < r.highest:
			effect.Error, done.Type = "stale token", history.Fail
		default:
			r.highest = max(r.highest, g.token)
			if f == history.Write {
				r.value = e.Value
				r.version++
			} else {
				effect.Value, done.Value = r.value, r.value
			}
		}
		effect.Version, effect.Highest = r.version, r.highest
		m.in.Effects = append(m.in.Effects, effect)
		return func() {
			if !answered {
				answered = true
				m.log(done)
				then()
			}
		}
	})
	c.after(m.patience(), func() {
		if !answered {
			answered = true
			e.Type = history.Info
			m.log(e)
			then()
		}
	})
}
