package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// slow decodes as encoding/json alone would.
func slow[T any](line []byte) (T, error) {
	var v T
	return v, decodeLine(line, &v)
}

// FuzzFastDecoder: the fast decoders read what encoding/json reads, or leave it to
// it.
func FuzzFastDecoder(f *testing.F) {
	for _, line := range []string{
		`{"index":0,"time":1203345,"process":"c1","type":"invoke","f":"acquire","key":"k0"}`,
		`{"index":1,"time":2203345,"process":"c1","type":"ok","f":"acquire","key":"k0","grant":"c1.1","token":33,"since":1993000,"lease":1000000000,"held":true}`,
		`{"index":2,"time":3,"process":"c1","type":"ok","f":"acquire","key":"k0","grant":"c1.2","mode":"nested","permits":3}`,
		`{"index":7,"time":26,"process":"nemesis","type":"info","f":"pause","nodes":["c1"],"phase":"begin","confirmed":true}`,
		`{"phase":"begin","confirmed":false,"landed":true,"landed":false,"Landed":true}`, `{"landed":true,"landed":null}`, `{"landed":1}`,
		`{"seq":3,"time":5,"process":"c1","f":"add","key":"k0","grant":"c1.1","value":"c1.1.1","parent":"x","version":2,"highest":33,"error":"no"}`,
		` { "index" : -1 , "time":01, "Key":"a", "held":falsey } x`, `{"value":"\u00e9","index":12345678901234567890}`, `{}`, `{"held":null}`, `{"index":1.0}`, `{"index":-0}`, `[]`, ``,
		`{"index": 0, "time": 1203345, "process": "c1", "type": "invoke", "f": "acquire", "key": "k\u00f6", "value": null}`,
		`{"f":"read","host":{"a":[1,-2.5e+3,"\"\\",[],{}],"b":{"c":null}},"thread":7,"type":"ok","process":"é","index":3,"time":4}`,
		`{"Index":3,"\u0069ndex":4,"ho\u017ft":1,"\u017feq":2,"proc\u0065s\u017f":"x"}`, `{"x":01}`, `{"x":[1,]}`, `{"x":"\ud800"}`, `{"x":"\q"}`, `{"x":1e}`, `{"x":-}`, `{"x":tru}`,
		`{"nodes":["a","b"],"nodes":[null],"client_failed":true,"detail":"clock\t+2m","error":"\u0000\ud83d\ude00\ud83d"}`, `{"nodes":null,"nodes":[]}`, `{"nodes":[1]}`,
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		var e Event
		if in := (&interner{}); fastEvent(line, &e, in) {
			if want, err := slow[Event](line); err != nil || !reflect.DeepEqual(e, want) {
				t.Errorf("%q: %+v, encoding/json says %+v %v", line, e, want, err)
			}
		}
		var eff Effect
		if in := (&interner{}); fastEffect(line, &eff, in) {
			if want, err := slow[Effect](line); err != nil || eff != want {
				t.Errorf("%q: %+v, encoding/json says %+v %v", line, eff, want, err)
			}
		}
	})
}

// TestFastDecoderIsUsed: the lines that picklock writes need no encoding/json.
func TestFastDecoderIsUsed(t *testing.T) {
	full := Event{Index: 3, Time: 4, Process: "c1", Type: OK, F: Acquire, Key: "k", Grant: "c1.1", Token: 3, Value: "v", Since: 5, Lease: 6, Mode: Shared, Permits: 3, Held: true, Error: "e", ClientFailed: true, Phase: Begin, Confirmed: true, Nodes: []string{"c1"}, Fault: "pause: c1", Detail: "d"}
	line, err := json.Marshal(full)
	if err != nil {
		t.Fatal(err)
	}
	var e Event
	if !fastEvent(line, &e, &interner{}) || !reflect.DeepEqual(e, full) {
		t.Errorf("%s read as %+v", line, e)
	}
	eff := Effect{Seq: 1, Time: 2, Process: "c1", F: Add, Key: "k", Grant: "c1.1", Token: 3, Value: "v", Parent: "p", Version: 4, Highest: 5, Error: "e"}
	if line, err = json.Marshal(eff); err != nil {
		t.Fatal(err)
	}
	var got Effect
	if !fastEffect(line, &got, &interner{}) || got != eff {
		t.Errorf("%s read as %+v", line, got)
	}
}

// TestForeignWriting: whoever else writes histories uses other spaces and another order of
// the members, escapes what need not be, has members of their own and nulls. All of it is
// read as encoding/json reads it, and without it.
func TestForeignWriting(t *testing.T) {
	text := rapid.OneOf(rapid.StringMatching(`[a-z0-9. ]{0,8}`), rapid.String())
	foreign := rapid.SampledFrom([]string{`7`, `-0.5e-3`, `"x"`, `"\u00e9\n\"é"`, `null`, `true`, `[]`, `[ 1 , "]" , [ ] ]`, `{"key":{"index":9}}`, `{ }`})
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.Int64Range(-1e17, 1e17)
		want := Event{
			Index: number.Draw(t, "index"), Time: number.Draw(t, "time"), Process: text.Draw(t, "process"), Type: rapid.SampledFrom([]Type{Invoke, OK, "other"}).Draw(t, "type"),
			F: text.Draw(t, "f"), Key: text.Draw(t, "key"), Token: number.Draw(t, "token"), Value: text.Draw(t, "value"), Held: rapid.Bool().Draw(t, "held"),
			Error: text.Draw(t, "error"), ClientFailed: rapid.Bool().Draw(t, "failed"), Nodes: rapid.SliceOfN(text, 0, 2).Draw(t, "nodes"), Fault: text.Draw(t, "fault"), Detail: text.Draw(t, "detail"),
		}
		whole, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(whole, &fields); err != nil {
			t.Fatal(err)
		}
		var members []string
		space := rapid.SampledFrom([]string{"", "", " ", "  ", "\t"})
		for name, value := range fields {
			members = append(members, `"`+name+`"`+space.Draw(t, "before")+":"+space.Draw(t, "after")+string(value))
		}
		for _, name := range []string{"thread", "threadId", "host_name", "", "Nested", "a\\u0062"} {
			if rapid.Bool().Draw(t, "has "+name) {
				members = append(members, `"`+name+`":`+foreign.Draw(t, name))
			}
		}
		slices.Sort(members)
		order := rapid.Permutation(members).Draw(t, "order")
		line := []byte("{" + strings.Join(order, space.Draw(t, "left")+","+space.Draw(t, "right")) + "}" + space.Draw(t, "end"))
		var got Event
		if !fastEvent(line, &got, &interner{}) {
			t.Fatalf("%s is left to encoding/json", line)
		}
		if want, err := slow[Event](line); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%s: %+v, encoding/json says %+v %v", line, got, want, err)
		}
		// One byte of it lost or changed: both take it for the same, or refuse it.
		at := rapid.IntRange(0, len(line)-1).Draw(t, "at")
		damaged := slices.Concat(line[:at], rapid.SampledFrom([][]byte{nil, {'"'}, {'}'}, {' '}, {'0'}, {'\\'}, {0xff}}).Draw(t, "damage"), line[at+1:])
		got = Event{}
		if fastEvent(damaged, &got, &interner{}) {
			if want, err := slow[Event](damaged); err != nil || !reflect.DeepEqual(got, want) {
				t.Fatalf("%s: %+v, encoding/json says %+v %v", damaged, got, want, err)
			}
		}
	})
}

func line(i int) string {
	return fmt.Sprintf(`{"index":%d,"time":%d,"process":"c%d","type":"invoke","f":"acquire","key":"k%d"}`, i, i, i%7, i%3) + "\n"
}

// TestStreamKeepsOrder: over many batches, whatever the reader gives at a time,
// events arrive in the order of the file, and errors name their line.
func TestStreamKeepsOrder(t *testing.T) {
	var b bytes.Buffer
	const n = 20_000
	for i := range n {
		b.WriteString(line(i))
	}
	whole := b.String()
	for name, r := range map[string]io.Reader{"at once": strings.NewReader(whole), "in halves": iotest.HalfReader(strings.NewReader(whole)), "data with the end": iotest.DataErrReader(strings.NewReader(whole))} {
		next := int64(0)
		err := Stream(r, "h", func(e *Event, _ int) error {
			if e.Index != next || e.Process != fmt.Sprintf("c%d", next%7) {
				return fmt.Errorf("event %d of %s, want %d", e.Index, e.Process, next)
			}
			next++
			return nil
		})
		if err != nil || next != n {
			t.Errorf("%s: %d events, %v", name, next, err)
		}
	}
	for _, c := range []struct {
		name, text, want string
		events           int
	}{
		{"torn last line", whole + `{"index":1,"ti`, "", n},
		{"whole last line without newline", whole + strings.TrimSuffix(line(n), "\n"), "", n + 1},
		{"damaged line", whole + "{\"index\":1,\"ti\n" + line(1), "h:20001: not a JSON object", n},
		{"empty line", line(0) + "\n" + line(1), "h:2: empty line", 1},
		{"two values", line(0) + "{} {}\n", "h:2: more than one JSON value", 1},
		{"another's JSON", "{\"data\":[]}\n", "h:1: not an event: want {\"type\"", 0},
		{"bad event before damage", strings.Replace(line(0), "invoke", "perhaps", 1) + "{\n", `h:1: unknown type "perhaps"`, 0},
		{"a gigantic line", line(0) + strings.Repeat("x", maxLine+batchBytes) + "\n", "h:2: line longer than", 1},
		{"a gigantic line without end", line(0) + strings.Repeat("x", maxLine+2*batchBytes), "h:2: line longer than", 1},
	} {
		events := 0
		err := Stream(strings.NewReader(c.text), "h", func(*Event, int) error { events++; return nil })
		if (c.want == "") != (err == nil) || (err != nil && !strings.HasPrefix(err.Error(), c.want)) || events != c.events {
			t.Errorf("%s: %d events, error %v; want %d, %q", c.name, events, err, c.events, c.want)
		}
	}
	broken := errors.New("broken")
	if err := Stream(io.MultiReader(strings.NewReader(line(0)), iotest.ErrReader(broken)), "h", func(*Event, int) error { return nil }); !errors.Is(err, broken) {
		t.Errorf("a reader's error: %v", err)
	}
	if err := Stream(strings.NewReader(whole), "h", func(e *Event, _ int) error {
		if e.Index == 5 {
			return broken
		}
		return nil
	}); !errors.Is(err, broken) || !strings.HasPrefix(err.Error(), "h:6: ") {
		t.Errorf("the observer's error: %v", err)
	}
}

// TestDuplicates: an event that was written twice is refused; two events of one
// instant are not.
func TestDuplicates(t *testing.T) {
	for _, c := range []struct {
		text string
		bad  bool
	}{
		{line(1) + line(2), false},
		{line(1) + line(2) + line(1), true},
		{line(1) + strings.Replace(strings.Replace(line(1), `"c1"`, `"c2"`, 1), `"index":1`, `"index":2`, 1), false},
		{line(1) + strings.Replace(line(1), `"index":1`, `"index":9`, 1), true},
	} {
		if _, err := Decode(strings.NewReader(c.text), "h"); (err != nil) != c.bad {
			t.Errorf("%q: %v", c.text, err)
		}
	}
}

// TestEffectsAreOrdered: a register's log counts up, and says what it must.
func TestEffectsAreOrdered(t *testing.T) {
	good := `{"seq":2,"time":5,"process":"c1","f":"write","key":"k0","version":1}` + "\n"
	for text, want := range map[string]string{
		good: "",
		good + strings.Replace(good, `:2`, `:3`, 1): "",
		good + good: "h:2: sequence number 2 after 2",
		strings.Replace(good, "write", "renew", 1): `h:1: unknown operation "renew"`,
		strings.Replace(good, "k0", "", 1):         "h:1: an effect needs a key",
	} {
		err := StreamEffects(strings.NewReader(text), "h", func(*Effect) error { return nil })
		if (want == "") != (err == nil) || (err != nil && !strings.HasPrefix(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
