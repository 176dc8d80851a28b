package checker

// restarts says of each lock whose counter of tokens certainly started over when that may have been first: after the
// last grant of a client whose next one carries a smaller token. A client asks for one grant after the other, so that
// whenever a token is drawn, its own ones rise; and so does a counter that each client keeps for itself, until it is
// killed.
type restarts map[*lock]int64

// newRestarts looks at those locks only whose tokens fall.
func newRestarts(t *tokens, faults *faultLog) restarts {
	out := restarts{}
	for k := range t.regressed {
		last := map[string]*grant{}
		for _, g := range k.grants {
			if g.token == 0 || len(faults.kills[g.process]) > 0 {
				continue
			}
			if before := last[g.process]; before != nil && before.token > g.token {
				out[k] = before.okT
				break
			}
			last[g.process] = g
		}
	}
	return out
}

// restarted is the cause of a token that is not greater than an earlier one; "" where a fault is suspected, or the
// counter need not have started over before it was drawn.
func (r restarts) restarted(newer *grant, b blamed) string {
	if since, ok := r[newer.lock]; ok && b.suspect == nil && newer.okT > since {
		return "restarted"
	}
	return ""
}
