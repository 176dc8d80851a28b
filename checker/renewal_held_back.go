package checker

import "slices"

// renewalHeldBack says of a lease that was over at t by all that had been promised that the first renewal answered later may
// have been carried out after t, although it was sent before: a fault was on the way to the service, or had closed the client's
// connection, which its library makes again when it wants, up to a lease before. A service that gives a
// lock away although it has carried out a renewal makes the rarer mistake.
func (an *analysis) renewalHeldBack(g *grant, t int64) bool {
	list, n := g.renewals(), g.renewed.before(t)
	if n == len(list) {
		return false
	}
	sent, answered := list[n].heldUntil, list[n].okT
	lost := func(f *fault) bool {
		return f.end >= sent || f.resets()
	}
	slows := func(f *fault) bool { return lost(f) && f.onTheWay(g.process) }
	return slices.ContainsFunc(an.faults.byNode[g.process].latest(nil, sent-g.lease, answered), slows) ||
		slices.ContainsFunc(an.faults.service.latest(nil, sent, answered), slows)
}

// onTheWay says that the fault may keep a request of the client from being carried out for a while: it is on the network
// between the two, or on a server. A client that is stopped has sent its request, or has not begun.
func (f *fault) onTheWay(client string) bool {
	switch baseName(f.name) {
	case "clock":
		return false
	case "kill", "pause":
		return f.concernsOthers()
	}
	return f.concernsOthers() || f.hits(client) && !f.onResource()
}
