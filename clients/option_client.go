package clients

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ofClient stands between an option and the client that has it alone: --lock-option watchdog@B=no.
const ofClient = "@"

// OptionLease is an option of one client only: the lease that it asks for. A lock with Info.OwnLeases has it, and one that takes any option.
const OptionLease = "lease"

// OtherLease is what a hunt gives to one client.
const OtherLease = "3 leases"

// leastPart and mostLeases bound such a lease: beyond, a run would show nothing else, or not end.
const leastPart, mostLeases = 0.1, 20

// checkLease refuses what is no lease: a time, or a number of leases of --ttl.
func checkLease(text string) error {
	if number, ok := strings.CutSuffix(text, leasesUnit); ok {
		if n, err := strconv.ParseFloat(number, 64); err == nil && n >= leastPart && n <= mostLeases {
			return nil
		}
	} else if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return nil
	}
	return fmt.Errorf("want a time, as 3s, or %v to %d leases", leastPart, mostLeases)
}

// checkLeases refuses what is given as the lease of one client and is no time.
func checkLeases(extra map[string]string) error {
	for _, given := range slices.Sorted(maps.Keys(extra)) {
		if name, _, one := strings.Cut(given, ofClient); !one || name != OptionLease {
			continue
		}
		if err := checkLease(extra[given]); err != nil {
			return fmt.Errorf("option %s=%s: %w", given, extra[given], err)
		}
	}
	return nil
}

// OptionsOf are the options and the lease of one client: those that are given for it alone take precedence.
func OptionsOf(client string, extra map[string]string, ttl time.Duration) (own map[string]string, lease time.Duration) {
	if len(clientsWithOptions(extra)) == 0 {
		return extra, ttl
	}
	own, lease = maps.Clone(extra), ttl
	for given, value := range extra {
		name, whose, one := strings.Cut(given, ofClient)
		if !one {
			continue
		}
		delete(own, given)
		switch {
		case whose != client:
		case name != OptionLease:
			own[name] = value
		default:
			if d, err := time.ParseDuration(inLeases(value, ttl)); err == nil { // CheckOptions has refused what cannot be read
				lease = d
			}
		}
	}
	return own, lease
}

// LongestLease is the longest that any client asks for.
func LongestLease(extra map[string]string, ttl time.Duration) time.Duration {
	longest := ttl
	for _, client := range clientsWithOptions(extra) {
		_, lease := OptionsOf(client, extra, ttl)
		longest = max(longest, lease)
	}
	return longest
}

// CheckClients returns an error if an option is given for a client that does not take part, or if a client asks for a lease that is shorter than least
// or so long that a run would not end.
func CheckClients(extra map[string]string, ttl, least time.Duration, names []string) error {
	for _, client := range clientsWithOptions(extra) {
		if !slices.Contains(names, client) {
			return fmt.Errorf("an option is given for the client %q; the clients are %s", client, strings.Join(names, ", "))
		}
		_, lease := OptionsOf(client, extra, ttl)
		switch most := mostLeases * ttl; {
		case lease < least:
			return fmt.Errorf("the client %s asks for a lease of %v; the lock keeps leases of %v or more", client, lease, least)
		case lease > most:
			return fmt.Errorf("the client %s asks for a lease of %v: want at most %v, which is %d times that of the others", client, lease, most, mostLeases)
		}
	}
	return nil
}

// clientsWithOptions are those that have options of their own, in order.
func clientsWithOptions(extra map[string]string) []string {
	var out []string
	for given := range extra {
		if _, client, one := strings.Cut(given, ofClient); one {
			out = append(out, client)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
