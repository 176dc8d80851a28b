package checker

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/picklock/picklock/internal/format"
)

// dur writes a length of time with the digits that matter: "1.3 s", "40 ms".
func dur(ns int64) string { return format.Plain.Length(max(ns, -never)) }

// with says by what right a grant's client acted: " with token 33".
func (g *grant) with() string {
	if g.token != 0 {
		return fmt.Sprintf(" with token %d", g.token)
	}
	if g.id != "" {
		return fmt.Sprintf(" under %s", g.id)
	}
	return ""
}

// got says what a grant's client was given: "was granted 34".
func (g *grant) got() string {
	if g.token != 0 {
		return fmt.Sprintf("%s was granted %d", g.process, g.token)
	}
	if g.id != "" {
		return fmt.Sprintf("%s was granted the lock (%s)", g.process, g.id)
	}
	return fmt.Sprintf("%s was granted the lock", g.process)
}

// leaseWords says how the grant's lease stood at t: "its lease of 1 s had ended
// 0.4 s before".
func (g *grant) leaseWords(whose string, t int64) string {
	for _, e := range g.lock.inHoldOf(g) { // the hold lasts as long as any of its entries
		if e.okT <= t && e.promisedAt(t) > g.promisedAt(t) {
			g = e
		}
	}
	end := g.promisedAt(t)
	if end == 0 || !g.dated() {
		return ""
	}
	lease := "lease"
	if g.lease > 0 {
		lease = "lease of " + dur(g.lease)
	}
	if n := g.renewed.before(t); end <= t && g.renewed.unsaidBy(t) {
		return fmt.Sprintf("; %s %s had been renewed %s before, and the history does not say for how long", whose, lease, dur(t-g.renewals()[n-1].okT))
	}
	switch {
	case end > t:
		return fmt.Sprintf("; %s %s had %s left", whose, lease, dur(end-t))
	case end == t:
		return fmt.Sprintf("; %s %s ended just then", whose, lease)
	}
	return fmt.Sprintf("; %s %s had ended %s before", whose, lease, dur(t-end))
}

// leftWords says how the grant certainly was in force at t: by what had been promised, or by what the service
// said later.
func (g *grant) leftWords(t int64) string {
	left := g.leaseLeft(t)
	if g.promisedBy(t) > t {
		return fmt.Sprintf("certainly had %s left", dur(left))
	}
	asked, word := never, ""
	if r := g.renewed.provesBeyond(t); r != nil {
		if r.heldUntil <= t { // the answer came after t, and what it promised lasts beyond
			return fmt.Sprintf("had not ended: the lock answered %s's renewal, sent %s before, that %s held it, and what it renewed had %s left", g.process, dur(t-r.heldUntil), g.process, dur(r.until-t))
		}
		asked, word = r.heldUntil, "renewal"
	}
	if r := g.release; g.releaseHeld() && r.invT > t && r.invT < asked {
		asked, word = r.invT, "release"
	}
	if word == "" {
		return fmt.Sprintf("certainly had %s left", dur(left))
	}
	return fmt.Sprintf("had not ended: the lock answered %s's %s, sent %s later, that %s had held it until then", g.process, word, dur(asked-t), g.process)
}

// overWords says that the lease was over when its client learnt of the grant.
func (g *grant) overWords() string {
	if g.okT <= g.promised {
		return fmt.Sprintf("; %s's lease of %s was over when it learnt of the grant", g.process, dur(g.lease))
	}
	return fmt.Sprintf("; %s's lease of %s was over %s before it learnt of the grant", g.process, dur(g.lease), dur(g.okT-g.promised))
}

// gets says what the grant gave: "c2 was granted a permit".
func (g *grant) gets() string {
	switch {
	case g.lock.permits > 0:
		return g.process + " was granted a permit"
	case g.mode == shared:
		return g.process + " was granted the lock to share it"
	case g.mode == nested:
		return g.process + " entered the lock again"
	case g.lock.shared:
		return g.process + " was granted the lock alone"
	}
	return g.process + " was granted the lock"
}

func permitWords(n int64) string {
	if n == 1 {
		return "the only permit was"
	}
	return fmt.Sprintf("all %d permits were", n)
}

// processesOf lists whose grants these are, each once.
func processesOf(grants []*grant) []string {
	var out []string
	seen := map[string]bool{}
	for _, g := range grants {
		if !seen[g.process] {
			seen[g.process] = true
			out = append(out, g.process)
		}
	}
	return out
}

// maxShown bounds how much of a value an explanation quotes, in bytes: many can quote one.
const maxShown = 200

// shown quotes a value.
func shown(value string) string {
	if len(value) <= maxShown {
		return strconv.Quote(value)
	}
	return fmt.Sprintf("%q and %d bytes more", strings.ToValidUTF8(value[:maxShown], ""), len(value)-maxShown)
}

// of writes a count with its noun: "1 grant", "412 grants".
func of(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return format.Count(n) + " " + noun + "s"
}

func counted(n int) string {
	if n == 1 {
		return "1 anomaly"
	}
	return format.Count(n) + " anomalies"
}
