package checker

import (
	"fmt"

	"github.com/picklock/picklock/history"
)

// downgrade is that a client goes on to share what it has alone, and does steps more things under that.
func (c *modelClient) downgrade(g *modelGrant, steps int64, then func()) {
	m := c.m
	ask := m.event(c, history.Invoke, history.Acquire, "")
	ask.Mode = history.Downgrade
	m.log(ask)
	g.over = true
	sent, answered := m.now, false
	m.send(c, func() func() {
		held := m.downgrade(g.hold)
		return func() {
			if answered {
				return
			}
			answered = true
			e := m.event(c, history.OK, history.Acquire, "")
			e.Mode = history.Downgrade
			if !held {
				e.Type = history.Fail
				m.log(e)
				then()
				return
			}
			c.grants++
			next := &modelGrant{id: fmt.Sprintf("%s.%d", c.name, c.grants), hold: g.hold, mode: history.Shared}
			e.Grant = next.id
			if m.lease > 0 {
				e.Since, e.Lease, e.Watchdog = sent, m.lease, m.watchdog
				next.until = sent + m.lease
			}
			m.log(e)
			c.held = append(c.held, next)
			if m.watchdog && m.lease > 0 {
				c.watch(next)
			}
			c.section(next, steps, then)
		}
	})
	c.after(m.patience(), func() {
		if answered {
			return
		}
		answered = true
		e := m.event(c, history.Info, history.Acquire, "")
		e.Mode = history.Downgrade
		m.log(e)
		if m.lease == 0 { // it closes its connection
			m.at(m.now+m.way(), func() { m.drop(g.hold) })
		}
		then()
	})
}

// downgrade has others share what its owner has had alone.
func (m *model) downgrade(h *serviceHold) (held bool) {
	if !m.holding(h) {
		return false
	}
	h.mode = history.Shared
	if m.lease > 0 {
		h.until = m.now + m.lease
		m.at(h.until, m.serve)
	}
	m.serve()
	return true
}
