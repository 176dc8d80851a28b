package checker

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/internal/bulk"
)

// form is how a file's history is written.
type form struct {
	name   string
	source history.Source
}

var forms = []form{{"h.jsonl", history.Source{}}, {"h.csv", history.Source{CSV: true}}, {"h.json", history.Source{Spans: true}}}

// allocated is how many bytes reading and judging a file has taken in all, whatever of it was
// given back meanwhile. effects is the register's log, nil where there is none.
func (f form) allocated(tb testing.TB, text, effects []byte) uint64 {
	tb.Helper()
	dir := tb.TempDir()
	src := f.source
	src.Path = filepath.Join(dir, f.name)
	log := ""
	if err := os.WriteFile(src.Path, text, 0o600); err != nil {
		tb.Fatal(err)
	}
	if effects != nil {
		log = filepath.Join(dir, "register.jsonl")
		if err := os.WriteFile(log, effects, 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	opt := Options{SkipCrossCheck: true}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if events, err := src.Events(); err == nil {
		Check(Input{Events: events, Options: opt})
	}
	v, err := CheckSource(tb.Context(), src, log, opt, nil)
	if err == nil {
		if _, err := json.Marshal(v); err != nil {
			tb.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// What a file may take: so much at once, and so much for each of its bytes.
const memoryOnce, memoryByte = 32 << 20, 512

func (f form) bounded(tb testing.TB, text, effects []byte) {
	tb.Helper()
	size := len(text) + len(effects)
	got, most := f.allocated(tb, text, effects), uint64(memoryOnce+memoryByte*size)
	if got > most {
		tb.Errorf("%d bytes of a history took %d bytes, more than %d\n%.2000s", size, got, most, text)
	}
}

// numbered is a history of grants of one client with these numbers.
func numbered(numbers []int64) []byte {
	var out bytes.Buffer
	at := 0
	for _, n := range numbers {
		for _, e := range []string{`"invoke","f":"acquire"`, `"ok","f":"acquire","grant":"c1.%d"`, `"invoke","f":"release","grant":"c1.%d"`, `"ok","f":"release","grant":"c1.%d"`} {
			if at%4 > 0 {
				e = fmt.Sprintf(e, n)
			}
			fmt.Fprintf(&out, `{"index":%d,"time":%d,"process":"c1","key":"k","type":%s}`+"\n", at, 1000*(at+1), e)
			at++
		}
	}
	return out.Bytes()
}

// Numbers in the names of grants choose no memory, however they grow.
func TestMemoryIsTheFiles(t *testing.T) {
	for name, next := range map[string]func(n int64) int64{
		"twice as much, and more":        func(n int64) int64 { return 2*n + 64 },
		"three times as much":            func(n int64) int64 { return 3*n + 1 },
		"as far as it goes, and beyond":  func(n int64) int64 { return n + 16*n + 64 },
		"nine digits from the beginning": func(n int64) int64 { return 999_999_000 + n%1000 + 1 },
	} {
		var numbers []int64
		for n := int64(64); n < 1e9 && len(numbers) < 40; n = next(n) {
			numbers = append(numbers, n)
		}
		t.Run(name, func(t *testing.T) { forms[0].bounded(t, numbered(numbers), nil) })
	}
	for _, file := range []string{"num10.jsonl", "num19.jsonl"} {
		t.Run(file, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("testdata", "sizes", file))
			if err != nil {
				t.Fatal(err)
			}
			forms[0].bounded(t, text, nil)
		})
	}
	for _, k := range bulk.Kinds() {
		t.Run(k.Name, func(t *testing.T) {
			h := k.Make(4000)
			var text, effects bytes.Buffer
			if err := errors.Join(h.WriteEvents(&text), h.WriteEffects(&effects)); err != nil {
				t.Fatal(err)
			}
			forms[0].bounded(t, text.Bytes(), effects.Bytes())
		})
	}
}

// csvOf is a history of JSON lines as a CSV file.
func csvOf(tb testing.TB, text []byte) []byte {
	tb.Helper()
	columns := history.Members()
	var out bytes.Buffer
	out.WriteString(strings.Join(columns, ",") + "\n")
	for line := range bytes.Lines(text) {
		var members map[string]any
		if err := json.Unmarshal(line, &members); err != nil {
			tb.Fatal(err)
		}
		for i, c := range columns {
			if i > 0 {
				out.WriteByte(',')
			}
			if v, ok := members[c].(float64); ok {
				fmt.Fprintf(&out, "%.0f", v)
			} else if v, ok := members[c].(string); ok {
				out.WriteString(v)
			}
		}
		out.WriteByte('\n')
	}
	return out.Bytes()
}

// spansOf is a trace of grants of one client with these numbers, or any, in their leases.
func spansOf(numbers []int64) []byte {
	var out bytes.Buffer
	for i, n := range numbers {
		for j, f := range []string{"acquire", "release"} {
			at := int64(1_700_000_000_000_000_000) + int64(100*(2*i+j))
			fmt.Fprintf(&out, `{"resourceSpans":[{"scopeSpans":[{"spans":[{"name":"%s","startTimeUnixNano":"%d","endTimeUnixNano":"%d","attributes":[`, f, at, at+50)
			fmt.Fprintf(&out, `{"key":"process","value":{"stringValue":"c1"}},{"key":"key","value":{"stringValue":"k"}},{"key":"grant","value":{"stringValue":"c1.%d"}},`, n)
			fmt.Fprintf(&out, `{"key":"permits","value":{"intValue":"%d"}},{"key":"lease","value":{"doubleValue":%d}}]}]}]}]}`+"\n", n, n)
		}
	}
	return out.Bytes()
}

// TestLongNamesAndValues: a long value that many anomalies quote is cut, and a long name
// is refused.
func TestLongNamesAndValues(t *testing.T) {
	h := bulk.Named("one holder, many beside").Make(2000)
	long := strings.Repeat("x", 1<<20)
	h.Events[1].Grant = long
	var text bytes.Buffer
	if err := h.WriteEvents(&text); err != nil {
		t.Fatal(err)
	}
	forms[0].bounded(t, text.Bytes(), nil)
	if _, err := history.Decode(&text, "h"); err == nil || !strings.Contains(err.Error(), "h:2: a name of 1048576 bytes (grant") {
		t.Error(err)
	}

	h = bulk.Named("many reads of one grant").Make(2000) // which nobody had written
	write := history.Event{Process: "c1", Type: history.Invoke, F: history.Write, Key: "k", Grant: "c1.1", Value: long}
	answer := write
	answer.Type = history.OK
	for _, e := range []history.Event{write, answer} {
		e.Index, e.Time = int64(len(h.Events)), h.Events[len(h.Events)-1].Time+1
		h.Events = append(h.Events, e)
	}
	first := history.Effect{Seq: 1, Time: 1, Process: "c1", F: history.Write, Key: "k", Grant: "c1.1", Value: long}
	for i := range h.Effects {
		h.Effects[i].Seq++
	}
	h.Effects = append([]history.Effect{first}, h.Effects...)
	v := Check(Input{Events: h.Events, Effects: h.Effects})
	said, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(named(v, "nonlinearizable")); n < 1000 || len(said) > 1<<21 {
		t.Errorf("%d anomalies, reported in %d bytes", n, len(said))
	}
}

// TestMemoryOfOtherForms: nor do they in a CSV file or in a trace.
func TestMemoryOfOtherForms(t *testing.T) {
	var numbers []int64
	for n := int64(64); n < 1e9; n = 2*n + 64 {
		numbers = append(numbers, n)
	}
	for i, text := range [][]byte{numbered(numbers), csvOf(t, numbered(numbers)), spansOf(numbers)} {
		f := forms[i]
		f.bounded(t, text, nil)
		f.source.Path = filepath.Join(t.TempDir(), f.name)
		if err := os.WriteFile(f.source.Path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if events, err := f.source.Events(); err != nil || len(events) < 2*len(numbers) {
			t.Errorf("%s: %d events: %v", f.name, len(events), err)
		}
	}
}

func FuzzMemory(f *testing.F) {
	f.Add(numbered([]int64{64, 192, 448, 960, 1984}))
	f.Add([]byte(`{"index":0,"time":1,"process":"c1","type":"invoke","f":"acquire","key":"k"}` + "\n" +
		`{"index":1,"time":2,"process":"c1","type":"ok","f":"acquire","key":"k","grant":"c1.7","permits":1000000000,"mode":"shared"}` + "\n"))
	f.Fuzz(func(t *testing.T, text []byte) { forms[0].bounded(t, text, nil) })
}

func FuzzMemoryCSV(f *testing.F) {
	f.Add(csvOf(f, numbered([]int64{64, 192, 448, 960, 1984})))
	f.Fuzz(func(t *testing.T, text []byte) { forms[1].bounded(t, text, nil) })
}

func FuzzMemorySpans(f *testing.F) {
	f.Add(spansOf([]int64{64, 192, 448}))
	f.Add(spansOf([]int64{1 << 62}))
	f.Fuzz(func(t *testing.T, text []byte) { forms[2].bounded(t, text, nil) })
}
