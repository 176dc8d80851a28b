package checker

import (
	"slices"
	"strings"
)

// acquire asks the service for the lock; granted is called once it has it, with nil if it is
// refused at once.
func (m *model) acquire(owner, mode string, granted func(*serviceHold)) *serviceWait {
	m.expire()
	if mode == "nested" {
		for _, h := range m.service.holds {
			if h.owner == owner {
				h.entries++
				if m.lease > 0 {
					h.until = m.now + m.lease
					m.at(h.until, m.serve)
				}
				granted(h)
				return nil
			}
		}
		granted(nil) // it was lost meanwhile
		return nil
	}
	w := &serviceWait{owner: owner, mode: mode, granted: granted}
	if m.try && !m.free(w) {
		granted(nil)
		return nil
	}
	m.service.waiting = append(m.service.waiting, w)
	m.serve()
	return w
}

// free says that the lock can be given to w.
func (m *model) free(w *serviceWait) bool {
	if m.bug == "two at once" && m.chance("two at once", 20) {
		return true
	}
	others := m.service.holds
	if m.permits > 0 {
		return len(others) < m.permits
	}
	return len(others) == 0 || w.mode == "shared" && !slices.ContainsFunc(others, func(h *serviceHold) bool { return h.mode != "shared" })
}

// expire ends the leases that are over.
func (m *model) expire() {
	m.service.holds = slices.DeleteFunc(m.service.holds, func(h *serviceHold) bool { return h.until >= 0 && h.until <= m.now })
}

// serve gives the lock to those who wait for it, in their order.
func (m *model) serve() {
	if m.down.from <= m.now && m.now < m.down.to {
		m.at(m.down.to, m.serve)
		return
	}
	m.expire()
	for len(m.service.waiting) > 0 {
		w := m.service.waiting[0]
		if !w.gone && m.bug == "loses a waiter" && m.chance("loses", 20) {
			w.gone = true
		}
		if w.gone {
			m.service.waiting = m.service.waiting[1:]
			continue
		}
		if !m.free(w) {
			return
		}
		m.service.waiting = m.service.waiting[1:]
		m.ids++
		m.service.token++
		h := &serviceHold{id: m.ids, token: m.service.token, owner: w.owner, mode: w.mode, entries: 1, until: -1}
		switch {
		case m.bug == "tokens repeat" && m.chance("repeats", 30):
			m.service.token--
		case m.bug == "tokens fall" && m.chance("falls", 30) && h.token > 2:
			h.token -= 2
		}
		if m.lease > 0 {
			h.until = m.now + m.lease
			if m.bug == "early" {
				h.until = m.now + m.lease*6/10
			}
			m.at(h.until, m.serve)
		}
		m.service.holds = append(m.service.holds, h)
		if m.bug == "revokes" && m.chance("revokes", 30) {
			m.at(m.now+m.pick("revoked", 1, 10)*max(m.lease, 100*ms)/12, func() { m.drop(h) })
		}
		w.granted(h)
	}
}

func (m *model) holding(h *serviceHold) bool {
	m.expire()
	return slices.Contains(m.service.holds, h)
}

func (m *model) drop(h *serviceHold) {
	m.service.holds = slices.DeleteFunc(m.service.holds, func(o *serviceHold) bool { return o == h })
	m.serve()
}

// forget is a service that loses what it knew.
func (m *model) forget() {
	m.service.holds = nil
	m.serve()
}

func (m *model) release(h *serviceHold) (held bool) {
	if held = m.holding(h); held {
		if h.entries--; h.entries > 0 {
			return true
		}
		if m.bug == "keeps the lock" && m.chance("keeps", 70) {
			i := slices.Index(m.service.holds, h)
			m.service.holds[i] = &serviceHold{mode: h.mode, until: h.until} // nobody's
			return true
		}
		m.drop(h)
		return true
	}
	if strings.HasPrefix(m.bug, "frees anyone's") && len(m.service.holds) > 0 {
		m.drop(m.service.holds[0])
		return true
	}
	return false
}

func (m *model) renew(h *serviceHold) (held bool) {
	if !m.holding(h) {
		return m.bug == "extends the lost"
	}
	h.until = m.now + m.lease
	m.at(h.until, m.serve)
	return true
}
