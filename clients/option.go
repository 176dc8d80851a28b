package clients

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/picklock/picklock/internal/suggest"
)

// Option is a setting of one lock: --lock-option NAME=VALUE.
type Option struct {
	Name    string
	About   string // one line: what it is, and what it does to safety
	Default string // the value that holds where none is given, in words if it depends
	// Check says whether a value can be used; nil: any text can.
	Check func(value string) error
	// Safer are values with which the lock should be safer than with others, including the
	// default if it is one of them. "2 leases" is the length of two leases. A hunt tries them
	// as mitigations.
	Safer []string
	// Also is a value that some of the lock's users choose, with the same promises: a hunt tries it
	// besides the default. "" for none. Unrenewed: with that value nobody renews a lease.
	Also      string
	Unrenewed bool
	// Mixed is a value that one of the lock's users may choose while the others do not, with the
	// same promises to all: a hunt gives it to one client. "" for none.
	Mixed string
	// Shared: what it says is true of the lock, and its clients cannot differ in it.
	Shared bool
}

// Setting is a value of an option.
type Setting struct{ Name, Value string }

// Mitigations lists the settings that should make the lock safer, are possible with this lease,
// and are not in force with these options.
func (i Info) Mitigations(extra map[string]string, ttl time.Duration) []Setting {
	var out []Setting
	for _, o := range i.Options {
		now, given := extra[o.Name]
		if !given {
			now = o.Default
		}
		now = inLeases(now, ttl)
		for _, value := range o.Safer {
			if value = inLeases(value, ttl); value != now && (o.Check == nil || o.Check(value) == nil) {
				out = append(out, Setting{o.Name, value})
			}
		}
	}
	return out
}

// Other are the settings that some users choose instead of the default, of those options that extra does not give: first those with which leases are
// renewed as they are by default, then all. Each is nil if there are none of that sort.
func (i Info) Other(extra map[string]string) (renewed, unrenewed map[string]string) {
	for _, o := range i.Options {
		if _, given := extra[o.Name]; !given && o.Also != "" && !o.Unrenewed {
			renewed = with(renewed, o)
		}
	}
	for _, o := range i.Options {
		if _, given := extra[o.Name]; given || o.Also == "" || !o.Unrenewed {
			continue
		}
		if unrenewed == nil {
			unrenewed = maps.Clone(renewed)
		}
		unrenewed = with(unrenewed, o)
	}
	return renewed, unrenewed
}

// with adds what an option is also set to.
func with(settings map[string]string, o Option) map[string]string {
	if settings == nil {
		settings = map[string]string{}
	}
	settings[o.Name] = o.Also
	return settings
}

// MixedOf are the settings that a hunt gives to this client alone, of those options that extra does not give; nil if there are none.
func (i Info) MixedOf(client string, extra map[string]string) map[string]string {
	var out map[string]string
	if name := OptionLease + ofClient + client; i.OwnLeases && extra[name] == "" {
		out = map[string]string{name: OtherLease}
	}
	for _, o := range i.Options {
		name := o.Name + ofClient + client
		_, all := extra[o.Name]
		if _, given := extra[name]; given || all || o.Mixed == "" {
			continue
		}
		if out == nil {
			out = map[string]string{}
		}
		out[name] = o.Mixed
	}
	return out
}

// leasesUnit follows a number of leases.
const leasesUnit = " leases"

// inLeases converts a value in leases to a length of time, and leaves any other as it is.
func inLeases(value string, ttl time.Duration) string {
	number, ok := strings.CutSuffix(value, leasesUnit)
	n, err := strconv.ParseFloat(number, 64)
	if !ok || err != nil {
		return value
	}
	return time.Duration(n * float64(ttl)).String()
}

// CheckOptions returns an error that lists what the lock knows if it does not know
// an option of extra, or cannot use its value.
func (i Info) CheckOptions(extra map[string]string) error {
	if i.AnyOption || i.OwnLeases {
		if err := checkLeases(extra); err != nil {
			return fmt.Errorf("lock %s: %w", i.Name, err)
		}
	}
	if i.AnyOption {
		return nil
	}
	var names []string
	for _, o := range i.Options {
		names = append(names, o.Name)
	}
	for _, given := range slices.Sorted(maps.Keys(extra)) {
		name, _, one := strings.Cut(given, ofClient)
		at := slices.Index(names, name)
		switch {
		case one && name == OptionLease && i.OwnLeases: // see above
			continue
		case len(names) == 0:
			return fmt.Errorf("lock %s has no options: it does not know %q", i.Name, given)
		case at < 0:
			return fmt.Errorf("lock %s: %w", i.Name, suggest.Unknown("option", name, names))
		case one && i.Options[at].Shared:
			return fmt.Errorf("lock %s: option %s=%s: clients cannot differ in it", i.Name, given, extra[given])
		case i.Options[at].Check == nil:
			continue
		}
		if err := i.Options[at].Check(extra[given]); err != nil {
			return fmt.Errorf("lock %s: option %s=%s: %w", i.Name, given, extra[given], err)
		}
	}
	return nil
}

// ParseOptions reads NAME=VALUE texts; nil for none.
func ParseOptions(texts []string) (map[string]string, error) {
	return pairs(texts, "lock option", "NAME=VALUE")
}

// pairs reads NAME=VALUE texts, each name once; nil for none. what and form stand in errors.
func pairs(texts []string, what, form string) (map[string]string, error) {
	var out map[string]string
	for _, text := range texts {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("%s %q: want %s", what, text, form)
		}
		if _, twice := out[name]; twice {
			return nil, fmt.Errorf("%s %s is given twice", what, name)
		}
		if out == nil {
			out = map[string]string{}
		}
		out[name] = value
	}
	return out, nil
}
