package model

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/picklock/picklock/checker"
)

// whole makes a history of keys' operations, each in the order of its positions.
func whole(keys map[string][]*Op) *History {
	h := &History{File: "h"}
	for k, ops := range keys {
		for _, o := range ops {
			o.Key = k
		}
		h.Ops = append(h.Ops, ops...)
		h.Events += 2 * len(ops)
	}
	return h
}

// TestCheckWhy: what the verdict says that it rests on, word for word.
func TestCheckWhy(t *testing.T) {
	long := make([]string, secondSize+1)
	for i := range long {
		long[i] = fmt.Sprint("a write ", i)
	}
	const twice = "a write 1\nb write 1\na read 1"
	for _, c := range []struct {
		name, model string
		keys        map[string]string
		valid       checker.Validity
		want        string
	}{
		{"one object, exactly", "register", map[string]string{"": "a write 1\na read 1"}, checker.True,
			"1 object, 2 operations, model register: 1 decided exactly, 0 by going over all configurations (Porcupine agrees on 1 of them), 0 by Porcupine alone"},
		{"two objects, one exactly", "register", map[string]string{"x": "a write 1\na read 1", "y": twice}, checker.True,
			"2 objects, 5 operations, model register: 1 decided exactly, 1 by going over all configurations (Porcupine agrees on 2 of them), 0 by Porcupine alone"},
		{"broken", "register", map[string]string{"": "a write 1\na read 2"}, checker.False,
			"1 object, 2 operations, model register: 1 decided exactly, 0 by going over all configurations (Porcupine agrees on 1 of them), 0 by Porcupine alone"},
		{"too long for a second opinion", "register", map[string]string{"": strings.Join(long, "\n")}, checker.True,
			fmt.Sprintf("1 object, %d operations, model register: 1 decided exactly, 0 by going over all configurations (Porcupine agrees on 0 of them), 0 by Porcupine alone", len(long))},
		{"nothing", "register", nil, checker.Unknown, "nothing happened"},
	} {
		keys := map[string][]*Op{}
		for k, text := range c.keys {
			keys[k] = sequence(t, text)
		}
		m, _ := Named(c.model)
		v, err := Check(context.Background(), whole(keys), m, Options{})
		p := v.Properties[Linearizable]
		if err != nil || p.Why != c.want || p.Valid != c.valid || v.Valid != c.valid {
			t.Errorf("%s: %v, %v: %s\nwant %v: %s", c.name, err, p.Valid, p.Why, c.valid, c.want)
		}
		wantWhy := ""
		if c.valid == checker.Unknown {
			wantWhy = c.want
		}
		if v.Why != wantWhy {
			t.Errorf("%s: why %q", c.name, v.Why)
		}
	}
}

// TestCheckEffort: first a little effort on each object; a lot only where the
// verdict is not known by then. What is given up is reported.
func TestCheckEffort(t *testing.T) {
	old := efforts
	t.Cleanup(func() { efforts = old })
	none, enough := effort{0, -1}, effort{100_000, time.Minute}
	const easy, broken, hard, hardBroken = "a write 1\na read 1", "a write 1\na read 2", "a write 1\nb write 1\na read 1", "a write 1\nb write 1\na read nil"
	for _, c := range []struct {
		name    string
		efforts []effort
		keys    []string
		valid   checker.Validity
		why     string
	}{
		{"decided by the second effort", []effort{none, enough}, []string{easy, hard}, checker.True, "1 decided exactly, 1 by going over all configurations (Porcupine agrees on 2 of them), 0 by Porcupine alone"},
		{"broken by the first, the second is not made", []effort{none, enough}, []string{broken, hard}, checker.False, "1 decided exactly, 0 by going over all configurations (Porcupine agrees on 1 of them), 0 by Porcupine alone; 1 undecided"},
		{"broken, found by the second", []effort{none, enough}, []string{easy, hardBroken}, checker.False, "1 decided exactly, 1 by going over all configurations"},
		{"given up", []effort{none, none}, []string{easy, hard, hard}, checker.Unknown, "gave up on 2 of 3 objects: too many operations of unknown outcome, or the time was over"},
		{"given up, one object", []effort{none}, []string{hard}, checker.Unknown, "gave up on 1 of 1 object: too many"},
		{"by Porcupine", []effort{{0, time.Minute}}, []string{easy, hard}, checker.True, "1 decided exactly, 0 by going over all configurations (Porcupine agrees on 1 of them), 1 by Porcupine alone"},
		{"broken, by Porcupine", []effort{{0, time.Minute}}, []string{hardBroken}, checker.False, "0 decided exactly, 0 by going over all configurations (Porcupine agrees on 0 of them), 1 by Porcupine alone"},
	} {
		efforts = c.efforts
		keys := map[string][]*Op{}
		for i, text := range c.keys {
			keys[fmt.Sprint("k", i)] = sequence(t, text)
		}
		m, _ := Named("register")
		var reported [][2]int
		v, err := Check(context.Background(), whole(keys), m, Options{Progress: func(done, of int) { reported = append(reported, [2]int{done, of}) }})
		if p := v.Properties[Linearizable]; err != nil || v.Valid != c.valid || !strings.Contains(p.Why, c.why) {
			t.Errorf("%s: %v, %v: %s", c.name, err, v.Valid, p.Why)
		}
		for i, n := range reported {
			if n[1] != len(keys) || n[0] >= n[1] || (i > 0 && n[0] < reported[i-1][0]) {
				t.Errorf("%s: progress %v", c.name, reported)
			}
		}
	}
	efforts = old
	over, cancel := context.WithCancel(context.Background())
	cancel()
	m, _ := Named("register")
	if v, err := Check(over, &History{Ops: sequence(t, broken)}, m, Options{}); err != nil || v.Valid != checker.Unknown {
		t.Errorf("without any time: %v, %v", v.Valid, err)
	}
}

// TestCheckStats: operations of unknown outcome are counted; one that the model
// does not have is an error with its line.
func TestCheckStats(t *testing.T) {
	m, _ := Named("register")
	v, err := Check(context.Background(), &History{Ops: sequence(t, "a write 1\nb write 2 ?\nc read ?\na read 1\na read 1"), Events: 8}, m, Options{})
	if err != nil || v.Stats.Unknown != 2 || v.Stats.Events != 8 {
		t.Errorf("%v, %+v", err, v.Stats)
	}
	_, err = Check(context.Background(), &History{File: "h", Ops: sequence(t, "a write 1\nb cas 1 2")}, m, Options{})
	var line *LineError
	if !errors.As(err, &line) || line.Line != 3 || !strings.Contains(err.Error(), `h:3: model register has no "cas": it has read, write`) {
		t.Errorf("%v", err)
	}
}

// TestNoSet: what a read of a set is answered with shows that it is one.
func TestNoSet(t *testing.T) {
	m, _ := Named("set")
	for answer, want := range map[string]string{
		"[1]": "", "#{1}": "", "nil": "", "1": "with 1: want a list", "{1 1}": "with {1 1}: want a list", ":none": "with :none: want a list", `"[1]"`: "want a list",
	} {
		h, err := Read(strings.NewReader("{:type :invoke :f :add :process 0 :value 1}\n{:type :invoke :f :read :process 1}\n{:type :ok :f :read :process 1 :value "+answer+"}"), "h")
		if err != nil {
			t.Fatal(err)
		}
		_, err = Check(t.Context(), h, m, Options{})
		if (err == nil) != (want == "") || err != nil && (!errors.Is(err, ErrUnfit) || !strings.Contains(err.Error(), "h:3: ") || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", answer, err, want)
		}
	}
}

// TestUseful: only operations of unknown outcome are left out, and only those that
// nobody can have noticed.
func TestUseful(t *testing.T) {
	for _, c := range []struct{ model, text, want string }{
		{"register", "a write 1\na read 1", "a write 1\na read 1"},
		{"register", "a write 1 ?\nb read ?\nb read nil", "b read nil"},
		{"register", "a write 1 ?\nb read 1", "a write 1 ?\nb read 1"},
		{"register", "b read 1\na write 1 ?", "b read 1"},
		{"register", "a write 1 ?\nb read 1 ?", ""},
		{"cas-register", "a write 1 ?\nb cas 1 2", "a write 1 ?\nb cas 1 2"},
		{"cas-register", "a write 1 ?\nb cas 2 3", "b cas 2 3"},
		{"cas-register", "a write 1 ?\nb cas 1 2 ?", "a write 1 ?"}, // its value may be what a cas expects; that cas's own was never seen
		{"cas-register", "a write 1 ?\nb cas 7 2 !", "a write 1 ?\nb cas 7 2 !"},
		{"cas-register", "a cas nil 1 ?\nb read 1", "a cas nil 1 ?\nb read 1"},
		{"cas-register", "a cas nil 1 ?\nb read nil", "b read nil"},
		{"cas-register", "b read 1\na cas nil 1 ?", "b read 1"},
		{"cas-register", "a cas nil 1 ?\nb cas 7 2 !", "a cas nil 1 ?\nb cas 7 2 !"},
		{"fenced-register", "a write 1 fence=1 ?\nb read nil fence=2", "a write 1 fence=1 ?\nb read nil fence=2"},
		{"fenced-register", "a read fence=7 ?\nb read fence=1\na read ?", "b read fence=1"},
		{"set", "a add 1 ?\nb read ?\nb read {}", "a add 1 ?\nb read {}"},
		{"kv", "a put 1 ?\nb get ?\na append 2 ?\nb get", "a put 1 ?\na append 2 ?\nb get"},
		{"mutex", "a acquire ?", "a acquire ?"}, // anybody can release it
		{"owner-mutex", "a acquire ?\nb acquire\nb release", "b acquire\nb release"},
		{"owner-mutex", "a acquire ?\na release", "a acquire ?\na release"},
		{"owner-mutex", "a acquire\na release\na acquire ?", "a acquire\na release"},
		{"owner-mutex", "a acquire ?\na release ?", "a release ?"},
		{"semaphore:2", "a acquire ?\nb acquire", "b acquire"},
		{"rw-lock", "a acquire-read ?\nb acquire-write ?\nc acquire-write", "c acquire-write"},
		{"rw-lock", "a acquire-read ?\nb acquire-write ?\na release-read\nb release-write", "a acquire-read ?\nb acquire-write ?\na release-read\nb release-write"},
	} {
		m, err := Named(c.model)
		if err != nil {
			t.Fatal(err)
		}
		ops := sequence(t, c.text)
		for _, o := range ops { // the first of all is never left out
			if o.Call++; o.Return != never {
				o.Return++
			}
		}
		words := func(ops []*Op) string {
			var out []string
			for _, o := range ops {
				out = append(out, o.String())
			}
			return strings.Join(out, "; ")
		}
		less := useful(m, ops)
		if got, want := words(less), words(sequence(t, c.want)); got != want {
			t.Errorf("%s: of %s\nare left %s\nwant %s", c.model, words(ops), got, want)
		}
		if possible(m, ops) != possible(m, less) {
			t.Errorf("%s: without the others the answer is another: %s", c.model, words(ops))
		}
	}
}

// TestEvidence: the events of each anomaly's evidence, and its explanation.
func TestEvidence(t *testing.T) {
	reads := "a read 1\n"
	for _, c := range []struct {
		name, model, text string
		events            []int64
		says              string
	}{
		{"two holders", "owner-mutex", "a acquire\nb acquire\nb release", []int64{1, 3},
			"process a (line 2) and process b (line 4) were both granted the lock before either had released it"},
		{"a fence that falls", "fenced-mutex", "a acquire fence=3\na release\nb acquire fence=5\nb release\nc acquire fence=4", []int64{5, 9},
			"process c was granted fence 4 (line 10) after fence 5 had been granted to process b (line 6)"},
		{"a fence that falls, and unknown ones", "fenced-mutex", "a acquire fence=5\na release\nb acquire\nb release\nc acquire fence=5", []int64{1, 9},
			"process c was granted fence 5 (line 10) after fence 5 had been granted to process a (line 2)"},
		{"a fence that changes", "reentrant-fenced-mutex", "a acquire fence=3\na release\na acquire fence=5\na acquire fence=6", []int64{5, 7},
			"process a was granted fence 6 (line 8) while the lock was held with fence 5 by process a (line 6)"},
		{"two holders, whatever their fences", "fenced-mutex", "a acquire fence=5\nb acquire fence=3", []int64{1, 3},
			"process a (line 2) and process b (line 4) were both granted the lock"},
		{"three permits of two", "semaphore:2", "a acquire\nb acquire\nc acquire", []int64{1, 3, 5},
			"process a (line 2), process b (line 4) and process c (line 6) were all granted"},
		{"a writer among readers", "rw-lock", "a acquire-read\nb acquire-read\na release-read\nc acquire-write", []int64{3, 7},
			"process b (line 4) and process c (line 8) were both granted"},
		{"a lock that its owner did not have", "owner-mutex", "a acquire\nb release", []int64{0, 1, 2, 3},
			"process b: release (line 3): no order of the 2 operations until line 4 agrees with both real time and this answer"},
		{"a stale read", "register", "a write 1\nb write 2\nc read 1", []int64{0, 1, 2, 3, 4, 5},
			"no order that agrees with real time allows all of: process a: write 1 (line 1); process b: write 2 (line 3); process c: read -> 1 (line 5)"},
		{"a stale read of a value written twice", "register", "a write 1\n" + reads + "b write 1\n" + reads + "b write 2\n" + reads, []int64{0, 1, 4, 5, 8, 9, 10, 11},
			"process a: read -> 1 (line 11): no order of the 4 operations until line 12 agrees with both real time and this answer"},
		{"an answer that came later does not count", "register", "a write 1\nb write 1 ?\nc read nil\na read 1", []int64{0, 1, 2, 4, 5}, ""},
		{"what a set held", "set", "a add 2\na add 1\nb read {1}\nb read {2}", []int64{0, 1, 2, 3, 4, 5, 6, 7}, "no order"},
		{"a string of another", "kv", "a put x\nb get x\na append y\nb get x", []int64{0, 1, 4, 5, 6, 7},
			"process b: get -> x (line 7): no order of the 3 operations until line 8 agrees with both real time and this answer"},
	} {
		m, err := Named(c.model)
		if err != nil {
			t.Fatal(err)
		}
		ops := sequence(t, c.text)
		v, err := Check(context.Background(), &History{File: "h", Ops: ops, Events: 2 * len(ops)}, m, Options{})
		if err != nil || len(v.Anomalies) != 1 {
			t.Errorf("%s: %v, %+v", c.name, err, v)
			continue
		}
		a := v.Anomalies[0]
		if !slices.Equal(a.Events, c.events) {
			t.Errorf("%s: events %v, want %v", c.name, a.Events, c.events)
		}
		if !strings.Contains(a.Explanation, c.says) {
			t.Errorf("%s: %s\nwant %s", c.name, a.Explanation, c.says)
		}
	}
}

// TestSearchedProof: what only Porcupine could decide is shown by all of it, also
// where grants come first or last.
func TestSearchedProof(t *testing.T) {
	old := efforts
	t.Cleanup(func() { efforts = old })
	efforts = []effort{{0, time.Minute}}
	m, _ := Named("owner-mutex")
	v, err := Check(context.Background(), &History{Ops: sequence(t, "a acquire\nb release\nc acquire")}, m, Options{})
	if err != nil || len(v.Anomalies) != 1 {
		t.Fatalf("%v, %+v", err, v)
	}
	if a := v.Anomalies[0]; !slices.Equal(a.Events, []int64{0, 1, 2, 3, 4, 5}) || !strings.HasPrefix(a.Explanation, "no order that agrees with real time allows all of: process a: acquire (line 1); ") {
		t.Errorf("events %v: %s", a.Events, a.Explanation)
	}
}

// TestShrink: of evidence that was searched only what is needed for it is kept, and
// nothing that changes the state is left out.
func TestShrink(t *testing.T) {
	m, _ := Named("cas-register")
	for _, n := range []int{10, 400} {
		ops := sequence(t, "a write 1\nb write 1\n"+strings.Repeat("c read 1\n", n)+"a write 2\nb read 3\nc read 2")
		broken, decided := sweep(context.Background(), m, ops, 1<<20)
		if !decided || broken != ops[len(ops)-2] {
			t.Fatalf("broken by %v", broken)
		}
		var reads, writes int
		evidence := shrink(context.Background(), m, ops, broken)
		for _, o := range evidence {
			if o.F == "read" {
				reads++
			} else {
				writes++
			}
		}
		wantReads := 1
		if n > 300 {
			wantReads = n + 1 // too long to be tried one by one
		}
		if reads != wantReads || writes != 3 || !slices.Contains(evidence, broken) {
			t.Errorf("%d reads and %d writes are kept of %d", reads, writes, n)
		}
	}
}

// TestExplainLong: of a long evidence eight operations are named, and the rest counted.
func TestExplainLong(t *testing.T) {
	for n, more := range map[int]string{8: "", 9: "; and 1 more", 12: "; and 4 more"} {
		ops := sequence(t, strings.Repeat("a read 1\n", n))
		got := explain(ops, nil, false)
		if strings.Count(got, "process a: read -> 1 (line ") != 8 || !strings.HasSuffix(got, ")"+more) {
			t.Errorf("%d: %s", n, got)
		}
	}
}

// TestOpString: operations as explanations name them.
func TestOpString(t *testing.T) {
	for text, want := range map[string]string{
		"a read 1":          "process a: read -> 1",
		"a get 1":           "process a: get -> \"1\"",
		"a read {1,2}":      "process a: read -> a set of 2",
		"a write 1 fence=3": "process a: write 1 (fence 3)",
		"a write 1 ?":       "process a: write 1 -> unknown",
		"a cas 1 2":         "process a: cas 1 to 2",
		"a cas 1 2 !":       "process a: cas 1 to 2 -> another value",
		"a cas 1 2 ?":       "process a: cas 1 to 2 -> unknown",
		"a add 1":           "process a: add 1",
		"a put 1":           "process a: put \"1\"",
		"a append 1":        "process a: append \"1\"",
		"a acquire fence=2": "process a: acquire (fence 2)",
		"a acquire":         "process a: acquire",
		"a release-read":    "process a: release-read",
	} {
		o := sequence(t, text)[0]
		if got := o.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
