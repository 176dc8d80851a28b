package register

import (
	"fmt"

	"github.com/picklock/picklock/internal/suggest"
)

// FencingMode is how a register uses fencing tokens. The zero value is none.
type FencingMode struct {
	Name  string // as given to --fencing
	About string // one line

	fenced    bool // requests need a token
	strict    bool // a write's token must be above the highest, not equal to it
	fenceRead bool // reads below the highest are refused
	raiseRead bool // reads raise the highest
	asks      bool // the lock service is asked, instead of comparing tokens
	apart     bool // other requests are carried out between its answer and the effect
}

// fencingModes is the one table.
var fencingModes = []FencingMode{
	{Name: "none", About: "accept everything, token or not"},
	{Name: "write", About: "refuse a write whose token is below the highest written with", fenced: true},
	{Name: "write-strict", About: "refuse a write whose token is not above the highest: one write a grant", fenced: true, strict: true},
	{Name: "read-write", About: "refuse a read or write whose token is below the highest; reads raise it too", fenced: true, fenceRead: true, raiseRead: true},
	{Name: "sequencer", About: "ask the lock service whether the grant is in force, and block other requests for the key until the effect", fenced: true, asks: true},
	{Name: "sequencer-apart", About: "ask the lock service whether the grant is in force, and carry out the request some time after the answer", fenced: true, asks: true, apart: true},
}

// FencingModes lists all, the weakest first.
func FencingModes() []FencingMode { return append([]FencingMode(nil), fencingModes...) }

// ParseFencingMode finds a fencing mode by its name.
func ParseFencingMode(name string) (FencingMode, error) {
	names := make([]string, len(fencingModes))
	for i, m := range fencingModes {
		if m.Name == name {
			return m, nil
		}
		names[i] = m.Name
	}
	return FencingMode{}, suggest.Unknown("fencing", name, names)
}

func (m FencingMode) String() string {
	if m.Name == "" {
		return "none"
	}
	return m.Name
}

// Fenced says that requests need a token, so that a lock without tokens cannot
// be used with this mode.
func (m FencingMode) Fenced() bool { return m.fenced }

// Asks says that the lock service decides about each request, so that a lock whose
// service cannot answer (see Sequencer) cannot be used with this mode.
func (m FencingMode) Asks() bool { return m.asks }

// refuse returns the reason to refuse a request, or "".
func (m FencingMode) refuse(write bool, token, highest int64) string {
	switch {
	case !m.fenced:
		return ""
	case token == 0:
		return fmt.Sprintf("no token: fencing %s needs a lock that gives one, else use none", m)
	case m.asks:
		return ""
	case !write && !m.fenceRead:
		return ""
	case token < highest:
		return fmt.Sprintf("stale token %d < %d", token, highest)
	case write && m.strict && token == highest:
		return fmt.Sprintf("used token %d = %d", token, highest)
	}
	return ""
}

// Raises says whether an accepted request moves the highest token up.
func (m FencingMode) Raises(write bool) bool { return write || m.raiseRead }
