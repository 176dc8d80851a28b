package register

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/picklock/picklock/history"
)

func mode(t *testing.T, name string) FencingMode {
	t.Helper()
	d, err := ParseFencingMode(name)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestFencingModes(t *testing.T) {
	// Each step is an operation, its token and the refusal that each fencing mode
	// must give: columns none, write, write-strict, read-write, and the two that ask
	// the lock service, which do not compare tokens.
	type step struct {
		f     string
		token int64
		want  [6]string
	}
	stale := func(token, highest int64) string { return fmt.Sprintf("stale token %d < %d", token, highest) }
	const w, r = history.Write, history.Read
	tests := map[string][]step{
		"older write after newer write": {
			{w, 34, [6]string{}},
			{w, 33, [6]string{"", stale(33, 34), stale(33, 34), stale(33, 34)}},
		},
		"same token twice": {
			{w, 34, [6]string{}},
			{w, 34, [6]string{2: "used token 34 = 34"}},
		},
		"older write after newer read": {
			{r, 34, [6]string{}},
			{w, 33, [6]string{3: stale(33, 34)}},
		},
		"older read after newer write": {
			{w, 34, [6]string{}},
			{r, 33, [6]string{3: stale(33, 34)}},
		},
		"reads never use a token up": {
			{w, 34, [6]string{}},
			{r, 34, [6]string{}},
			{r, 34, [6]string{}},
		},
		"a refused write raises nothing": {
			{w, 34, [6]string{}},
			{w, 33, [6]string{"", stale(33, 34), stale(33, 34), stale(33, 34)}},
			{w, 35, [6]string{}},
		},
		"add is a write": {
			{history.Add, 34, [6]string{}},
			{history.Add, 33, [6]string{"", stale(33, 34), stale(33, 34), stale(33, 34)}},
		},
	}
	for name, steps := range tests {
		for i, d := range FencingModes() {
			t.Run(name+"/"+d.Name, func(t *testing.T) {
				s := NewStore(d, 0)
				for n, st := range steps {
					req := Request{F: st.f, Key: "k", Process: "c1", Token: st.token}
					if st.f != r {
						req.Value = fmt.Sprint("v", n)
					}
					e, err := s.Apply(req, int64(n))
					if err != nil {
						t.Fatal(err)
					}
					if e.Error != st.want[i] {
						t.Errorf("step %d %s(%d): refusal %q, want %q", n, st.f, st.token, e.Error, st.want[i])
					}
				}
			})
		}
	}
}

func TestNoToken(t *testing.T) {
	for _, d := range FencingModes() {
		for _, f := range []string{history.Read, history.Write} {
			req := Request{F: f, Key: "k", Process: "c1"}
			if f == history.Write {
				req.Value = "v"
			}
			e, err := NewStore(d, 0).Apply(req, 0)
			if err != nil {
				t.Fatal(err)
			}
			if refused := strings.HasPrefix(e.Error, "no token"); refused != d.Fenced() {
				t.Errorf("%s without a token under %s: refused %v (%q), want %v", f, d, refused, e.Error, d.Fenced())
			}
		}
	}
	if _, err := ParseFencingMode("writes"); err == nil || !strings.Contains(err.Error(), "read-write") {
		t.Errorf("unknown fencing mode: %v, want an error that lists them", err)
	}
}

func TestEffects(t *testing.T) {
	s := NewStore(mode(t, "write"), 0)
	apply := func(f, key string, token int64, value, parent string) history.Effect {
		t.Helper()
		e, err := s.Apply(Request{F: f, Key: key, Process: "c1", Grant: "g", Token: token, Value: value, Parent: parent}, 7)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	got := []history.Effect{
		apply(history.Read, "a", 1, "", ""),
		apply(history.Add, "a", 5, "v1", ""),
		apply(history.Add, "a", 6, "v2", "v1"),
		apply(history.Add, "a", 4, "v3", "v2"), // refused
		apply(history.Add, "a", 6, "v4", "v1"), // blind: v2 is lost
		apply(history.Read, "a", 9, "", ""),
		apply(history.Write, "b", 2, "v5", ""),
	}
	mk := func(seq int64, f, key string, token int64, value, parent string, version, highest int64, why string) history.Effect {
		return history.Effect{Seq: seq, Time: 7, Process: "c1", F: f, Key: key, Grant: "g", Token: token, Value: value, Parent: parent, Version: version, Highest: highest, Error: why}
	}
	want := []history.Effect{
		mk(1, "read", "a", 1, "", "", 0, 0, ""),
		mk(2, "add", "a", 5, "v1", "", 1, 5, ""),
		mk(3, "add", "a", 6, "v2", "v1", 2, 6, ""),
		mk(4, "add", "a", 4, "v3", "v2", 2, 6, "stale token 4 < 6"),
		mk(5, "add", "a", 6, "v4", "v1", 3, 6, ""),
		mk(6, "read", "a", 9, "v4", "", 3, 6, ""),
		mk(7, "write", "b", 2, "v5", "", 1, 2, ""),
	}
	if !slices.Equal(got, want) {
		t.Errorf("effects\n%+v\nwant\n%+v", got, want)
	}
	if m := s.members("a", "v4"); !slices.Equal(m, []string{"v4", "v1"}) {
		t.Errorf("members of v4: %v, want [v4 v1]", m)
	}
}

func TestBadRequests(t *testing.T) {
	s := NewStore(FencingMode{}, 0)
	if _, err := s.Apply(Request{F: "write", Key: "k", Process: "c1", Value: "v"}, 0); err != nil {
		t.Fatal(err)
	}
	for _, r := range []Request{
		{F: "read", Process: "c1"},
		{F: "read", Key: "k"},
		{F: "read", Key: "k", Process: "c1", Value: "x"},
		{F: "cas", Key: "k", Process: "c1", Value: "x"},
		{F: "write", Key: "k", Process: "c1"},
		{F: "write", Key: "k", Process: "c1", Value: "v"},
		{F: "write", Key: "k", Process: "c1", Value: "x", Parent: "v"},
		{F: "add", Key: "k", Process: "c1", Value: "x", Parent: "nowhere"},
		{F: "read", Key: "k", Process: "c1", Token: -1},
	} {
		if e, err := s.Apply(r, 0); !errors.Is(err, errBadRequest) {
			t.Errorf("%+v: effect %+v, error %v; want a bad request", r, e, err)
		}
	}
	if e, err := s.Apply(Request{F: "read", Key: "k", Process: "c1"}, 0); err != nil || e.Seq != 2 || e.Value != "v" {
		t.Errorf("after bad requests: %+v, %v; want sequence 2 and value v", e, err)
	}
}
