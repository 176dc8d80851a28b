package model

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/picklock/picklock/checker"
)

// sequence reads operations that come one after the other, one a line:
//
//	OWNER F [ARG...] [fence=N] [? | !]
//
// with ? of unknown outcome, with ! a cas that found another value. A read's
// argument is what it returned; {1,2} is a set.
func sequence(t testing.TB, text string) []*Op {
	t.Helper()
	var ops []*Op
	for line := range strings.SplitSeq(text, "\n") {
		w := strings.Fields(line)
		if len(w) == 0 {
			continue
		}
		n := 2 * len(ops)
		o := &Op{Process: w[0], Owner: w[0], F: w[1], Type: OK, Call: n, Return: n + 1, CallAt: At{int64(n), n + 1}, ReturnAt: At{int64(n + 1), n + 2}}
		var args []string
		for _, a := range w[2:] {
			fence, is := strings.CutPrefix(a, "fence=")
			switch {
			case is:
				v, err := strconv.ParseInt(fence, 10, 64)
				if err != nil {
					t.Fatal(err)
				}
				o.Fence = v
			case a == "?":
				o.Type, o.Return, o.ReturnAt = Info, never, At{}
			case a == "!":
				o.Type = Mismatch
			default:
				args = append(args, a)
			}
		}
		arg := func(i int) string {
			if i < len(args) {
				return args[i]
			}
			return ""
		}
		o.Under = arg(0)
		switch o.F {
		case "get", "put", "append":
			o.Arg, o.Out = strconv.Quote(arg(0)), strconv.Quote(arg(0))
		case "read":
			o.Out = arg(0)
			if set, is := strings.CutPrefix(o.Out, "{"); is {
				o.Elems = strings.FieldsFunc(set, func(r rune) bool { return r == ',' || r == '}' })
			}
		default:
			o.Arg, o.Arg2 = arg(0), arg(1)
		}
		ops = append(ops, o)
	}
	return ops
}

// TestModels: what each model is, by what it allows and what it does not. These are
// the definitions: everything else (brute force, Porcupine) asks the models.
func TestModels(t *testing.T) {
	for _, c := range []struct {
		models, text string
		legal        bool
	}{
		{"mutex owner-mutex fenced-mutex reentrant-mutex reentrant-fenced-mutex semaphore:1", "a acquire\na release\nb acquire\nb release\na acquire", true},
		{"mutex owner-mutex fenced-mutex reentrant-mutex reentrant-fenced-mutex semaphore:1", "a acquire\nb acquire", false},
		{"mutex owner-mutex fenced-mutex reentrant-mutex reentrant-fenced-mutex semaphore:1 semaphore:2", "a release", false},
		{"mutex owner-mutex fenced-mutex reentrant-mutex reentrant-fenced-mutex semaphore:1", "a acquire\na release\na release", false},
		{"mutex", "a acquire\nb release\nb acquire", true},
		{"owner-mutex fenced-mutex reentrant-mutex reentrant-fenced-mutex semaphore:1 semaphore:2", "a acquire\nb release", false},
		{"mutex owner-mutex fenced-mutex semaphore:1", "a acquire\na acquire", false},
		{"reentrant-mutex reentrant-fenced-mutex semaphore:2 semaphore:3", "a acquire\na acquire\na release\na release", true},
		{"reentrant-mutex reentrant-fenced-mutex semaphore:2", "a acquire\na acquire\na acquire", false},
		{"reentrant-mutex reentrant-fenced-mutex semaphore:2", "a acquire\na acquire\na release\na acquire\na release\na release", true},
		{"reentrant-mutex reentrant-fenced-mutex", "a acquire\na acquire\na release\nb acquire", false},
		{"reentrant-mutex reentrant-fenced-mutex semaphore:2", "a acquire\na acquire\na release\na release\na release", false},
		{"semaphore:2", "a acquire\nb acquire\na release\nc acquire\nb release\nc release", true},
		{"semaphore:2", "a acquire\nb acquire\nc acquire", false},
		{"semaphore:3", "a acquire\nb acquire\nc acquire", true},
		{"fenced-mutex reentrant-fenced-mutex", "a acquire fence=1\na release\nb acquire fence=2", true},
		{"fenced-mutex reentrant-fenced-mutex", "a acquire fence=2\na release\nb acquire fence=1", false},
		{"fenced-mutex reentrant-fenced-mutex", "a acquire fence=2\na release\nb acquire fence=2", false},
		{"fenced-mutex reentrant-fenced-mutex", "a acquire fence=2\na release\nb acquire\nb release\na acquire fence=3", true},
		{"fenced-mutex reentrant-fenced-mutex", "a acquire fence=2\na release\nb acquire\nb release\na acquire fence=2", false},
		{"owner-mutex mutex reentrant-mutex", "a acquire fence=2\na release\nb acquire fence=1", true},
		{"reentrant-fenced-mutex", "a acquire fence=2\na acquire fence=2", true},
		{"reentrant-fenced-mutex", "a acquire fence=2\na acquire", true},
		{"reentrant-fenced-mutex", "a acquire\na acquire fence=2", true},
		{"reentrant-fenced-mutex", "a acquire fence=2\na acquire fence=3", false},
		{"reentrant-fenced-mutex", "a acquire fence=2\na acquire fence=1", false},
		{"reentrant-fenced-mutex", "a acquire fence=2\na release\nb acquire\nb acquire fence=2", false},
		{"reentrant-fenced-mutex", "a acquire fence=2\na release\nb acquire\nb acquire fence=3\nb release\nb release\na acquire fence=3", false},
		{"reentrant-fenced-mutex", "a acquire fence=2\na acquire\na release\na acquire fence=2\na release\na release\nb acquire fence=3", true},
		{"reentrant-fenced-mutex", "a acquire\na acquire fence=2\na release\na acquire fence=3", false},
		{"rw-lock", "a acquire-read\nb acquire-read\na release-read\nb release-read\nc acquire-write\nc release-write\na acquire-read", true},
		{"rw-lock", "a acquire-read\nb acquire-write", false},
		{"rw-lock", "a acquire-write\nb acquire-read", false},
		{"rw-lock", "a acquire-write\nb acquire-write", false},
		{"rw-lock", "a acquire-write\na acquire-read", false},
		{"rw-lock", "a acquire-read\na release-write", false},
		{"rw-lock", "a acquire-write\na release-read", false},
		{"rw-lock", "a acquire-read\nb release-read", false},
		{"rw-lock", "a release-write", false},
		{"register cas-register fenced-register", "a read nil\na write 1\nb read 1\nb write 2\na read 2", true},
		{"register cas-register fenced-register", "a read 1", false},
		{"register cas-register fenced-register", "a write 1\na read nil", false},
		{"register cas-register fenced-register", "a write 1\na write 2\na read 1", false},
		{"register cas-register fenced-register", "a write 1 ?\na read 1", true},
		{"register cas-register fenced-register", "a write 1 ?\na read nil", true},
		{"register cas-register fenced-register", "a read 7 ?\na read nil", true},
		{"cas-register", "a write 1\na cas 1 2\na read 2", true},
		{"cas-register", "a write 1\na cas 2 3", false},
		{"cas-register", "a write 1\na cas 2 3 !\na read 1", true},
		{"cas-register", "a write 1\na cas 1 3 !", false},
		{"cas-register", "a write 1\na cas 1 2 !\na read 2", false},
		{"cas-register", "a write 1\na cas 1 2 ?\na read 2", true},
		{"fenced-register", "a write 1 fence=1\nb write 2 fence=2\nb write 3 fence=2\na read 3", true},
		{"fenced-register", "b write 2 fence=2\na write 1 fence=1", false},
		{"fenced-register", "b read nil fence=2\na write 1 fence=1", false},
		{"fenced-register", "a write 1 fence=1\nb read 1 fence=2\nb write 2 fence=2\na read 2 fence=1", false},
		{"fenced-register", "b write 2 fence=2\na write 1\na read 1", true},
		{"fenced-register", "b write 2 fence=2\na read 1 fence=2", false},
		{"fenced-register", "b write 2 fence=2 ?\na write 1 fence=1\na read 1", true},
		{"fenced-register", "b write 2 fence=2 ?\na read 2\na write 1 fence=1", false},
		{"fenced-register", "b read 7 fence=2 ?\na write 1 fence=1", true},
		{"set", "a read {}\na add 1\nb add 2\na read {2,1}\na add 1\na read {1,2}", true},
		{"set", "a add 1\na read {}", false},
		{"set", "a add 1\na read {1,2}", false},
		{"set", "a add 1 ?\na read {}\na read {1}", true},
		{"set", "a add 1 ?\na read {1}\na read {}", false},
		{"set", "a read {9} ?\na read {}", true},
		{"kv", "a get\na put x\nb append y\na get xy\nb put z\na get z", true},
		{"kv", "a put x\na append y\na get x", false},
		{"kv", "a append y\na get", false},
		{"kv", "a append y ?\na get", true},
		{"kv", "a get x ?\na get", true},
	} {
		for name := range strings.FieldsSeq(c.models) {
			m, err := Named(name)
			if err != nil {
				t.Fatal(err)
			}
			ops := sequence(t, c.text)
			what := fmt.Sprintf("%s: %s", name, strings.ReplaceAll(c.text, "\n", ", "))
			if got := possible(m, ops); got != c.legal {
				t.Errorf("%s: the model says %v", what, got)
			}
			v, err := Check(context.Background(), &History{File: "h", Ops: ops, Events: 2 * len(ops)}, m, Options{})
			if want := map[bool]checker.Validity{true: checker.True, false: checker.False}[c.legal]; err != nil || v.Valid != want {
				t.Errorf("%s: the verdict is %v (%s, %v)", what, v.Valid, v.Why, err)
			}
			if legal, decided := search(context.Background(), m, ops, time.Minute); !decided || legal != c.legal {
				t.Errorf("%s: Porcupine says %v (decided: %v)", what, legal, decided)
			}
		}
	}
}

// TestNamed: every name of the list is a model, semaphores need their number.
func TestNamed(t *testing.T) {
	for _, name := range Names() {
		if name == "semaphore:N" {
			name = "semaphore:7"
		}
		if m, err := Named(name); err != nil || m.Name != name {
			t.Errorf("%s: %+v, %v", name, m, err)
		}
	}
	for _, name := range []string{"", "mutex:1", "semaphore", "semaphore:", "semaphore:0", "semaphore:-1", "semaphore:1001", "semaphore:x", "kv:2", "lock"} {
		if m, err := Named(name); err == nil {
			t.Errorf("%q is %s", name, m.Name)
		}
	}
	if m, err := Named("semaphore:1000"); err != nil || m.Name != "semaphore:1000" {
		t.Errorf("a thousand permits: %v", err)
	}
}

// TestRecognise: the operations tell the model, where they do.
func TestRecognise(t *testing.T) {
	for text, want := range map[string]string{
		"a acquire\na release\nb acquire":            "owner-mutex",
		"a acquire\na release\na acquire\na release": "owner-mutex",
		"a acquire ?\na acquire":                     "owner-mutex",
		"a acquire fence=1\na release":               "fenced-mutex",
		"a acquire fence=1 ?\na acquire":             "owner-mutex",
		"a acquire\na acquire":                       "",
		"a acquire\na release\nb acquire\nb acquire": "",
		"a release":                      "owner-mutex",
		"a acquire-read\na release-read": "rw-lock",
		"a acquire-read\na acquire":      "",
		"a read 1":                       "register:1",
		"a write 1":                      "register",
		"a read 1\na write 1":            "register",
		"a read 1\na cas 1 2":            "cas-register:1",
		"a read 1\na add 2":              "set",
		"a add 2\na write 2":             "",
		"a get x\na put y":               "kv",
		"a append x":                     "kv",
		"a get x\na read x":              "",
		"a acquire\na release\na acquire\nb acquire": "owner-mutex",
		"a acquire\na frob":                          "",
	} {
		m, err := Recognise(&History{Ops: sequence(t, text)})
		got := ""
		if err == nil {
			got = m.Name
		}
		if got != want {
			t.Errorf("%q: %q (%v), want %q", text, got, err, want)
		}
	}
	// Two keys are two locks.
	ops := sequence(t, "a acquire\na acquire")
	ops[1].Key = "k1"
	if m, err := Recognise(&History{Ops: ops}); err != nil || m.Name != "owner-mutex" {
		t.Errorf("%v, %v", m, err)
	}
	if _, err := Recognise(&History{}); err == nil {
		t.Error("nothing is recognised")
	}
}
