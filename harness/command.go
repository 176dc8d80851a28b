package harness

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/picklock/picklock/compose"
)

// optionFlags gives a lock's options as they are written on the command line.
func optionFlags(extra map[string]string) []string { return pairFlags("--lock-option", extra) }

// abilityFlags gives what the user said of a lock as it is written on the command line.
func abilityFlags(said map[string]string) []string { return pairFlags("--ability", said) }

func pairFlags(flag string, pairs map[string]string) []string {
	var c []string
	for _, name := range slices.Sorted(maps.Keys(pairs)) {
		c = append(c, flag, name+"="+pairs[name])
	}
	return c
}

// Command is the command line that makes the run again; what has its default
// value is left out.
func (o Options) Command() []string {
	if o.Again != nil {
		return o.Again
	}
	d := Defaults()
	c := []string{"picklock", "run", "--lock", o.Lock}
	add := func(flag, value, usual string) {
		if value != usual {
			c = append(c, flag, value)
		}
	}
	c = append(c, optionFlags(o.Extra)...)
	c = append(c, abilityFlags(o.Abilities)...)
	c = append(c, compose.Flags(o.Cluster)...)
	add("--faults", strings.Join(o.Faults, ","), "")
	add("--fencing", o.Fencing, d.Fencing)
	add("--register", o.Register, d.Register)
	add("--workload", cmp.Or(o.Workload, d.Workload), d.Workload)
	add("--clients", strconv.Itoa(o.Clients), strconv.Itoa(d.Clients))
	add("--keys", strconv.Itoa(o.Keys), strconv.Itoa(d.Keys))
	add("--ttl", o.TTL.String(), d.TTL.String())
	add("--work-time", o.WorkTime.String(), d.WorkTime.String())
	add("--rate", strconv.FormatFloat(o.Rate, 'g', -1, 64), "0")
	if o.Renew {
		c = append(c, "--renew")
	}
	if o.CheckLease {
		c = append(c, "--check-lease")
	}
	if o.IgnoreLost {
		c = append(c, "--ignore-lost")
	}
	add("--require", strings.Join(o.Require, ","), "")
	add("--duration", o.Limit.String(), d.Limit.String())
	c = append(c, runtimeFlags(o.Runtime)...)
	return append(c, "--seed", strconv.FormatUint(o.Seed, 10))
}
