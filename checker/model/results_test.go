package model

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/picklock/picklock/checker"
)

// TestReadText: a history.txt is the history.edn of the same run.
func TestReadText(t *testing.T) {
	const edn = `{:type :invoke, :f :acquire, :value nil, :process 0, :time 1, :index 0}
{:type :ok, :f :acquire, :value 7, :process 0, :time 2, :index 1}
{:type :info, :f :start, :value nil, :process :nemesis, :time 3, :index 2}
{:type :invoke, :f :acquire, :value nil, :process 1, :time 3, :index 3}
{:type :info, :f :acquire, :value nil, :process 1, :time 4, :index 4, :error :timeout}
{:type :invoke, :f :release, :value nil, :process 0, :time 5, :index 5}
{:type :fail, :f :release, :value nil, :process 0, :time 6, :index 6, :error "not mine"}
`
	const text = "0\t:invoke\t:acquire\tnil\n0\t:ok\t:acquire\t7\n:nemesis\t:info\t:start\tnil\n1\t:invoke\t:acquire\tnil\n" +
		"1\t:info\t:acquire\tnil\t:timeout\n0\t:invoke\t:release\tnil\n0\t:fail\t:release\tnil\tnot mine\nat line two\n\n"
	plain := func(h *History) string {
		var out []string
		for _, o := range h.Ops {
			c := *o
			c.CallAt, c.ReturnAt = At{}, At{}
			out = append(out, fmt.Sprintf("%+v", c))
		}
		return strings.Join(out, "\n")
	}
	a, err := Read(strings.NewReader(edn), "history.edn")
	if err != nil {
		t.Fatal(err)
	}
	b, err := Read(strings.NewReader(text), "history.txt")
	if err != nil {
		t.Fatal(err)
	}
	if plain(a) != plain(b) || len(a.Ops) != 2 {
		t.Errorf("from EDN\n%s\nfrom text\n%s", plain(a), plain(b))
	}
	for text, want := range map[string]string{
		"0\t:invoke\t:acquire\tnil\nnonsense\n":         "h:2: not a line of a history.txt",
		"0\t:invoke\t:acquire\tnil\n0\t:ok\t:acquire":   "h:2: not a line",
		"0\t:invoke\t:acquire\t[1\n":                    "h:1: the value",
		"0\t:invoke\t:acquire\tnil\n0\t:ok\t:read\t1\n": "h:2: process 0 completes a read",
	} {
		if _, err := Read(strings.NewReader(text), "h"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

const twoHolders = `{:type :invoke, :f :acquire, :value nil, :process 0, :index 0}
{:type :ok, :f :acquire, :value nil, :process 0, :index 1}
{:type :invoke, :f :acquire, :value nil, :process 1, :index 2}
{:type :ok, :f :acquire, :value nil, :process 1, :index 3}
`

// TestCompare: what Jepsen's checkers say is set beside our verdict, where both judge the
// same.
func TestCompare(t *testing.T) {
	oneHolder := strings.Join(strings.Split(twoHolders, "\n")[:2], "\n")
	keyed := strings.NewReplacer(":value nil, :process 1", ":value [1 nil], :process 1", ":value nil, :process 0", ":value [1 nil], :process 0").Replace(twoHolders)
	for name, tc := range map[string]struct {
		history, results string
		valid, agrees    checker.Validity
		checkers         string // name valid agrees
	}{
		"agree that it holds": {oneHolder, `{:perf {:latency-graph {:valid? true}, :valid? true}, :linear {:valid? true, :configs ({:model #knossos.model.Mutex{:locked true}})}, :valid? true}`,
			checker.True, checker.True, "linear true true; perf true unknown; perf/latency-graph true unknown"},
		"agree that it does not": {twoHolders, `{:linear {:valid? false, :op {:process 1}}, :stats {:valid? true}, :valid? false}`,
			checker.False, checker.True, "linear false true; stats true unknown"},
		"differ":             {twoHolders, `{:workload {:valid? true, :analyzer :wgl}, :valid? true}`, checker.True, checker.False, "workload true false"},
		"Jepsen gave up":     {twoHolders, `{:linear {:valid? :unknown, :error :timeout}, :valid? :unknown}`, checker.Unknown, checker.Unknown, "linear unknown unknown"},
		"only other things":  {twoHolders, `{:stats {:valid? false, :count 2}, :valid? false}`, checker.False, checker.Unknown, "stats false unknown"},
		"one checker":        {twoHolders, `{:valid? false, :final-paths ([]), :analyzer :linear}`, checker.False, checker.True, "the checker false true"},
		"a key of several":   {keyed, `{:indep {:valid? false, :results {1 {:linear {:valid? false}, :valid? false}, 2 {:linear {:valid? true}, :valid? true}}, :failures [1]}, :valid? false}`, checker.False, checker.True, "indep false unknown; indep/1 false unknown; indep/1/linear false true; indep/2 true unknown; indep/2/linear true true"},
		"a key that differs": {keyed, `{:indep {:valid? true, :results {1 {:linear {:valid? true}, :valid? true}}}, :valid? true}`, checker.True, checker.False, "indep true unknown; indep/1 true unknown; indep/1/linear true false"},
	} {
		t.Run(name, func(t *testing.T) {
			h, err := Read(strings.NewReader(tc.history), "h")
			if err != nil {
				t.Fatal(err)
			}
			m, err := Recognise(h)
			if err != nil {
				t.Fatal(err)
			}
			v, err := Check(context.Background(), h, m, Options{})
			if err != nil {
				t.Fatal(err)
			}
			r, err := ReadResults(strings.NewReader(tc.results), "results.edn")
			if err != nil {
				t.Fatal(err)
			}
			c := r.Compare(v)
			var got []string
			for _, one := range c.Checkers {
				got = append(got, fmt.Sprint(one.Name, " ", one.Valid, " ", one.Agrees))
			}
			if c.Jepsen != tc.valid || c.Agrees != tc.agrees || strings.Join(got, "; ") != tc.checkers {
				t.Errorf("valid %v, agrees %v: %s; want %v, %v: %s", c.Jepsen, c.Agrees, strings.Join(got, "; "), tc.valid, tc.agrees, tc.checkers)
			}
		})
	}
	for _, bad := range []string{"", "{:valid? true", "[1 2]", "{:linear {:valid? true}}", "{:valid? 7}"} {
		if _, err := ReadResults(strings.NewReader(bad), "results.edn"); err == nil || !strings.HasPrefix(err.Error(), "results.edn:1: ") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
