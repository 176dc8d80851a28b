package clients

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Abilities are what a lock can do and what it promises. The program of an exec lock
// declares them when it is opened; for all other locks the table of this package has them.
type Abilities struct {
	Tokens bool `json:"tokens,omitempty"` // every grant has a fencing token that rises
	// Lease says whether every grant is promised for a time; nil if the program has
	// not declared it, and some grants may be.
	Lease   *bool  `json:"lease,omitempty"`
	Kind    string `json:"kind,omitempty"`    // as Info.Kind
	Permits int    `json:"permits,omitempty"` // of a semaphore
	Renew   bool   `json:"renew,omitempty"`   // the lock is a Renewer
	// Watchdog: the lock renews its lease by itself for as long as it is held.
	Watchdog bool `json:"watchdog,omitempty"`
	// Notifies: the library reports it when a grant is lost, soon after its lease, even if it cannot reach the service.
	Notifies bool `json:"notifies,omitempty"`
	Confirms bool `json:"confirms,omitempty"`
	Holds    bool `json:"holds,omitempty"` // the lock is a Holder
	// Downgrades: the lock is a Downgrader.
	Downgrades bool `json:"downgrades,omitempty"`
	// Cancels: the lock is a Canceler.
	Cancels bool `json:"cancels,omitempty"`
	// Several: a client can hold several keys at once.
	Several bool `json:"several,omitempty"`

	// OwnLeases: see Info.
	OwnLeases bool `json:"own_leases,omitempty"`

	// Lingers: a released lock stays taken until its lease has ended, as the library documents.
	Lingers bool `json:"lingers,omitempty"`

	// Reopens: its program begins anew where it is asked to open once more.
	Reopens bool `json:"reopens,omitempty"`

	// Library and Version name what the program has loaded, so that records can name it; both ""
	// if it does not say so.
	Library string `json:"library,omitempty"`
	Version string `json:"version,omitempty"`
}

// Declarer is a lock that says what it can do once it is open (Info.Declares).
type Declarer interface{ Abilities() Abilities }

// maxPermits bounds what a semaphore may have.
const maxPermits = 1000

// abilityNames are the names that --ability accepts.
var abilityNames = []string{"tokens", "lease", "kind", "permits", "renew", "watchdog", "notifies", "confirms", "holds", "downgrades", "cancels", "several", "own_leases", "lingers"}

// kinds are the words for Info.Kind.
var kinds = map[string]string{"": "", "mutex": "", ReadWrite: ReadWrite, Semaphore: Semaphore, Reentrant: Reentrant}

// Check normalizes the kind, and refuses abilities that contradict each other.
func (a *Abilities) Check() error {
	kind, ok := kinds[a.Kind]
	switch {
	case !ok:
		return fmt.Errorf("unknown kind %s: have mutex, %s, %s, %s", shown(a.Kind), Reentrant, ReadWrite, Semaphore)
	case kind == Semaphore && (a.Permits < 1 || a.Permits > maxPermits):
		return fmt.Errorf(`a semaphore needs the number of clients that may hold it at once: want "permits", 1 to %d`, maxPermits)
	case kind != Semaphore && a.Permits != 0:
		return errors.New(`only a semaphore has "permits": want "kind":"semaphore"`)
	case kind != ReadWrite && a.Downgrades:
		return errors.New(`only a lock of the kind rw "downgrades": want "kind":"rw"`)
	}
	a.Kind = kind
	return nil
}

// shown quotes the beginning of a text that a program wrote.
func shown(text string) string {
	const most = 200
	if len(text) > most {
		return fmt.Sprintf("%q...", text[:most])
	}
	return strconv.Quote(text)
}

// With overrides what the program declares with what the user does.
func (a Abilities) With(said map[string]string) (Abilities, error) {
	for _, name := range slices.Sorted(maps.Keys(said)) {
		if err := a.set(name, said[name]); err != nil {
			return a, fmt.Errorf("ability %s=%s: %w", name, said[name], err)
		}
	}
	if a.Kind != Semaphore && said["kind"] != "" && said["permits"] == "" {
		a.Permits = 0 // the program's, for the kind that the user overrides
	}
	if a.Kind != ReadWrite && said["kind"] != "" && said["downgrades"] == "" {
		a.Downgrades = false // likewise
	}
	return a, nil
}

func (a *Abilities) set(name, value string) (err error) {
	on := func(to *bool) { *to, err = parseAbility(value) }
	switch name {
	case "tokens":
		on(&a.Tokens)
	case "lease":
		a.Lease = new(bool)
		on(a.Lease)
	case "renew":
		on(&a.Renew)
	case "watchdog":
		on(&a.Watchdog)
	case "notifies":
		on(&a.Notifies)
	case "confirms":
		on(&a.Confirms)
	case "holds":
		on(&a.Holds)
	case "downgrades":
		on(&a.Downgrades)
	case "cancels":
		on(&a.Cancels)
	case "several":
		on(&a.Several)
	case "own_leases":
		on(&a.OwnLeases)
	case "lingers":
		on(&a.Lingers)
	case "permits":
		a.Permits, err = parsePermits(value)
	case "kind":
		kind, ok := kinds[value]
		if !ok || value == "" {
			return fmt.Errorf("want mutex, %s, %s or %s", Reentrant, ReadWrite, Semaphore)
		}
		a.Kind = kind
	default:
		err = fmt.Errorf("there is no such ability: have %s", strings.Join(abilityNames, ", "))
	}
	return err
}

func parseAbility(text string) (bool, error) {
	switch text {
	case "yes", "true":
		return true, nil
	case "no", "false":
		return false, nil
	}
	return false, errors.New("want yes or no")
}

// ParseAbilities reads NAME=VALUE texts; nil for none.
func ParseAbilities(texts []string) (map[string]string, error) {
	out, err := pairs(texts, "ability", "NAME=VALUE, as tokens=yes")
	if err != nil {
		return nil, err
	}
	_, err = Abilities{}.With(out)
	return out, err
}

// CheckAbilities returns an error if the user declares abilities of a lock whose abilities are
// known.
func (i Info) CheckAbilities(said map[string]string) error {
	if len(said) > 0 && !i.Declares {
		return fmt.Errorf("lock %s: what it can do is known: --ability is for exec locks", i.Name)
	}
	_, err := Abilities{}.With(said)
	return err
}

// ExecPrefix begins the name of a lock that is a user's program.
const ExecPrefix = "exec:"

// IsExec says that the lock is a user's program.
func (i Info) IsExec() bool { return strings.HasPrefix(i.Name, ExecPrefix) }

// With is the lock with what it has declared.
func (i Info) With(a Abilities) Info {
	i.Declares = false
	i.Fencing, i.Kind, i.Confirms, i.Holds, i.Watchdog, i.Notifies, i.Downgrades, i.Cancels, i.Several, i.OwnLeases, i.Lingers, i.permits = a.Tokens, a.Kind, a.Confirms, a.Holds, a.Watchdog, a.Notifies, a.Downgrades, a.Cancels, a.Several, a.OwnLeases, a.Lingers, a.Permits
	return i
}

// Words lists the abilities as --ability takes them, without those that are not declared.
func (a Abilities) Words() []string {
	var out []string
	say := func(name string, is bool) {
		if is {
			out = append(out, name+"=yes")
		}
	}
	say("tokens", a.Tokens)
	if a.Lease != nil {
		out = append(out, "lease="+map[bool]string{true: "yes", false: "no"}[*a.Lease])
	}
	if a.Kind != "" {
		out = append(out, "kind="+a.Kind)
	}
	if a.Permits > 0 {
		out = append(out, "permits="+strconv.Itoa(a.Permits))
	}
	say("renew", a.Renew)
	say("watchdog", a.Watchdog)
	say("notifies", a.Notifies)
	say("confirms", a.Confirms)
	say("holds", a.Holds)
	say("downgrades", a.Downgrades)
	say("cancels", a.Cancels)
	say("several", a.Several)
	say("own_leases", a.OwnLeases)
	say("lingers", a.Lingers)
	return out
}
