package hunt

import (
	"fmt"
	"slices"
	"strings"

	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/scenarios"
)

// fault is one fault that a schedule can have, before its trigger is known.
type fault struct {
	text  string // as a scenario has it: "pause: A"
	word  string
	whom  string // the client that it falls on; "" for servers
	rank  int    // how soon it is tried: what happens to locks every day comes first
	lasts bool   // it ends: its until matters
	// glitches are lengths of time in leases, shorter than one, for which it is tried at the
	// messages of an act: a library's own retry is as short.
	glitches []float64
	idle     bool // it can matter while its client only works: its library does something by itself
	at       func(a scenarios.Trigger) bool
	sent     []scenarios.Where // besides before a move: at a message of it
}

// triggers are chosen so that what cannot matter is not tried: a fault of one client
// is triggered by that client's own steps, one of its link to the lock where it asks the lock
// something, one of its link to the register where it touches that.
func asking(a scenarios.Trigger) bool {
	return asks(a.Do)
}
func touching(a scenarios.Trigger) bool { return touches(a.Do) && a.Do != history.Read }
func acting(a scenarios.Trigger) bool   { return a.Do != scenarios.Work && a.Do != scenarios.Wait }

// silently is how a reset's connections end if neither end learns of it: a black hole.
const silently = " silently"

// messagesOnly is of faults that are nothing without a message.
func messagesOnly(scenarios.Trigger) bool { return false }

// glitches are the short lengths of time of a fault, in leases.
var glitches = []float64{0.3, 0.7}

// faults lists what can be injected into the target's clients and servers.
func faults(t Target, clients []string) []fault {
	var out []fault
	add := func(f fault) {
		word, _, _ := strings.Cut(f.text, ":")
		f.word = word
		if t.allows(f) {
			out = append(out, f)
		}
	}
	// Given in time, not in leases: the clock is what leases are measured with.
	ahead, behind := 3*t.TTL, -2*t.TTL
	for i, c := range clients {
		later := 4 * i // A's faults before B's
		add(fault{text: "pause: " + c, whom: c, rank: 0 + later, lasts: true, at: acting, sent: []scenarios.Where{scenarios.Sent}})
		add(fault{text: "kill: " + c, whom: c, rank: 2 + later, lasts: true, at: acting, sent: []scenarios.Where{scenarios.Sent}})
		add(fault{text: fmt.Sprintf("clock: %s +%v", c, ahead), whom: c, rank: 3 + later, lasts: true, at: acting, sent: []scenarios.Where{scenarios.Sent}})
		add(fault{text: fmt.Sprintf("clock: %s %v", c, behind), whom: c, rank: 4 + later, lasts: true, at: acting, sent: []scenarios.Where{scenarios.Sent}})
		add(fault{text: "hold: " + c + " to register", whom: c, rank: 1 + later, lasts: true, at: touching})
		if len(t.Servers) == 0 {
			continue
		}
		add(fault{text: "hold: " + scenarios.Servers + " to " + c, whom: c, rank: 1 + later, lasts: true, glitches: glitches, idle: true, at: asking, sent: []scenarios.Where{scenarios.Sent}})
		add(fault{text: "hold: " + c + " to " + scenarios.Servers, whom: c, rank: 2 + later, lasts: true, at: asking, sent: []scenarios.Where{scenarios.Sent}})
		add(fault{text: "cut: " + c + " from " + scenarios.Servers, whom: c, rank: 3 + later, lasts: true, idle: true, at: acting, sent: []scenarios.Where{scenarios.Sent}})
		add(fault{text: "reset: " + c + " to " + scenarios.Servers, whom: c, rank: 4 + later, idle: true, at: acting, sent: []scenarios.Where{scenarios.Sent}})
		add(fault{text: "withhold: " + scenarios.Servers + " to " + c, whom: c, rank: 1 + later, lasts: true, glitches: glitches, idle: true, at: messagesOnly, sent: []scenarios.Where{scenarios.Sent}})
		add(fault{text: "reset: " + c + " to " + scenarios.Servers + silently, whom: c, rank: 5 + later, lasts: true, at: asking, sent: []scenarios.Where{scenarios.Sent}})
		for _, some := range t.partsOfServers() {
			name := strings.Join(some, ", ")
			add(fault{text: "hold: " + name + " to " + c, whom: c, rank: 4 + later, lasts: true, glitches: glitches, idle: true, at: asking, sent: []scenarios.Where{scenarios.Sent}})
			add(fault{text: "withhold: " + name + " to " + c, whom: c, rank: 4 + later, lasts: true, glitches: glitches, idle: true, at: messagesOnly, sent: []scenarios.Where{scenarios.Sent}})
			add(fault{text: "cut: " + c + " from " + name, whom: c, rank: 5 + later, lasts: true, idle: true, at: acting, sent: []scenarios.Where{scenarios.Sent}})
		}
		for _, bad := range []string{fmt.Sprintf("slow: %s from %s %v", c, scenarios.Servers, t.TTL/5), fmt.Sprintf("flap: %s from %s %v", c, scenarios.Servers, t.TTL/5), fmt.Sprintf("loss: %s from %s 30%%", c, scenarios.Servers)} {
			add(fault{text: bad, whom: c, rank: 6 + later, lasts: true, at: asking})
		}
	}
	if t.External {
		return out
	}
	for _, servers := range t.serverSets() {
		name := strings.Join(servers, ", ")
		add(fault{text: "pause: " + name, rank: 4, lasts: true, at: asking})
		add(fault{text: "kill: " + name, rank: 3, lasts: true, at: asking})
		if !t.Roles || name == scenarios.Leader { // a replica takes no writes anyway
			add(fault{text: "refuse: " + name, rank: 4, lasts: true, at: asking})
		}
		if t.minority(servers) {
			add(fault{text: "kill: " + name + withoutData, rank: 6, lasts: true, at: asking})
		}
		for _, s := range servers {
			if len(servers) > 1 && s != servers[0] {
				break // a clock is one server's; a majority of them is two faults
			}
			if s == scenarios.Servers {
				s = t.Servers[0]
			}
			if t.byRole() && slices.Contains(t.Servers, s) {
				break // it leads, or it does not
			}
			add(fault{text: fmt.Sprintf("clock: %s +%v", s, ahead), rank: 3, lasts: true, at: asking})
			add(fault{text: fmt.Sprintf("clock: %s %v", s, behind), rank: 6, lasts: true, at: asking})
			if len(servers) == 1 {
				add(fault{text: "failover: " + s, rank: 4, at: asking})
				add(fault{text: "powerloss: " + s, rank: 7, lasts: true, at: asking})
				add(fault{text: "disk: " + s + " stall", rank: 8, lasts: true, at: asking})
				add(fault{text: "disk: " + s + " full", rank: 9, lasts: true, at: asking})
			}
		}
		if name == scenarios.Leader {
			add(fault{text: "cut: " + scenarios.Leader + " from " + scenarios.Followers, rank: 5, lasts: true, at: asking})
			continue
		}
		if len(t.Servers) > 1 && len(servers) < len(t.Servers) && name != scenarios.Servers && name != scenarios.Follower {
			var rest []string
			for _, s := range t.Servers {
				if !slices.Contains(servers, s) {
					rest = append(rest, s)
				}
			}
			add(fault{text: "cut: " + name + " from " + strings.Join(rest, ", "), rank: 5, lasts: true, at: asking})
		}
	}
	// The same text twice is the same fault.
	seen := map[string]bool{}
	out = slices.DeleteFunc(out, func(f fault) bool {
		twice := seen[f.text]
		seen[f.text] = true
		return twice
	})
	slices.SortStableFunc(out, func(a, b fault) int { return a.rank - b.rank })
	return out
}

// minority says that a majority of the servers is left without these. What is kept on no
// server any more, no lock can know: that its only disk was lost says nothing of a lock.
func (t Target) minority(servers []string) bool {
	return servers[0] != scenarios.Servers && 2*len(servers) < len(t.Servers)
}

// partsOfServers are some of the servers, where a client needs a majority of servers that are independent: one, and a
// majority. A client of servers of which one leads asks another if it is cut off from some.
func (t Target) partsOfServers() [][]string {
	if s := t.Servers; len(s) > 2 && !t.Roles {
		return [][]string{s[:1], s[:len(s)/2+1]}
	}
	return nil
}

// byRole says that one of several servers leads, and the others are equal: a fault of one falls on that one, or on one
// that does not lead.
func (t Target) byRole() bool { return t.Roles && len(t.Servers) > 2 }

// serverSets are the sets of servers that faults fall on: one, all, and of several the
// first majority. Which one of equal servers it is makes no difference. Where they are not
// equal, the one that leads is tried as well, and one that does not.
func (t Target) serverSets() [][]string {
	var out [][]string
	switch s := t.Servers; len(s) {
	case 0:
		return nil
	case 1:
		return [][]string{s}
	case 2:
		out = [][]string{s[:1], s[1:], {scenarios.Servers}}
	default:
		out = [][]string{s[:1], s[:len(s)/2+1], {scenarios.Servers}}
	}
	switch {
	case t.byRole():
		out = append(out[1:], []string{scenarios.Leader}, []string{scenarios.Follower})
	case t.Roles: // of two, each has faults of its own
		out = append(out, []string{scenarios.Leader})
	}
	return out
}

// kindOf is the kind of fault behind a word.
func kindOf(word string) string {
	switch word {
	case "cut":
		return "partition"
	case "deliver":
		return "hold"
	}
	return word
}
