package model

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestExactDecides: which histories are decided without searching, and by which
// operations they are refused.
func TestExactDecides(t *testing.T) {
	for _, c := range []struct {
		model, text string
		decided     bool
		evidence    []int // positions of the operations
	}{
		{"register", "a write 1\na read 1\na read 1", true, nil},
		{"register", "a read nil\na write 1 ?\na read ?\nb read 1", true, nil},
		{"register", "a write 1\na write 1", false, nil},
		{"register", "a write nil", false, nil}, // which is the first value
		{"register", "a write 1\na read 2", true, []int{1}},
		{"register", "a read 1\na write 1", true, []int{0, 1}},
		{"cas-register", "a write 1\na read 1", true, nil},
		{"cas-register", "a write 1\na cas 1 2", false, nil},
		{"set", "a add 1\na add 2\nb read {1,2}\nb read {1,2}", true, nil},
		{"set", "a add 1\na add 1", false, nil},
		{"set", "a add 1 ?\na add 2\nb read {2}\nb read {2}", true, nil},
		{"set", "a add 1 ?\nb read ?\nb read {}", true, nil},
		{"set", "a read {1}", true, []int{0}},
		{"set", "a add 1\na add 2\nb read {2}", true, []int{2, 0}},
		{"set", "b read {1}\na add 1", true, []int{1, 0}},
		{"set", "a add 1\na add 2\na add 3\na add 4\na read {4,1,3}\na read {2,1}", true, []int{5, 4, 1, 2}}, // 2, and 3 before 4
		{"set", "a add 3\na add 4\na add 1\na add 2\na read {1,3,4}\na read {2,1}", true, []int{5, 4, 3, 0}},
		{"owner-mutex", "a acquire\na release\nb acquire\nb release ?\na acquire", true, nil},
		{"owner-mutex", "a acquire\na release ?\na acquire\na release", true, nil}, // what it asked for last does not matter
		{"owner-mutex", "a acquire ?\na release", false, nil},
		{"owner-mutex", "a acquire\nb release", false, nil},
		{"owner-mutex", "a acquire\na acquire", false, nil},
		{"reentrant-mutex", "a acquire\na acquire\na release\na release\nb acquire", true, nil},
		{"reentrant-mutex", "a acquire\na acquire\na release\nb acquire", true, []int{0, 3}},
		{"reentrant-mutex", "a acquire\na acquire\na release ?\nb acquire", true, []int{0, 3}},
		{"reentrant-fenced-mutex", "a acquire fence=1\na release ?\na acquire fence=1", false, nil}, // it may hold on
		{"fenced-mutex", "a acquire fence=2\na release\nb acquire fence=3\nb release\na acquire fence=1", true, []int{4, 2}},
		{"fenced-mutex", "a acquire fence=2\na release\nb acquire\nb release\na acquire fence=1", true, []int{4, 0}},
		{"fenced-mutex", "a acquire fence=2\nb acquire fence=1", true, []int{0, 1}},
		{"semaphore:2", "a acquire\na acquire\na release\nb acquire\nc acquire", true, []int{1, 3, 4}},
		{"semaphore:2", "a acquire\na acquire\na release\na release\nb acquire\nc acquire", true, nil},
		{"rw-lock", "a acquire-read\nb acquire-read\na release-read\nb release-read\nc acquire-write", true, nil},
		{"rw-lock", "a acquire-read\nb acquire-read\nb release-read\nc acquire-write", true, []int{0, 3}},
		{"rw-lock", "a acquire-write\nb acquire-read", true, []int{0, 1}},
		{"rw-lock", "a acquire-read\na acquire-write", false, nil},
		{"rw-lock", "a acquire-read\na release-write", false, nil},
		{"fenced-register", "a write 1", false, nil},
		{"kv", "a put 1", false, nil},
	} {
		m, err := Named(c.model)
		if err != nil {
			t.Fatal(err)
		}
		ops := sequence(t, c.text)
		what := fmt.Sprintf("%s: %s", c.model, strings.ReplaceAll(c.text, "\n", ", "))
		var evidence []*Op
		decided := false
		if m.exact != nil {
			evidence, decided = m.exact(m, useful(m, ops))
		}
		if decided != c.decided {
			t.Errorf("%s: decided %v", what, decided)
			continue
		}
		if !decided {
			continue
		}
		var got []int
		for _, o := range evidence {
			got = append(got, slices.Index(ops, o))
		}
		if !slices.Equal(got, c.evidence) {
			t.Errorf("%s: evidence %v, want %v", what, got, c.evidence)
		}
		if legal := possible(m, ops); legal != (c.evidence == nil) {
			t.Errorf("%s: by trying everything %v", what, legal)
		}
	}
}

// TestTwins: operations of unknown outcome that are the same in all are tried in
// one order only: n of them cost n configurations, not 2^n.
func TestTwins(t *testing.T) {
	m, _ := Named("kv")
	text := strings.Repeat("a append x ?\n", 16) + "b get xxxxx"
	if broken, decided := sweep(context.Background(), m, sequence(t, text), 200); !decided || broken != nil {
		t.Errorf("16 equal operations: broken by %v, decided %v", broken, decided)
	}
	if broken, decided := sweep(context.Background(), m, sequence(t, text+"y"), 200); !decided || broken == nil {
		t.Errorf("16 equal operations, and an impossible answer: broken by %v, decided %v", broken, decided)
	}
	ops := sequence(t, "a append x ?\nb append x ?\na append y ?\na append x ?\na append x fence=1 ?\na append x\na append x ?\na append x fence=1 ?")
	earlierAlike := earlierAlikeOf(ops)
	want := map[int]int{3: 0, 6: 3, 7: 4}
	if len(earlierAlike) != len(want) {
		t.Errorf("%d twins, want %d", len(earlierAlike), len(want))
	}
	for i, j := range want {
		if earlierAlike[ops[i]] != ops[j] {
			t.Errorf("the twin of %d is %d, want %d", i, slices.Index(ops, earlierAlike[ops[i]]), j)
		}
	}
}

// TestUndominated: a configuration that has done no more than another one with the
// same state, but for operations of unknown outcome, makes that one superfluous.
func TestUndominated(t *testing.T) {
	s := &sweeper{open: sequence(t, "a write 1 ?\nb write 2\nc write 3 ?\nd write 4")}
	for _, c := range []struct {
		list, want []config
	}{
		{[]config{{"x", nil}}, []config{{"x", nil}}},
		{[]config{{"x", []int32{0}}, {"x", nil}}, []config{{"x", nil}}},
		{[]config{{"x", nil}, {"x", []int32{1}}}, []config{{"x", nil}, {"x", []int32{1}}}},
		{[]config{{"x", []int32{0, 1, 2}}, {"x", []int32{1}}, {"x", []int32{1, 2}}}, []config{{"x", []int32{1}}}},
		{[]config{{"x", []int32{0, 1}}, {"x", []int32{1, 3}}}, []config{{"x", []int32{0, 1}}, {"x", []int32{1, 3}}}},
		{[]config{{"x", []int32{0}}, {"x", []int32{2}}}, []config{{"x", []int32{0}}, {"x", []int32{2}}}},
		{[]config{{"x", []int32{0}}, {"y", nil}}, []config{{"x", []int32{0}}, {"y", nil}}},
	} {
		got := s.undominated(slices.Clone(c.list))
		same := len(got) == len(c.want)
		for _, w := range c.want {
			same = same && slices.ContainsFunc(got, func(g config) bool { return g.state == w.state && slices.Equal(g.done, w.done) })
		}
		if !same {
			t.Errorf("of %v are left %v, want %v", c.list, got, c.want)
		}
	}
	// Too many to be compared with each other are left as they are.
	var many []config
	for i := range 4001 {
		many = append(many, config{"x", make([]int32, i%2)})
	}
	if got := s.undominated(slices.Clone(many)); len(got) != len(many) {
		t.Errorf("of %d are left %d", len(many), len(got))
	}
	if got := s.undominated(slices.Clone(many[:4000])); len(got) != 1 {
		t.Errorf("of 4000 are left %d", len(got))
	}
}

// TestCovers: more is less, and operations of unknown outcome besides.
func TestCovers(t *testing.T) {
	s := &sweeper{open: sequence(t, "a write 1 ?\nb write 2\nc write 3 ?\nd write 4\ne write 5 ?")}
	for _, c := range []struct {
		less, more []int32
		want       bool
	}{
		{nil, nil, true}, {nil, []int32{0}, true}, {nil, []int32{1}, false}, {nil, []int32{0, 2, 4}, true}, {nil, []int32{0, 1, 2}, false},
		{[]int32{1}, []int32{1}, true}, {[]int32{1}, []int32{0, 1}, true}, {[]int32{1}, []int32{1, 2}, true}, {[]int32{1}, []int32{1, 3}, false},
		{[]int32{1}, nil, false}, {[]int32{1}, []int32{0}, false}, {[]int32{0}, []int32{2}, false}, {[]int32{4}, []int32{0, 2}, false},
		{[]int32{0, 3}, []int32{0, 2, 3}, true}, {[]int32{0, 3}, []int32{0, 1, 3}, false},
	} {
		if got := s.covers(c.less, c.more); got != c.want {
			t.Errorf("%v by %v: %v", c.more, c.less, got)
		}
	}
}

// asked counts how often it was asked whether it is over.
type asked struct {
	context.Context
	n, end int
}

func (a *asked) Err() error {
	if a.n++; a.n > a.end {
		return context.Canceled
	}
	return nil
}

// TestSweepEnds: a search stops when its time is over, and does not ask at each
// step whether it is.
func TestSweepEnds(t *testing.T) {
	m, _ := Named("kv")
	var text []string
	for i := range 13 {
		text = append(text, fmt.Sprintf("a append %c ?", 'a'+i))
	}
	ops := sequence(t, strings.Join(text, "\n")+"\nb get acb\nb get impossible")
	const room = 100_000
	for _, end := range []int{0, 3, room} {
		ctx := &asked{Context: context.Background(), end: end}
		_, decided := sweep(ctx, m, ops, room)
		if decided {
			t.Errorf("decided with room for %d configurations", room)
		}
		if want := min(end+1, room/1024+1); ctx.n != want {
			t.Errorf("asked %d times, want %d", ctx.n, want)
		}
	}
}

// TestSearchEnds: Porcupine is given the time that is left, and none where none is.
func TestSearchEnds(t *testing.T) {
	m, _ := Named("register")
	ops := sequence(t, "a write 1\na read 1")
	over, cancel := context.WithTimeout(context.Background(), -time.Second)
	defer cancel()
	later, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	for _, c := range []struct {
		ctx     context.Context
		limit   time.Duration
		decided bool
	}{
		{context.Background(), time.Minute, true}, {later, time.Minute, true}, {over, time.Minute, false},
		{context.Background(), 0, false}, {context.Background(), -1, false},
	} {
		if legal, decided := search(c.ctx, m, ops, c.limit); decided != c.decided || legal != c.decided {
			t.Errorf("limit %v: legal %v, decided %v", c.limit, legal, decided)
		}
	}
}
