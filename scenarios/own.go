package scenarios

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/picklock/picklock/internal/suggest"
)

// A scenario with "*" among its locks is run on locks that the catalogue does not
// know. What such a lock can do is found out as it is run: what a scenario needs and
// the lock has not makes it unfit, which is no word about the lock.

// LibraryPrefix stands before the name of a library's lock: the catalogue knows it no better than a
// user's own, unless a scenario names it.
const LibraryPrefix = "library:"

// ownPrefixes begin the names of locks that the catalogue does not know.
var ownPrefixes = []string{"exec:", "test:", LibraryPrefix}

// Own says whether a lock is one that the catalogue does not know.
func Own(lock string) bool {
	return lock == Every || slices.ContainsFunc(ownPrefixes, func(p string) bool { return strings.HasPrefix(lock, p) })
}

// OwnLocks stands in an expectation for the locks that the catalogue does not know.
const OwnLocks = "own"

// Unfit is why a scenario cannot be run on a lock. Nothing is proved of the lock then,
// and nothing is wrong with it.
type Unfit struct{ Why string }

func (u *Unfit) Error() string { return u.Why }

// unfit is the reason to leave the scenario out where an event has not come in time.
func (a *Await) unfit() *Unfit {
	text := fmt.Sprintf("%s did not come within %v", a, a.Within)
	if a.Reason != "" {
		text += ", as " + a.Reason
	}
	return &Unfit{text}
}

// The things that a scenario can need of a lock.
const (
	NeedServers = "servers" // that picklock has started, and can stop
	NeedLease   = "lease"   // that grants promise
	NeedTokens  = "tokens"  // that grants carry
)

var needs = []string{NeedServers, NeedLease, NeedTokens}

// needed reads the field of that name.
func (p *parser) needed(n *yaml.Node) (err error) {
	if p.s.Needs, err = p.words(n); err != nil {
		return err
	}
	for i, w := range p.s.Needs {
		if !slices.Contains(needs, w) {
			return p.errorf(at(n, i), "needs: %q%s (have %s)", w, suggest.Word(w, needs), strings.Join(needs, ", "))
		}
	}
	return nil
}

// NeedsServers says whether some fault is done to the lock's servers: that of a cut from
// the register and the servers is done to the register where there are none.
func (s *Scenario) NeedsServers() bool {
	if slices.Contains(s.Needs, NeedServers) {
		return true
	}
	server := func(node string) bool { return !slices.Contains(s.Clients, node) }
	served := func(nodes []string) bool {
		return slices.ContainsFunc(nodes, server) && !slices.Contains(nodes, "register")
	}
	return slices.ContainsFunc(s.TriggeredFaults, func(f TriggeredFault) bool { return served(f.Fault.Nodes) || served(f.Fault.Peers) }) ||
		slices.ContainsFunc(s.awaits(), func(a *Await) bool { return served(a.Servers) || served(a.From) })
}
