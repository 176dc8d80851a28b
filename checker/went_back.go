package checker

// wentBack says of each lock whose counter of tokens certainly went back when that may have been first: after the
// last grant of a client whose next one carries a smaller token, which had been given before. A client asks for one grant
// after the other, so that whenever a token is drawn, its own ones rise; and so does a counter that each client keeps for
// itself, until it is killed. Of an answer that comes late the token falls, too: mostly nobody had it before, but a client
// whose messages were late may take any number for its token, as the answer to its release. Then another client's smaller
// token has to show that the counter went back.
type wentBack map[*lock]int64

func newWentBack(t *tokens, faults *faultLog) wentBack {
	out := wentBack{}
	for k, reused := range t.reused {
		again := map[*grant]bool{}
		for _, p := range reused {
			again[p.newer] = true
		}
		last := map[string]*grant{}
		for i, g := range k.grants {
			if g.token == 0 || len(faults.kills[g.process]) > 0 {
				continue
			}
			before := last[g.process]
			if before != nil && before.token > g.token && again[g] && (faults.harmFrom(g, before.okT) > g.okT || alsoLower(k.grants[i+1:], g, before)) {
				out[k] = before.okT
				break
			}
			last[g.process] = g
		}
	}
	return out
}

// alsoLower says that one of the next grants is another client's, was given after one of g's client, and has a smaller
// token than that. A bound keeps a hostile history from making this quadratic.
func alsoLower(next []*grant, g, before *grant) bool {
	for _, n := range next[:min(len(next), maxBetween)] {
		if n.process != g.process && n.token != 0 && n.token < before.token && n.lo > before.okT {
			return true
		}
	}
	return false
}

// cause is that of a token that is not greater than an earlier one; "" where a fault is suspected, or the
// counter need not have gone back before it was drawn.
func (r wentBack) cause(newer *grant, b blamed) string {
	if since, ok := r[newer.lock]; ok && b.suspect == nil && newer.okT > since {
		return "went-back"
	}
	return ""
}
