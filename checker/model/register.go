package model

import (
	"cmp"
	"slices"

	"github.com/picklock/picklock/checker"
)

// exactRegister decides a register whose written values are unique, without
// compare-and-set (Gibbons and Korach, 1997; see package checker).
func exactRegister(m *Model, ops []*Op) ([]*Op, bool) {
	written := map[string]bool{m.init.(string): true}
	list := make([]checker.RegisterOp, 0, len(ops))
	kept := make([]*Op, 0, len(ops))
	for _, o := range ops {
		r := checker.RegisterOp{Call: int64(o.Call), Reply: int64(o.Return), Unknown: o.Type == Info}
		switch {
		case o.F == "read" && o.Type == Info:
			continue
		case o.F == "read":
			r.Value = o.Out
		case o.F == "write" && !written[o.Arg]:
			r.Write, r.Value = true, o.Arg
			written[o.Arg] = true
		default:
			return nil, false
		}
		switch r.Value {
		case m.init:
			r.Value = ""
		case "":
			return nil, false // an empty string that was written is not the first value
		}
		list = append(list, r)
		kept = append(kept, o)
	}
	var evidence []*Op
	for _, i := range checker.CheckRegister(list) {
		evidence = append(evidence, kept[i])
	}
	return evidence, true
}

// neverWritten is the first operation that found a value in a register which it did not begin with, and which no client tried to write; nil if there is none. That needs no
// order of the others.
func neverWritten(m *Model, ops []*Op) *Op {
	if !slices.Contains(m.Fs, "write") || m.Name == "fenced-register" {
		return nil
	}
	known := map[any]bool{m.init: true}
	for _, o := range ops {
		switch o.F {
		case "write":
			known[o.Arg] = true
		case "cas":
			known[o.Arg2] = true
		}
	}
	for _, o := range ops {
		if o.Type == OK && (o.F == "read" && !known[o.Out] || o.F == "cas" && !known[o.Arg]) {
			return o
		}
	}
	return nil
}

// exactSet decides a set that only grows, if nothing is added twice. Reads must be
// ordered by inclusion; what a read holds came before it, what it does not hold
// came after it. So everything has its level in one order, and that order must not
// contradict real time: nothing on a lower level may have been invoked after
// something on a higher level was answered.
func exactSet(_ *Model, ops []*Op) ([]*Op, bool) {
	adds := map[string]*Op{}
	var reads []*Op
	for _, o := range ops {
		switch {
		case o.F == "add" && adds[o.Arg] != nil:
			return nil, false
		case o.F == "add":
			adds[o.Arg] = o
		case o.Type == OK:
			reads = append(reads, o)
		}
	}
	contents := make([]map[string]bool, len(reads))
	order := make([]int, len(reads))
	for i, r := range reads {
		order[i] = i
		contents[i] = map[string]bool{}
		for _, e := range r.Elems {
			if adds[e] == nil {
				return []*Op{r}, true // nobody added it
			}
			contents[i][e] = true
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(len(contents[a]), len(contents[b])) })
	level := map[*Op]int{}
	held := map[string]bool{}
	for n, i := range order {
		if n > 0 {
			before := order[n-1]
			for e := range contents[before] {
				if !contents[i][e] {
					return differ(reads[before], reads[i], contents[before], contents[i], adds), true
				}
			}
		}
		at := 2*n + 1
		if n > 0 && len(contents[order[n-1]]) == len(contents[i]) {
			at = level[reads[order[n-1]]] // the same set: no order between them
		}
		level[reads[i]] = at
		for e := range contents[i] {
			if !held[e] {
				held[e] = true
				level[adds[e]] = at - 1
			}
		}
	}
	var all []*Op
	for _, o := range ops {
		if o.F == "add" && !held[o.Arg] {
			if o.Type == Info {
				continue // nobody ever saw it
			}
			level[o] = 2 * len(reads)
		}
		if _, ok := level[o]; ok {
			all = append(all, o)
		}
	}
	slices.SortStableFunc(all, func(a, b *Op) int { return cmp.Compare(level[a], level[b]) })
	var latest *Op // of the lower levels, the one invoked last
	for i := 0; i < len(all); {
		j := i
		for ; j < len(all) && level[all[j]] == level[all[i]]; j++ {
			if latest != nil && all[j].Return < latest.Call {
				return []*Op{latest, all[j]}, true
			}
		}
		for ; i < j; i++ {
			if latest == nil || all[i].Call > latest.Call {
				latest = all[i]
			}
		}
	}
	return nil, true
}

// differ is two reads of which neither contains the other, and the adds that show it.
func differ(a, b *Op, inA, inB map[string]bool, adds map[string]*Op) []*Op {
	evidence := []*Op{a, b}
	pick := func(has, lacks map[string]bool) {
		best := ""
		for e := range has {
			if !lacks[e] && (best == "" || e < best) {
				best = e
			}
		}
		if best != "" {
			evidence = append(evidence, adds[best])
		}
	}
	pick(inA, inB)
	pick(inB, inA)
	return evidence
}
