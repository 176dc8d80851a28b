package model

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/history"
)

// TestFormats: what each model says of small histories in each format.
func TestFormats(t *testing.T) {
	for _, c := range []struct {
		name, model, text string
		want              checker.Validity
		says              string
	}{
		{"a vector, recognised", "", `[{:type :invoke :f :acquire :process 0 :index 0} {:type :ok :f :acquire :process 0 :index 1}
			{:type :invoke :f :acquire :process 1 :index 2} {:type :ok :f :acquire :process 1 :index 3}]`,
			checker.False, "process 0 (line 1) and process 1 (line 2) were both granted the lock"},
		{"released before", "", `{:type :invoke :f :acquire :process 0} {:type :ok :f :acquire :process 0}
			{:type :invoke :f :release :process 0} {:type :invoke :f :acquire :process 1} {:type :ok :f :acquire :process 1}`, checker.True, ""},
		{"shuffled, with an index", "", `{:type :ok :f :read :process 1 :value 2 :index 3} {:type :invoke :f :write :process 0 :value 2 :index 0}
			{:type :invoke :f :read :process 1 :index 2} {:type :ok :f :write :process 0 :value 2 :index 1}`, checker.True, ""},
		{"the file's order, whatever the times say", "", `{:type :invoke :f :write :process 0 :value 2 :time 9} {:type :ok :f :write :process 0 :value 2 :time 8}
			{:type :invoke :f :read :process 1 :time 7} {:type :ok :f :read :process 1 :value 2 :time 3}`, checker.True, ""},
		{"a stale read by the file's order, though not by the times", "", `{:type :invoke :f :write :process 0 :value 2 :time 5} {:type :ok :f :write :process 0 :value 2 :time 6}
			{:type :invoke :f :read :process 1 :time 1} {:type :ok :f :read :process 1 :value nil :time 2}`, checker.False, "no order"},
		{"indexes with gaps, against the times", "", `{:type :ok :f :read :process 1 :value 2 :index 90 :time 1} {:type :invoke :f :write :process 0 :value 2 :index 10 :time 4}
			{:type :invoke :f :read :process 1 :index 40 :time 2} {:type :ok :f :write :process 0 :value 2 :index 20 :time 3}`, checker.True, ""},
		{"some indexes, in the file's order", "", `{:type :invoke :f :write :process 0 :value 2 :index 1} {:type :ok :f :write :process 0 :value 2}
			{:type :invoke :f :read :process 1 :index 7} {:type :ok :f :read :process 1 :value 2}`, checker.True, ""},
		{"a stale read", "", `{:type :invoke :f :write :process 0 :value 1} {:type :ok :f :write :process 0 :value 1}
			{:type :invoke :f :read :process 1 :value nil} {:type :ok :f :read :process 1 :value nil}`, checker.False, "no order"},
		{"fences rise", "", `{:type :invoke :f :acquire :process 0 :value nil} {:type :ok :f :acquire :process 0 :value {:client "a" :fence 2}}
			{:type :invoke :f :release :process 0} {:type :ok :f :release :process 0}
			{:type :invoke :f :acquire :process 1} {:type :ok :f :acquire :process 1 :value 1}`, checker.False, "process 1 was granted fence 1 (line 3) after fence 2"},
		{"a client that goes on as another process", "", `{:type :invoke :f :acquire :process 0 :value "u1"} {:type :info :f :acquire :process 0 :value "u1"}
			{:type :invoke :f :release :process 5 :value "u2"} {:type :ok :f :release :process 5 :value {:client "a" :uid "u2"}}`, checker.True, ""},
		{"a client that goes on, and another one", "fenced-mutex", `{:type :invoke :f :acquire :process 0 :value "u1"} {:type :ok :f :acquire :process 0 :value {:client "a" :fence 1}}
			{:type :invoke :f :release :process 5 :value "u2"} {:type :ok :f :release :process 5 :value {:client "a" :fence 0}}
			{:type :invoke :f :acquire :process 5 :value "u3"} {:type :ok :f :acquire :process 5 :value {:client "a" :fence 2}}
			{:type :invoke :f :release :process 1 :value "u4"} {:type :ok :f :release :process 1 :value {:client "b" :fence 0}}`, checker.False, "process 1: release"},
		{"a hold of a client that goes on", "reentrant-fenced-mutex", `{:type :invoke :f :acquire :process 0 :value "u1"} {:type :ok :f :acquire :process 0 :value {:client "a" :fence 3}}
			{:type :invoke :f :release :process 0 :value "u2"} {:type :info :f :release :process 0 :value "u2"}
			{:type :invoke :f :acquire :process 5 :value "u3"} {:type :ok :f :acquire :process 5 :value {:client "a" :fence 3}}`, checker.True, ""},
		{"a permit of whoever had it", "semaphore:2", `{:type :invoke :f :acquire :process 0 :value "u1"} {:type :ok :f :acquire :process 0 :value {:client "a"}}
			{:type :invoke :f :acquire :process 1 :value "u2"} {:type :ok :f :acquire :process 1 :value {:client "b"}}
			{:type :invoke :f :release :process 2 :value "u3"} {:type :info :f :release :process 2 :value "u3"}
			{:type :invoke :f :acquire :process 3 :value "u4"} {:type :ok :f :acquire :process 3 :value {:client "c"}}
			{:type :invoke :f :release :process 0 :value "u5"} {:type :ok :f :release :process 0 :value {:client "a"}}`, checker.True, ""},
		{"locks apart, with who asks", "", `{:type :invoke :f :acquire :process 0 :value ["x" {:client "a"}]} {:type :ok :f :acquire :process 0 :value ["x" {:client "a"}]}
			{:type :invoke :f :acquire :process 1 :value ["y" {:client "b"}]} {:type :ok :f :acquire :process 1 :value ["y" {:client "b"}]}`, checker.True, ""},
		{"one lock of several, with who asks", "", `{:type :invoke :f :acquire :process 0 :value ["x" {:client "a"}]} {:type :ok :f :acquire :process 0 :value ["x" {:client "a"}]}
			{:type :invoke :f :acquire :process 1 :value ["x" {:client "b"}]} {:type :ok :f :acquire :process 1 :value ["x" {:client "b"}]}`, checker.False, "both granted"},
		{"a register that begins with 0", "cas-register:0", `{:type :invoke :f :read :process 0} {:type :ok :f :read :process 0 :value 0}
			{:type :invoke :f :cas :process 1 :value [0 3]} {:type :ok :f :cas :process 1 :value [0 3]}`, checker.True, ""},
		{"a register that shows what it begins with", "", `{:type :invoke :f :read :process 0} {:type :ok :f :read :process 0 :value 0}
			{:type :invoke :f :cas :process 1 :value [0 3]} {:type :ok :f :cas :process 1 :value [0 3]}`, checker.True, ""},
		{"what it begins with comes again", "", `{:type :invoke :f :read :process 0} {:type :ok :f :read :process 0 :value 0}
			{:type :invoke :f :write :process 1 :value 3} {:type :ok :f :write :process 1 :value 3}
			{:type :invoke :f :read :process 0} {:type :ok :f :read :process 0 :value 0}`, checker.False, "no order"},
		{"a refused value that is read", "", `{:type :invoke :f :write :process 0 :value 3} {:type :fail :f :write :process 0 :value 3}
			{:type :invoke :f :read :process 1} {:type :ok :f :read :process 1 :value 3}`, checker.False, "no order"},
		{"what a failed cas expected is what it begins with", "", `{:type :invoke :f :read :process 0} {:type :ok :f :read :process 0 :value 0}
			{:type :invoke :f :cas :process 1 :value [0 4]} {:type :fail :f :cas :process 1 :value [0 4]}`, checker.True, ""},
		{"what a failed cas would have written is not", "", `{:type :invoke :f :read :process 0} {:type :ok :f :read :process 0 :value 4}
			{:type :invoke :f :cas :process 1 :value [0 4]} {:type :fail :f :cas :process 1 :value [0 4]}`, checker.False, "no order"},
		{"zero, and less than nothing of it", "", `{:type :invoke :f :write :process 0 :value 0.0} {:type :ok :f :write :process 0 :value 0.0}
			{:type :invoke :f :read :process 1} {:type :ok :f :read :process 1 :value -0.0}`, checker.True, ""},
		{"a release by an unknown client of what may have been granted", "owner-mutex", `{:type :invoke :f :acquire :process 0 :value {:client a}} {:type :fail :f :acquire :process 0 :value {:client a}}
			{:type :invoke :f :acquire :process 0 :value {:client b}} {:type :fail :f :acquire :process 0 :value {:client b}}
			{:type :invoke :f :acquire :process 1 :value {:client c}} {:type :info :f :acquire :process 1 :value {:client c}}
			{:type :invoke :f :release :process 0} {:type :ok :f :release :process 0}`, checker.True, ""},
		{"a release by an unknown client of what nobody had", "owner-mutex", `{:type :invoke :f :acquire :process 0 :value {:client a}} {:type :fail :f :acquire :process 0 :value {:client a}}
			{:type :invoke :f :acquire :process 0 :value {:client b}} {:type :fail :f :acquire :process 0 :value {:client b}}
			{:type :invoke :f :release :process 0} {:type :ok :f :release :process 0}
			{:type :invoke :f :acquire :process 1 :value {:client c}} {:type :info :f :acquire :process 1 :value {:client c}}`, checker.False, "release"},
		{"two values that nobody wrote", "", `{:type :invoke :f :read :process 0} {:type :ok :f :read :process 0 :value 0}
			{:type :invoke :f :read :process 1} {:type :ok :f :read :process 1 :value 1}`, checker.False, "no order"},
		{"nothing, and then what nobody wrote", "", `{:type :invoke :f :read :process 0} {:type :ok :f :read :process 0 :value nil}
			{:type :invoke :f :read :process 1} {:type :ok :f :read :process 1 :value 1}`, checker.False, "no order"},
		{"a value that nobody wrote, after a write", "", `{:type :invoke :f :write :process 1 :value 3} {:type :ok :f :write :process 1 :value 3}
			{:type :invoke :f :read :process 0} {:type :ok :f :read :process 0 :value 7}`, checker.False, "no order that agrees with real time allows all of: process 0: read -> 7"},
		{"what it began with, read again", "", `{:type :invoke :f :read :process 0} {:type :ok :f :read :process 0 :value 7}
			{:type :invoke :f :write :process 1 :value 3} {:type :info :f :write :process 1 :value 3}
			{:type :invoke :f :read :process 0} {:type :ok :f :read :process 0 :value 7}`, checker.True, ""},
		{"a register that does not begin with 0", "register:1", `{:type :invoke :f :read :process 0} {:type :ok :f :read :process 0 :value 0}`, checker.False, "no order"},
		{"an unknown fence", "fenced-mutex", `{:type :invoke :f :acquire :process 0} {:type :ok :f :acquire :process 0 :value 2}
			{:type :invoke :f :release :process 0} {:type :ok :f :release :process 0}
			{:type :invoke :f :acquire :process 1} {:type :ok :f :acquire :process 1 :value 0}`, checker.True, ""},
		{"entered three times", "reentrant-mutex", strings.Repeat(`{:type :invoke :f :acquire :process 0} {:type :ok :f :acquire :process 0} `, 3), checker.False, ""},
		{"entered twice", "reentrant-mutex", strings.Repeat(`{:type :invoke :f :acquire :process 0} {:type :ok :f :acquire :process 0} `, 2), checker.True, ""},
		{"two permits", "semaphore:2", `{:type :invoke :f :acquire :process 0} {:type :ok :f :acquire :process 0} {:type :invoke :f :acquire :process 1} {:type :ok :f :acquire :process 1}`, checker.True, ""},
		{"one permit", "semaphore:1", `{:type :invoke :f :acquire :process 0} {:type :ok :f :acquire :process 0} {:type :invoke :f :acquire :process 1} {:type :ok :f :acquire :process 1}`, checker.False, ""},
		{"readers and a writer", "", `{:type :invoke :f :read-lock :process 0} {:type :ok :f :read-lock :process 0} {:type :invoke :f :write-lock :process 1} {:type :ok :f :write-lock :process 1}`, checker.False, ""},
		{"a stale fence is accepted", "fenced-register", `{:type :invoke :f :write :process 0 :value [2 10]} {:type :ok :f :write :process 0 :value [2 10]}
			{:type :invoke :f :write :process 1 :value [1 11]} {:type :ok :f :write :process 1 :value [1 11]}`, checker.False, ""},
		{"a stale fence is accepted, after a read with its fence", "fenced-register", `{:type :invoke :f :read :process 0 :value [2 nil]} {:type :ok :f :read :process 0 :value [2 nil]}
			{:type :invoke :f :write :process 1 :value [1 11]} {:type :ok :f :write :process 1 :value [1 11]}`, checker.False, ""},
		{"a stale write is read", "fenced-register", `{:type :invoke :f :write :process 0 :value [1 10]} {:type :ok :f :write :process 0 :value [1 10]}
			{:type :invoke :f :write :process 1 :value [2 11]} {:type :info :f :write :process 1 :value [2 11]}
			{:type :invoke :f :read :process 0 :value [3 nil]} {:type :ok :f :read :process 0 :value [3 11]}`, checker.True, ""},
		{"another value is read", "fenced-register", `{:type :invoke :f :write :process 0 :value [1 10]} {:type :ok :f :write :process 0 :value [1 10]}
			{:type :invoke :f :read :process 0 :value [1 nil]} {:type :ok :f :read :process 0 :value [1 11]}`, checker.False, ""},
		{"no fences at all", "fenced-register", `{:type :invoke :f :write :process 0 :value 5} {:type :ok :f :write :process 0 :value 5}
			{:type :invoke :f :read :process 0} {:type :ok :f :read :process 0 :value 5}`, checker.True, ""},
		{"fences of two keys", "fenced-register", `{:type :invoke :f :read :process 0 :value [7 nil]} {:type :ok :f :read :process 0 :value [7 [2 nil]]}
			{:type :invoke :f :write :process 1 :value [8 [1 11]]} {:type :ok :f :write :process 1 :value [8 [1 11]]}`, checker.True, ""},
		{"a stale fence of one key", "fenced-register", `{:type :invoke :f :read :process 0 :value [7 nil]} {:type :ok :f :read :process 0 :value [7 [2 nil]]}
			{:type :invoke :f :write :process 1 :value [7 [1 11]]} {:type :ok :f :write :process 1 :value [7 [1 11]]}`, checker.False, ""},
		{"keys that are no fences", "fenced-register", `{:type :invoke :f :write :process 0 :value [:x 1]} {:type :ok :f :write :process 0 :value [:x 1]}
			{:type :invoke :f :read :process 1 :value [:y nil]} {:type :ok :f :read :process 1 :value [:y nil]}`, checker.True, ""},
		{"keys below 0 are no fences", "fenced-register", `{:type :invoke :f :write :process 0 :value [-1 1]} {:type :ok :f :write :process 0 :value [-1 1]}
			{:type :invoke :f :read :process 1 :value [-2 nil]} {:type :ok :f :read :process 1 :value [-2 nil]}`, checker.True, ""},
		{"a lock's keys apart", "", `{:type :invoke :f :acquire :process 0 :value [:x nil]} {:type :ok :f :acquire :process 0 :value [:x 1]}
			{:type :invoke :f :acquire :process 1 :value [:y nil]} {:type :ok :f :acquire :process 1 :value [:y 1]}
			{:type :invoke :f :release :process 1 :value [:y nil]} {:type :ok :f :release :process 1 :value [:y nil]}`, checker.True, ""},
		{"a lock of one key", "", `{:type :invoke :f :acquire :process 0 :value [:x nil]} {:type :ok :f :acquire :process 0 :value [:x 1]}
			{:type :invoke :f :acquire :process 1 :value [:x nil]} {:type :ok :f :acquire :process 1 :value [:x 2]}`, checker.False, "were both granted"},
		{"releases of keys", "mutex", `{:type :invoke :f :release :process 0 :value [:x nil]} {:type :fail :f :release :process 0 :value [:x nil]}
			{:type :invoke :f :release :process 0 :value [:x nil]} {:type :ok :f :release :process 0 :value [:x true]}`, checker.False, ""},
		{"what a cas compares is no key", "cas-register", `{:type :invoke :f :cas :process 0 :value [nil 1]} {:type :ok :f :cas :process 0 :value [nil 1]}
			{:type :invoke :f :cas :process 1 :value [2 nil]} {:type :ok :f :cas :process 1 :value [2 nil]}`, checker.False, ""},
		{"an answer without a value keeps the key", "", `{:type :invoke :f :write :process 0 :key :x :value 1} {:type :ok :f :write :process 0 :value 1}
			{:type :invoke :f :read :process 1 :key :x} {:type :ok :f :read :process 1 :key :x :value nil}`, checker.False, "no order"},
		{"a fence that is no number", "fenced-mutex", `{:type :invoke :f :acquire :process 0} {:type :ok :f :acquire :process 0 :value true}
			{:type :invoke :f :release :process 0} {:type :ok :f :release :process 0}
			{:type :invoke :f :acquire :process 0} {:type :ok :f :acquire :process 0 :value :granted}`, checker.True, ""},
		{"a set that knows", "", `{:type :invoke :f :add :process 0 :value 1} {:type :ok :f :add :process 0 :value 1}
			{:type :invoke :f :read :process 1} {:type :ok :f :read :process 1 :value #{1}}`, checker.True, ""},
		{"a set that is not empty", "", `{:type :invoke :f :add :process 0 :value 1} {:type :info :f :add :process 0 :value 1}
			{:type :invoke :f :read :process 1} {:type :ok :f :read :process 1 :value [1 2]}`, checker.False, "no order"},
		{"keys apart", "", `{:type :invoke :f :write :process 0 :value [:x 1]} {:type :ok :f :write :process 0 :value [:x 1]}
			{:type :invoke :f :read :process 1 :value [:y nil]} {:type :ok :f :read :process 1 :value [:y nil]}`, checker.True, ""},
		{"a set that forgets", "", `{:type :invoke :f :add :process 0 :value 1} {:type :ok :f :add :process 0 :value 1}
			{:type :invoke :f :read :process 1} {:type :ok :f :read :process 1 :value #{}}`, checker.False, ""},
		{"a nemesis, tags, comments", "", `; a run
			#jepsen.history.Op{:type :info :f :start :process :nemesis :value {:n1 :cut}}
			#_ {:ignored true} #jepsen.history.Op{:type :invoke, :f :write, :process 0, :value "a \"b\""}
			#jepsen.history.Op{:type :info, :f :write, :process 0, :value "a \"b\"", :error :timeout}
			#jepsen.history.Op{:type :invoke :f :read :process 1} #jepsen.history.Op{:type :ok :f :read :process 1 :value "a \"b\""}`, checker.True, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			h, err := Read(strings.NewReader(c.text), "h.edn")
			if err != nil {
				t.Fatal(err)
			}
			m, err := Recognise(h)
			if c.model != "" {
				m, err = Named(c.model)
			}
			if err != nil {
				t.Fatal(err)
			}
			v, err := Check(context.Background(), h, m, Options{})
			if err != nil || v.Valid != c.want {
				t.Fatalf("%v as %s (%s, %v), want %v", v.Valid, m.Name, v.Why, err, c.want)
			}
			if c.want == checker.False && (len(v.Anomalies) != 1 || !strings.Contains(v.Anomalies[0].Explanation, c.says)) {
				t.Errorf("anomalies %+v do not say %q", v.Anomalies, c.says)
			}
		})
	}
}

// TestBadFiles: what cannot be a history is refused, with its file and line.
func TestBadFiles(t *testing.T) {
	const invoke = "{:type :invoke :f :read :process 0}\n"
	for _, c := range []struct{ name, text, want string }{
		{"nothing but blanks, or not", strings.Repeat("\n", 5000), "h:1: unknown format: it begins with 4096 blanks"},
		{"unknown format", "hello\n", "h:1: unknown format"},
		{"cut off inside of a vector", "[" + invoke, "h:2: the file ends in the middle of a value"},
		{"cut off inside of a map", invoke + "{:type :ok", "h:2: the file ends in the middle of a value"},
		{"completed without an invocation", "{:type :ok :f :read :process 0}\n", "h:1: process 0 completes a read that it never invoked"},
		{"invoked twice", invoke + invoke, "h:2: process 0 invokes read while its read (line 1) is still open"},
		{"another operation completed", invoke + "{:type :ok :f :write :process 0}\n", "h:2: process 0 completes a write, and had invoked a read (line 1)"},
		{"one index twice", "{:type :invoke :f :read :process 0 :index 1}\n{:type :invoke :f :read :process 1 :index 1}", "h:2: :index 1 stands on line 1 as well"},
		{"an index twice, others without", "{:type :invoke :f :read :process 0 :index 1}\n{:type :invoke :f :read :process 2}\n{:type :invoke :f :read :process 1 :index 1}", "h:3: :index 1 stands on line 1 as well"},
		{"an index against the file's order, others without", "{:type :invoke :f :read :process 0 :index 4}\n{:type :invoke :f :read :process 2}\n{:type :invoke :f :read :process 1 :index 1}", "h:3: :index 1 after 4 (line 1), where other events have none"},
		{"unknown type", "{:type :maybe :f :read :process 0}\n", `h:1: unknown :type "maybe"`},
		{"empty map", "{ }\n", "h:1: an empty event: want {\"type\""},
		{"no process", "{:type :ok :f :read}\n", "h:1: an event without a :process"},
		{"not a map", "[1 2]", "h:1: want a map for each event"},
		{"too deep", strings.Repeat("[", 100), "h:1: nested deeper than 64"},
		{"a bad log line", "INFO  jepsen.util - 0\t:invoke\t:write\t1\nINFO  jepsen.util - 0 :ok :frob 1\n", "h:2: not an operation on a register"},
		{"no operation", "INFO  jepsen.util - hello\n", "h:1: not an operation"},
		{"a cas of one value", "{:type :invoke :f :cas :process 0 :value 3}", "h:1: a cas needs [expected new]"},
		{"a cas of three values", "{:type :invoke :f :cas :process 0 :value [1 2 3]}", "h:1: a cas needs [expected new]"},
		{"a cas of a map", "{:type :invoke :f :cas :process 0 :value {1 2}}", "h:1: a cas needs [expected new]"},
		{"another key completed", "{:type :invoke :f :read :process 0 :key 1}\n{:type :ok :f :read :process 0 :key 2}", "h:2: process 0 completes its read on key 2, invoked on 1 (line 1)"},
		{"a negative fence", "{:type :invoke :f :acquire :process 0}\n{:type :ok :f :acquire :process 0 :value -1}", "h:2: a negative fence -1"},
		{"a fence above all integers", "{:type :invoke :f :acquire :process 0}\n{:type :ok :f :acquire :process 0 :value 9223372036854775808}", "h:2: a fence 9223372036854775808: want a whole number from 0 to 9223372036854775807"},
		{"half a fence", "{:type :invoke :f :acquire :process 0}\n{:type :ok :f :acquire :process 0 :value 1.5}", "h:2: a fence 1.5: want a whole number"},
		{"a text for a fence", "{:type :invoke :f :acquire :process 0}\n{:type :ok :f :acquire :process 0 :value {:fence \"10\"}}", "h:2: a fence \"10\": want a whole number"},
		{"an acquire that nobody invoked", "{:type :ok :f :acquire :process 0}", "h:1: process 0 completes an acquire that it never invoked"},
		{"half a character", "{:type :invoke :f :read :process 0 :key \"a\"}\n{:type :invoke :f :read :process 1 :key \"\\ud800\"}", "h:2: \\ud800 is half a character"},
		{"bytes that are no text", "{:type :invoke :f :read :process 0 :key \"a\"}\n{:type :invoke :f :read :process 1 :key \"\xe4\"}", "h:2: bytes that are no UTF-8: save the file as UTF-8"},
		{"bytes that are no name", "{:type :invoke :f :read :process \xe4}", "h:1: bytes that are no UTF-8: save the file as UTF-8"},
		{"processes with names, and none with a number", "{:type :invoke :f :read :process :nemesis}\n{:type :invoke :f :read :process :a}", "h:2: no event is of a client: a client's :process is a number, and this one is :a"},
		{"no f", "{:type :invoke :process 0}\n", "h:1: an event without an :f"},
		{"a map of a key and no value", "{:type}", "h:1: a map with a key and no value"},
		{"a log's cas of one value", "INFO  jepsen.util - 0\t:invoke\t:cas\t3\n", "h:1: a cas needs [expected new]"},
		{"a log completed without an invocation", "INFO  jepsen.util - 0\t:ok\t:read\t3\n", "h:1: process 0 completes a read that it never invoked"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Read(strings.NewReader(c.text), "h")
			if err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
	if _, err := Read(strings.NewReader(`{"index":0}`), "h"); !errors.Is(err, ErrOwnFormat) {
		t.Errorf("our own format: %v", err)
	}
}

// TestNamedJSONL: the beginning of a file decides, and its name where that shows no other format.
func TestNamedJSONL(t *testing.T) {
	for text, own := range map[string]bool{
		`{"index":0}`: true, `{"ind`: true, "": true, "\n": true, "{": true, "{}": true, "nonsense": true, "[1]": true, "[": true,
		"[{:type :info :f :start :process :nemesis}]": false, "{:type :info :f :start :process :nemesis}": false, "[\n {\n :type :info :f :start :process :nemesis}]": false,
		"0\t:invoke\t:acquire\tnil\n": false, "#jepsen.history.Op{:type :info :f :start :process :nemesis}": false,
	} {
		if _, err := Read(strings.NewReader(text), "h.jsonl"); errors.Is(err, ErrOwnFormat) != own || !own && err != nil {
			t.Errorf("%q: %v, want picklock's own: %v", text, err, own)
		}
	}
	_, err := Read(strings.NewReader("time,process\n"), "stdin")
	for _, format := range []string{"history.jsonl", "CSV", "OpenTelemetry", "EDN", "history.txt", "Jepsen log"} {
		if err == nil || !strings.Contains(err.Error(), format) {
			t.Errorf("%v, want %s in it", err, format)
		}
	}
}

// TestEmptyFiles: a history of nothing is one; there is nothing to be said of it.
func TestEmptyFiles(t *testing.T) {
	for _, text := range []string{"", " \n\n", "[]", "()", "; nothing", "[{:type :info :f :start :process :nemesis}]", "{:type :info :f :start :process :nemesis}"} {
		if h, err := Read(strings.NewReader(text), "h"); err != nil || len(h.Ops) != 0 || h.Events != 0 {
			t.Errorf("%q: %+v, %v", text, h, err)
		}
	}
}

// TestModelsOfOwnEvents: a model can be asked about picklock's own histories.
func TestModelsOfOwnEvents(t *testing.T) {
	ev := func(i int64, p string, typ history.Type, f string, token int64) history.Event {
		return history.Event{Index: i, Time: i, Process: p, Type: typ, F: f, Key: "k", Token: token}
	}
	events := []history.Event{
		ev(0, "c1", history.Invoke, "acquire", 0), ev(1, "c1", history.OK, "acquire", 2),
		ev(2, "c1", history.Invoke, "release", 0), ev(3, "c1", history.OK, "release", 0),
		ev(4, "c2", history.Invoke, "acquire", 0), ev(5, "c2", history.OK, "acquire", 1),
	}
	for name, want := range map[string]checker.Validity{"owner-mutex": checker.True, "fenced-mutex": checker.False} {
		m, err := Named(name)
		if err != nil {
			t.Fatal(err)
		}
		h, err := FromEvents(events, func(i int) int { return i + 1 }, m, "h")
		if err != nil {
			t.Fatal(err)
		}
		if v, err := Check(context.Background(), h, m, Options{}); err != nil || v.Valid != want {
			t.Errorf("%s: %v %v, want %v", name, v.Valid, err, want)
		}
	}
}

// FuzzRead: whatever a file holds, reading and checking it returns; and what was
// read is checked the same way twice.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`[{:type :invoke :f :acquire :process 0 :value {:client "a"}} {:type :ok :f :acquire :process 0 :value 3}]`))
	f.Add([]byte("INFO  jepsen.util - 0\t:invoke\t:cas\t[1 2]\nINFO  jepsen.util - 0\t:fail\t:cas\t[1 2]\n"))
	f.Add([]byte(`{:process 0, :type :invoke, :f :append, :key "0", :value "x"}{:process 0, :type :ok, :f :append, :key "0", :value "x"}`))
	f.Add([]byte(`#_ #{1 2} ^:a \newline ##NaN {:type :invoke :f :add :process 1 :value 1}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		h, err := Read(strings.NewReader(string(text)), "h")
		if err != nil {
			if !errors.Is(err, ErrOwnFormat) && !strings.HasPrefix(err.Error(), "h:") {
				t.Fatalf("no file and line: %v", err)
			}
			return
		}
		m, err := Recognise(h)
		if err != nil || len(h.Ops) > 40 {
			return
		}
		a, errA := Check(context.Background(), h, m, Options{})
		b, errB := Check(context.Background(), h, m, Options{})
		if a.Valid != b.Valid || (errA == nil) != (errB == nil) || strings.Contains(a.Why, "CONTRADICTS") {
			t.Fatalf("%v and %v (%s)", a.Valid, b.Valid, a.Why)
		}
	})
}

// Where a model has fences, a text is none: neither an acquire's value nor the first of a pair.
func TestNoFence(t *testing.T) {
	const lock = "{:type :invoke :f :acquire :process 0}\n{:type :ok :f :acquire :process 0 :value \"9\"}\n"
	const register = "{:type :invoke :f :write :process 0 :value [1.5 7]}\n{:type :ok :f :write :process 0 :value [1.5 7]}\n{:type :invoke :f :read :process 0}\n{:type :ok :f :read :process 0 :value [1.5 7]}\n"
	for _, tt := range []struct{ text, model, want string }{
		{lock, "owner-mutex", ""},
		{lock, "fenced-mutex", `h:2: a fence "9": want a whole number`},
		{lock, "reentrant-fenced-mutex", `h:2: a fence "9": want a whole number`},
		{register, "register", ""},
		{register, "fenced-register", "h:1: a fence 1.5: want a whole number"},
	} {
		h, err := Read(strings.NewReader(tt.text), "h")
		if err != nil {
			t.Fatal(err)
		}
		m, err := Named(tt.model)
		if err != nil {
			t.Fatal(err)
		}
		_, err = Check(t.Context(), h, m, Options{})
		if (err == nil) != (tt.want == "") || err != nil && !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.model, err, tt.want)
		}
	}
}

// TestUnfitIsNoOtherError: a history that is not of the model says so, and nothing else.
func TestUnfitIsNoOtherError(t *testing.T) {
	err := error(unfit{errors.New("not of this model")})
	if !errors.Is(err, ErrUnfit) || errors.Is(err, ErrOwnFormat) {
		t.Errorf("unfit %v, own format %v", errors.Is(err, ErrUnfit), errors.Is(err, ErrOwnFormat))
	}
}

// TestDowngradeIsOfNoModel: that a client goes on to share what it had alone, no model of a lock knows; a register's
// does not care.
func TestDowngradeIsOfNoModel(t *testing.T) {
	events := []history.Event{
		{Index: 0, Time: 1, Process: "c1", Type: history.Invoke, F: history.Acquire, Key: "k"},
		{Index: 1, Time: 2, Process: "c1", Type: history.OK, F: history.Acquire, Key: "k", Grant: "c1.1"},
		{Index: 2, Time: 3, Process: "c1", Type: history.Invoke, F: history.Acquire, Key: "k", Mode: history.Downgrade},
		{Index: 3, Time: 4, Process: "c1", Type: history.OK, F: history.Acquire, Key: "k", Grant: "c1.2", Mode: history.Downgrade},
		{Index: 4, Time: 5, Process: "c1", Type: history.Invoke, F: history.Read, Key: "k"},
		{Index: 5, Time: 6, Process: "c1", Type: history.OK, F: history.Read, Key: "k"},
	}
	for name, want := range map[string]bool{"rw-lock": true, "mutex": true, "reentrant-mutex": true, "register": false} {
		m, err := Named(name)
		if err != nil {
			t.Fatal(err)
		}
		_, err = FromEvents(events, func(i int) int { return i + 1 }, m, "h")
		if errors.Is(err, ErrUnfit) != want {
			t.Errorf("%s: %v, want a refusal: %v", name, err, want)
		}
	}
}

// TestNumbersOfAcquires: a plain number that an acquire is answered with is a fencing token only if it behaves as one. A RabbitMQ delivery tag, which
// Jepsen's mutex test has there, counts anew on each channel.
func TestNumbersOfAcquires(t *testing.T) {
	taken := func(first, second string) string {
		return `{:type :invoke :f :acquire :process 0} {:type :ok :f :acquire :process 0 :value ` + first + `}
			{:type :invoke :f :release :process 0} {:type :ok :f :release :process 0}
			{:type :invoke :f :acquire :process 1} {:type :ok :f :acquire :process 1 :value ` + second + `}`
	}
	for _, c := range []struct{ first, second, want string }{
		{"1", "2", "fenced-mutex"}, {"1", "1", ""}, {"2", "1", "fenced-mutex"}, {"{:fence 1}", "1", "fenced-mutex"}, {"nil", "nil", "owner-mutex"}, {"0", "0", "owner-mutex"},
	} {
		h, err := Read(strings.NewReader(taken(c.first, c.second)), "h.edn")
		if err != nil {
			t.Fatal(err)
		}
		m, err := Recognise(h)
		switch {
		case c.want == "" && (err == nil || !strings.Contains(err.Error(), "say with --model")):
			t.Errorf("%s, %s: %v, %v", c.first, c.second, m, err)
		case c.want != "" && (err != nil || m.Name != c.want):
			t.Errorf("%s, %s: %v, %v, want %s", c.first, c.second, m, err, c.want)
		}
	}
	// Two that were under way at once have no order.
	h, err := Read(strings.NewReader(`{:type :invoke :f :acquire :process 0} {:type :invoke :f :acquire :process 1} {:type :ok :f :acquire :process 0 :value 2}
		{:type :ok :f :acquire :process 1 :value 1}`), "h.edn")
	if err != nil {
		t.Fatal(err)
	}
	if m, err := Recognise(h); err != nil || m.Name != "fenced-mutex" {
		t.Errorf("at once: %v, %v", m, err)
	}
}
