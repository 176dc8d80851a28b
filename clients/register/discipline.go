package register

import (
	"fmt"

	"github.com/picklock/picklock/internal/suggest"
)

// Discipline is how a register uses fencing tokens. The zero value is none.
type Discipline struct {
	Name  string // as given to --fencing
	About string // one line

	fenced    bool // requests need a token
	strict    bool // a write's token must be above the highest, not equal to it
	fenceRead bool // reads below the highest are refused
	raiseRead bool // reads raise the highest
	asks      bool // the lock service is asked, instead of comparing tokens
	apart     bool // others are carried out between its answer and the effect
}

// disciplines is the one table.
var disciplines = []Discipline{
	{Name: "none", About: "accept everything, token or not"},
	{Name: "write", About: "refuse a write whose token is below the highest written with", fenced: true},
	{Name: "write-strict", About: "refuse a write whose token is not above the highest: one write a grant", fenced: true, strict: true},
	{Name: "read-write", About: "refuse a read or write whose token is below the highest; reads raise it too", fenced: true, fenceRead: true, raiseRead: true},
	{Name: "sequencer", About: "ask the lock service whether the grant is in force, and let nothing else happen to the key until it is done", fenced: true, asks: true},
	{Name: "sequencer-apart", About: "ask the lock service whether the grant is in force, and carry the request out some time after the answer", fenced: true, asks: true, apart: true},
}

// Disciplines lists all, the weakest first.
func Disciplines() []Discipline { return append([]Discipline(nil), disciplines...) }

// ParseDiscipline finds a discipline by its name.
func ParseDiscipline(name string) (Discipline, error) {
	names := make([]string, len(disciplines))
	for i, d := range disciplines {
		if d.Name == name {
			return d, nil
		}
		names[i] = d.Name
	}
	return Discipline{}, suggest.Unknown("fencing", name, names)
}

func (d Discipline) String() string {
	if d.Name == "" {
		return "none"
	}
	return d.Name
}

// Fenced says that requests need a token, so that a lock without tokens cannot
// be used with this discipline.
func (d Discipline) Fenced() bool { return d.fenced }

// Asks says that the lock service decides about each request, so that a lock whose
// service cannot answer (see Sequencer) cannot be used with this discipline.
func (d Discipline) Asks() bool { return d.asks }

// refuse returns the reason to refuse a request, or "".
func (d Discipline) refuse(write bool, token, highest int64) string {
	switch {
	case !d.fenced:
		return ""
	case token == 0:
		return fmt.Sprintf("no token: fencing %s needs a lock that gives one, else use none", d)
	case d.asks:
		return ""
	case !write && !d.fenceRead:
		return ""
	case token < highest:
		return fmt.Sprintf("stale token %d < %d", token, highest)
	case write && d.strict && token == highest:
		return fmt.Sprintf("used token %d = %d", token, highest)
	}
	return ""
}

// Raises says whether an accepted request moves the highest token up.
func (d Discipline) Raises(write bool) bool { return write || d.raiseRead }
