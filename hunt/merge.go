package hunt

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Merge puts the portions of one hunt together, as its shards made them. Counterexamples are as the
// shards left them, made small and measured where there was time: of those that are the same
// the smallest stays. Portions of different hunts are an error.
func Merge(portions []Portion) (*Result, error) {
	if len(portions) == 0 {
		return nil, fmt.Errorf("there is nothing to put together")
	}
	first := portions[0].Result
	same := func(r Result) bool {
		return r.Lock == first.Lock && r.Fencing == first.Fencing && r.Strategy == first.Strategy && len(r.Depths) == len(first.Depths) &&
			slices.Equal(asked(r.Command), asked(first.Command))
	}
	for _, p := range portions[1:] {
		if !same(p.Result) {
			return nil, fmt.Errorf("%q and %q are not of one hunt", strings.Join(first.Command, " "), strings.Join(p.Result.Command, " "))
		}
	}
	h := Assemble(Options{
		Target: Target{Lock: first.Lock, Fencing: first.Fencing, TTL: time.Duration(first.TTL)}, Strategy: first.Strategy,
		Depth: len(first.Depths) - 1, Seed: first.Seed, Find: first.Find, IgnoreHazards: first.IgnoreHazards,
	}, portions)
	r := h.Result()
	r.Command, r.Versions = whole(first.Command), first.Versions
	h.unfinished(FinishOptions{})
	return r, nil
}

// asked is a hunt's command without what each shard may have of its own: the lease that a busy
// machine made longer, how many run side by side, the seed that was drawn, the time for what was found.
func asked(command []string) []string {
	return without(command, "--shard", "--ttl", "--jobs", "--seed", "--finish", "--replays")
}

// whole is the command of the hunt that the shards are of.
func whole(command []string) []string { return without(command, "--shard") }

func without(command []string, flags ...string) []string {
	var out []string
	for i := 0; i < len(command); i++ {
		if slices.Contains(flags, command[i]) {
			i++
			continue
		}
		out = append(out, command[i])
	}
	return out
}
