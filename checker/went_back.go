package checker

// wentBack says of each lock whose counter of tokens certainly went back when that may have been first: after the
// last grant of a client whose next one carries a smaller token, which had been given before. A client asks for one grant
// after the other, so that whenever a token is drawn, its own ones rise; and so does a counter that each client keeps for
// itself, until it is killed. Of an answer that comes late the token falls, too, but nobody had it before.
type wentBack map[*lock]int64

func newWentBack(t *tokens, faults *faultLog) wentBack {
	out := wentBack{}
	for k, reused := range t.reused {
		again := map[*grant]bool{}
		for _, p := range reused {
			again[p.newer] = true
		}
		last := map[string]*grant{}
		for _, g := range k.grants {
			if g.token == 0 || len(faults.kills[g.process]) > 0 {
				continue
			}
			if before := last[g.process]; before != nil && before.token > g.token && again[g] {
				out[k] = before.okT
				break
			}
			last[g.process] = g
		}
	}
	return out
}

// cause is that of a token that is not greater than an earlier one; "" where a fault is suspected, or the
// counter need not have gone back before it was drawn.
func (r wentBack) cause(newer *grant, b blamed) string {
	if since, ok := r[newer.lock]; ok && b.suspect == nil && newer.okT > since {
		return "went-back"
	}
	return ""
}
