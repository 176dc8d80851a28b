package model

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Recognise finds the model that a history is of, if its operations show it.
func Recognise(h *History) (*Model, error) {
	seen := map[string]bool{}
	fences, named := false, false
	twice := false
	held := map[string]int{}
	for _, o := range h.Ops {
		seen[o.F] = true
		id := o.Key + "\x00" + o.Owner
		if o.F == "acquire" && o.Type == OK {
			fences, named = fences || o.Fence != 0, named || o.Fence != 0 && !o.bare
			held[id]++
			twice = twice || held[id] > 1
		}
		if o.F == "release" {
			held[id] = 0
		}
	}
	var fs []string
	for f := range seen {
		fs = append(fs, f)
	}
	slices.Sort(fs)
	only := func(allowed ...string) bool {
		return len(fs) > 0 && !slices.ContainsFunc(fs, func(f string) bool { return !slices.Contains(allowed, f) })
	}
	var name string
	switch {
	case only(lockOps...) && twice:
		return nil, fmt.Errorf("an owner acquires the lock again while it holds it: say with --model whether it is reentrant, or a semaphore")
	case only(lockOps...) && fences && !named && !rise(h.Ops) && countAnew(h.Ops):
		return nil, errors.New("the numbers that acquires are answered with do not rise, and several processes begin with the same: say with --model whether they are fencing tokens (fenced-mutex), or not (owner-mutex)")
	case only(lockOps...) && fences:
		name = "fenced-mutex"
	case only(lockOps...):
		name = "owner-mutex"
	case only("acquire-read", "release-read", "acquire-write", "release-write"):
		name = "rw-lock"
	case only("read", "write"):
		name = "register" + h.first()
	case only("read", "write", "cas"):
		name = "cas-register" + h.first()
	case only("read", "add"):
		name = "set"
	case only("get", "put", "append"):
		name = "kv"
	default:
		return nil, fmt.Errorf("no model has the operations %s: name one with --model (%s)", strings.Join(fs, ", "), strings.Join(Names(), ", "))
	}
	return Named(name)
}

// first is ":" and the whole number that registers hold at first, if the history shows it: a client has read it, or a cas has found it, no client has tried to write it,
// and there is no other such value. "" for none.
func (h *History) first() string {
	written, found := map[string]bool{}, map[string]bool{}
	done := map[string]int{} // by key: when the first change was answered
	for _, o := range h.Ops {
		if o.Type == OK && (o.F == "write" || o.F == "cas") {
			if at, known := done[o.Key]; !known || o.Return < at {
				done[o.Key] = o.Return
			}
		}
	}
	// late: it was found only after a change, which nothing puts back.
	late := map[string]bool{}
	note := func(v string, o *Op) {
		at, changed := done[o.Key]
		found[v], late[v] = true, (!found[v] || late[v]) && changed && o.Call > at
	}
	for _, o := range h.Ops {
		switch {
		case o.F == "write":
			written[o.Arg] = true
		case o.F == "cas":
			written[o.Arg2] = true
			if o.Type == OK {
				note(o.Arg, o)
			}
		case o.Type == OK:
			note(o.Out, o)
		}
	}
	maps.DeleteFunc(found, func(v string, _ bool) bool { return written[v] || h.refused[v] || late[v] })
	for v := range found {
		if _, err := strconv.ParseInt(v, 10, 64); err == nil && len(found) == 1 {
			return ":" + v
		}
	}
	return ""
}

// countAnew says that the first numbers of two processes are equal, as those of connections are that each count their messages.
func countAnew(ops []*Op) bool {
	first, seen := map[string]bool{}, map[int64]bool{}
	for _, o := range ops {
		if o.F != "acquire" || o.Type != OK || o.Fence == 0 || first[o.Process] {
			continue
		}
		if first[o.Process] = true; seen[o.Fence] {
			return true
		}
		seen[o.Fence] = true
	}
	return false
}

// rise says that each acquire's number is greater than those of the acquires on its key that were over before it began.
func rise(ops []*Op) bool {
	type seen struct {
		by      int // Return
		highest int64
	}
	granted := map[string][]*Op{}
	for _, o := range ops {
		if o.F == "acquire" && o.Type == OK && o.Fence != 0 {
			granted[o.Key] = append(granted[o.Key], o)
		}
	}
	for _, list := range granted {
		slices.SortFunc(list, func(a, b *Op) int { return cmp.Compare(a.Return, b.Return) })
		var highest []seen
		for _, o := range list {
			n, _ := slices.BinarySearchFunc(highest, o.Call, func(s seen, call int) int { return cmp.Compare(s.by, call) })
			if n > 0 && o.Fence <= highest[n-1].highest {
				return false
			}
			top := o.Fence
			if len(highest) > 0 {
				top = max(top, highest[len(highest)-1].highest)
			}
			highest = append(highest, seen{o.Return, top})
		}
	}
	return true
}
