package model

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/picklock/picklock/internal/suggest"
)

// Model is a sequential specification: what one object does when operations come
// one after the other.
type Model struct {
	Name, Doc string
	// Fs are the operations that it knows.
	Fs []string
	// init is the first state; step says whether an operation can happen in a
	// state, and the state after it. States are comparable.
	init any
	step func(state any, o *Op) (bool, any)
	// exact decides a history in near-linear time, where it can; see exact.
	exact func(m *Model, ops []*Op) (evidence []*Op, decided bool)
}

var lockOps = []string{"acquire", "release"}

// models is the package's one table. The definitions of the locks are those of
// Jepsen's Hazelcast tests (jepsen-io/hazelcast), where reentrant ones count to 2.
func models() []Model {
	return []Model{
		{"mutex", "acquired when free; released by any process when held", lockOps, false, stepMutex, exactLock},
		{"owner-mutex", "acquired when free; released by its owner only", lockOps, hold{}, stepOwner, exactLock},
		{"fenced-mutex", "owner-mutex whose fences rise; fence 0 is unknown", lockOps, hold{}, stepFenced, exactLock},
		{"reentrant-mutex", "owner-mutex that its owner can acquire twice", lockOps, hold{}, stepReentrant, exactLock},
		{"reentrant-fenced-mutex", "reentrant-mutex whose fences rise with each new hold and stay while it is held", lockOps, hold{}, stepReentrantFenced, exactLock},
		semaphore(1),
		{"rw-lock", "held by many readers or by one writer", []string{"acquire-read", "release-read", "acquire-write", "release-write"}, "", stepRW, exactRW},
		{"register", "a read returns the latest write", []string{"read", "write"}, "nil", stepRegister, exactRegister},
		{"cas-register", "register with compare-and-set", []string{"read", "write", "cas"}, "nil", stepRegister, exactRegister},
		{"fenced-register", "a register that accepts [fence value] only if no greater fence has touched it; a read may bring one, too", []string{"read", "write"}, fenced{value: "nil"}, stepFencedRegister, nil},
		{"set", "a set that only grows: a read returns all that was added", []string{"read", "add"}, "", stepSet, exactSet},
		{"kv", "a string that can be read, replaced and appended to", []string{"get", "put", "append"}, "nil", stepKV, nil},
	}
}

// Names lists the models, for the command line.
func Names() []string {
	var out []string
	for _, m := range models() {
		name := m.Name
		if strings.HasPrefix(name, "semaphore:") {
			name = "semaphore:N"
		}
		out = append(out, name)
	}
	return out
}

// Named finds a model; "semaphore:3" has three permits.
func Named(name string) (*Model, error) {
	base, arg, has := strings.Cut(name, ":")
	if base == "semaphore" {
		n, err := strconv.Atoi(arg)
		if err != nil || n < 1 || n > 1000 {
			return nil, fmt.Errorf("model %q: want semaphore:N, its number of permits from 1 to 1000", name)
		}
		m := semaphore(n)
		return &m, nil
	}
	for _, m := range models() {
		if m.Name == name && !has {
			return &m, nil
		}
		if begins := m.Name == "register" || m.Name == "cas-register"; begins && m.Name == base {
			v, err := newEDN(strings.NewReader(arg)).next()
			if err != nil {
				return nil, fmt.Errorf("model %q: want %s:VALUE, what it holds at first", name, base)
			}
			m.Name, m.init = name, v.String()
			return &m, nil
		}
	}
	return nil, suggest.Unknown("model", name, Names())
}

// hold is the state of a lock.
type hold struct {
	owner   string
	count   int
	fence   int64 // of this hold, 0 while unknown
	highest int64 // fence seen so far
}

// reentries is how often the owner of a reentrant lock can hold it.
const reentries = 2

func stepMutex(state any, o *Op) (bool, any) {
	locked := state.(bool)
	if o.F == "acquire" {
		return !locked, true
	}
	return locked, false
}

func stepOwner(state any, o *Op) (bool, any) {
	s := state.(hold)
	if o.F == "acquire" {
		return s.count == 0, hold{owner: o.Owner, count: 1}
	}
	return s.owns(o), hold{}
}

func (s hold) owns(o *Op) bool {
	return s.count > 0 && (s.owner == o.Owner || s.owner == anybody || o.Owner == anybody)
}

// rises says whether a new hold can have this fence.
func (s hold) rises(fence int64) bool { return fence == 0 || fence > s.highest }

func stepFenced(state any, o *Op) (bool, any) {
	s := state.(hold)
	if o.F == "acquire" {
		return s.count == 0 && s.rises(o.Fence), hold{owner: o.Owner, count: 1, highest: max(s.highest, o.Fence)}
	}
	return s.owns(o), hold{highest: s.highest}
}

func stepReentrant(state any, o *Op) (bool, any) {
	s := state.(hold)
	if o.F == "acquire" {
		return s.count == 0 || (s.owns(o) && s.count < reentries), hold{owner: o.Owner, count: s.count + 1}
	}
	return s.owns(o), s.less()
}

// less is the state after one release.
func (s hold) less() hold {
	if s.count <= 1 {
		return hold{highest: s.highest}
	}
	s.count--
	return s
}

func stepReentrantFenced(state any, o *Op) (bool, any) {
	s := state.(hold)
	if o.F != "acquire" {
		return s.owns(o), s.less()
	}
	next := hold{owner: o.Owner, count: s.count + 1, fence: max(s.fence, o.Fence), highest: max(s.highest, o.Fence)}
	switch {
	case s.count == 0:
		return s.rises(o.Fence), next
	case !s.owns(o) || s.count >= reentries:
		return false, s
	case s.fence == 0: // what it is was not known until now
		return s.rises(o.Fence), next
	}
	return o.Fence == 0 || o.Fence == s.fence, next
}

// semaphore has n permits; an owner that acquired one can release one. Its state lists
// the permits by owner.
func semaphore(n int) Model {
	return Model{fmt.Sprintf("semaphore:%d", n), "at most N permits are out; released by an owner of one", lockOps, "", func(state any, o *Op) (bool, any) {
		var out []string
		if s := state.(string); s != "" {
			out = strings.Split(s, "\x00")
		}
		if o.F == "acquire" {
			if len(out) >= n {
				return false, state
			}
			out = append(out, o.Owner)
			slices.Sort(out)
			return true, strings.Join(out, "\x00")
		}
		i := slices.Index(out, o.Owner)
		if i < 0 {
			return false, state
		}
		return true, strings.Join(slices.Delete(out, i, i+1), "\x00")
	}, func(_ *Model, ops []*Op) ([]*Op, bool) { return exactPermits(ops, n) }}
}

// stepRW keeps the writer as "w" and its owner, the readers as "r" and theirs.
func stepRW(state any, o *Op) (bool, any) {
	var out []string
	if s := state.(string); s != "" {
		out = strings.Split(s, "\x00")
	}
	me := "r" + o.Owner
	if strings.HasSuffix(o.F, "-write") {
		me = "w" + o.Owner
	}
	i := slices.Index(out, me)
	if strings.HasPrefix(o.F, "release") {
		if i < 0 {
			return false, state
		}
		return true, strings.Join(slices.Delete(out, i, i+1), "\x00")
	}
	if len(out) > 0 && (me[0] == 'w' || out[0][0] == 'w') {
		return false, state
	}
	out = append(out, me)
	slices.Sort(out)
	return true, strings.Join(out, "\x00")
}

func stepRegister(state any, o *Op) (bool, any) {
	switch o.F {
	case "read":
		return o.Type == Info || o.Out == state, state
	case "write":
		return true, o.Arg
	}
	if o.Type == Mismatch {
		return o.Arg != state, state
	}
	return o.Arg == state, o.Arg2
}

// fenced is the state of a fenced register.
type fenced struct {
	value   string
	highest int64
}

func stepFencedRegister(state any, o *Op) (bool, any) {
	s := state.(fenced)
	if o.Fence != 0 && o.Fence < s.highest {
		return false, s
	}
	next := fenced{s.value, max(s.highest, o.Fence)}
	text := o.Under
	if o.F == "read" {
		if o.Fence == 0 {
			text = o.Out
		}
		return o.Type == Info || text == s.value, next
	}
	if o.Fence == 0 {
		text = o.Arg
	}
	next.value = text
	return true, next
}

func stepSet(state any, o *Op) (bool, any) {
	var in []string
	if s := state.(string); s != "" {
		in = strings.Split(s, "\x00")
	}
	if o.F == "add" {
		if slices.Contains(in, o.Arg) {
			return true, state
		}
		in = append(in, o.Arg)
		slices.Sort(in)
		return true, strings.Join(in, "\x00")
	}
	if o.Type == Info {
		return true, state
	}
	read := slices.Clone(o.Elems)
	slices.Sort(read)
	return slices.Equal(slices.Compact(read), in), state
}

// stepKV begins with a key that is not there: it is read as nil or as an empty string, and
// appended to as one.
func stepKV(state any, o *Op) (bool, any) {
	s := state.(string)
	switch o.F {
	case "get":
		return o.Type == Info || o.Out == s || s == "nil" && o.Out == text(""), s
	case "put":
		return true, o.Arg
	}
	return true, joinedText(s, o.Arg)
}

// joinedText is the string of two; what is no string counts as it is written.
func joinedText(a, b string) string {
	plain := func(v string) string {
		if s, err := strconv.Unquote(v); err == nil {
			return s
		}
		return v
	}
	if a == "nil" {
		a = text("")
	}
	return text(plain(a) + plain(b))
}
