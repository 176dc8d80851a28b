package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// trace writes a trace and returns it as a source.
func trace(t interface {
	Helper()
	Fatal(...any)
}, dir, text string, as map[string]string) Source {
	t.Helper()
	path := filepath.Join(dir, "h.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return Source{Path: path, Name: "h", Spans: true, Columns: as}
}

// document is a request with these spans, of a resource that says whose they are.
func document(spans ...string) string {
	return `{"resourceSpans":[{"resource":{"attributes":[{"key":"service.instance.id","value":{"stringValue":"c1"}}]},"scopeSpans":[{"scope":{"name":"locks"},"spans":[` +
		strings.Join(spans, ",") + `]}]}]}`
}

func eventsOf(t *testing.T, s Source) []Event {
	t.Helper()
	var out []Event
	if err := s.Stream(func(e *Event) error { out = append(out, *e); return nil }); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestSpans: what each kind of span becomes.
func TestSpans(t *testing.T) {
	const acquire = `{"traceId":"5b8efff798038103d269b633813fc60c","spanId":"eee19b7ec3c1b174","name":"acquire","startTimeUnixNano":"1700000000000000100","endTimeUnixNano":"1700000000000000200",
 "attributes":[{"key":"key","value":{"stringValue":"k0"}},{"key":"token","value":{"intValue":"7"}},{"key":"lease","value":{"intValue":1000}}],"status":{}}`
	const release = `{"spanId":"eee19b7ec3c1b175","name":"release","startTimeUnixNano":1700000000000000300,"endTimeUnixNano":1700000000000000400,"attributes":[{"key":"held","value":{"boolValue":true}}]}`
	asked := Event{Process: "c1", Type: Invoke, F: Acquire, Key: "k0", Detail: "span eee19b7ec3c1b174"}
	granted := Event{Index: 1, Time: 100, Process: "c1", Type: OK, F: Acquire, Key: "k0", Grant: "c1.1", Token: 7, Lease: 1000, Detail: "span eee19b7ec3c1b174"}
	returns := Event{Index: 2, Time: 200, Process: "c1", Type: Invoke, F: Release, Grant: "c1.1", Detail: "span eee19b7ec3c1b175"}
	returned := Event{Index: 3, Time: 300, Process: "c1", Type: OK, F: Release, Grant: "c1.1", Held: true, Detail: "span eee19b7ec3c1b175"}
	all := []Event{asked, granted, returns, returned}
	with := func(e Event, change func(*Event)) Event { change(&e); return e }
	for name, tc := range map[string]struct {
		text string
		as   map[string]string
		want []Event
	}{
		"a document":          {text: document(acquire, release), want: all},
		"the wrong way round": {text: document(release, acquire), want: all},
		"a document a line":   {text: document(acquire) + "\n" + document(release) + "\n", want: all},
		"indented":            {text: indented(t, document(acquire, release)), want: all},
		"others between":      {text: document(acquire, `{"name":"GET /","startTimeUnixNano":"1","endTimeUnixNano":"2","attributes":[{"key":"process","value":{"arrayValue":{}}}],"events":[{"name":"x"}]}`, release), want: all},
		"the resource last":   {text: `{"resourceSpans":[{"scopeSpans":[{"spans":[` + acquire + "," + release + `]}],"resource":{"attributes":[{"value":{"stringValue":"c1"},"key":"service.instance.id"}]}}]}`, want: all},
		"empty lists":         {text: `{"resourceSpans":[]}{"resourceSpans":null}` + document() + document(acquire, release), want: all},
		"names of others": {
			text: strings.NewReplacer(`"name":"acquire"`, `"name":"tryLock"`, `"release"`, `"redis unlock"`, `"key":"key"`, `"key":"lock.name"`, `"key":"lease","value":{"intValue":1000}`, `"key":"ttl","value":{"doubleValue":0.001}`).Replace(document(acquire, release)),
			as:   map[string]string{"acquire": "lock|tryLock", "release": "redis unlock", "key": "lock.name", "lease": "ttl/ms"}, want: all},
		"who by two attributes": {
			text: document(strings.Replace(acquire, `"attributes":[`, `"attributes":[{"key":"thread.id","value":{"intValue":"9"}},`, 1)),
			as:   map[string]string{"process": "service.instance.id+thread.id"},
			want: []Event{with(asked, func(e *Event) { e.Process = "c1/9" }), with(granted, func(e *Event) { e.Process, e.Grant = "c1/9", "c1/9.1" })}},
		"the name of the span is the key": {text: document(strings.Replace(acquire, `"key":"key"`, `"key":"none"`, 1)), as: map[string]string{"key": SpanName, "acquire": "acquire"},
			want: []Event{with(asked, func(e *Event) { e.Key = "acquire" }), with(granted, func(e *Event) { e.Key = "acquire" })}},
		"failed, perhaps after it took effect": {text: document(strings.Replace(acquire, `"status":{}`, `"status":{"code":2,"message":"i/o \u0074imeout"}`, 1)),
			want: []Event{asked, {Index: 1, Time: 100, Process: "c1", Type: Info, F: Acquire, Key: "k0", Error: "i/o timeout", Detail: "span eee19b7ec3c1b174"}}},
		"certainly failed": {text: document(strings.Replace(acquire, `"attributes":[`, `"attributes":[{"key":"acquired","value":{"boolValue":false}},`, 1)), as: map[string]string{"type": "acquired"},
			want: []Event{asked, {Index: 1, Time: 100, Process: "c1", Type: Fail, F: Acquire, Key: "k0", Detail: "span eee19b7ec3c1b174"}}},
		"never ended": {text: document(strings.Replace(acquire, `"endTimeUnixNano":"1700000000000000200"`, `"endTimeUnixNano":"0"`, 1)), want: []Event{asked}},
		"from before the trace": {text: document(release, strings.NewReplacer("100\"", "900\"", "200\"", "999\"").Replace(acquire)),
			want: []Event{with(asked, func(e *Event) { e.Time = 600 }), with(granted, func(e *Event) { e.Time, e.Since = 699, 600 })}},
		"a fault": {text: document(`{"name":"pause","startTimeUnixNano":"5","endTimeUnixNano":"9","attributes":[{"key":"process","value":{"stringValue":"nemesis"}},{"key":"nodes","value":{"arrayValue":{"values":[{"stringValue":"c1"},{"stringValue":"c2"}]}}},{"key":"confirmed","value":{"boolValue":true}},{"key":"fault","value":{"stringValue":"pause: c1, c2"}}]}`),
			want: []Event{{Process: Nemesis, Type: Info, F: "pause", Nodes: []string{"c1", "c2"}, Phase: Begin, Confirmed: true, Fault: "pause: c1, c2"}, {Index: 1, Time: 4, Process: Nemesis, Type: Info, F: "pause", Nodes: []string{"c1", "c2"}, Phase: End}}},
	} {
		t.Run(name, func(t *testing.T) {
			got := eventsOf(t, trace(t, t.TempDir(), tc.text, tc.as))
			if !reflect.DeepEqual(got, tc.want) {
				t.Errorf("%+v, want\n%+v", got, tc.want)
			}
			if !IsSpans([]byte(tc.text)) {
				t.Error("not taken for a trace")
			}
		})
	}
}

func indented(t *testing.T, text string) string {
	t.Helper()
	var out bytes.Buffer
	if err := json.Indent(&out, []byte(text), "", "\t"); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestSpansErrors name the file and the line, the span, and what to do.
func TestSpansErrors(t *testing.T) {
	good := `{"spanId":"a1","name":"acquire","startTimeUnixNano":"10","endTimeUnixNano":"20","attributes":[{"key":"key","value":{"stringValue":"k0"}}]}`
	for name, tc := range map[string]struct {
		text string
		as   map[string]string
		want string
		maps bool // it is about how the spans are mapped
	}{
		"right":              {text: document(good)},
		"no lock":            {text: document(strings.Replace(good, "acquire", "GET /x", 1)), want: `they are named "GET /x": say which is what`, maps: true},
		"no key":             {text: document(strings.Replace(good, `"key":"key"`, `"key":"lock"`, 1)), want: `h:1: span "a1": the spans do not make events: which lock`, maps: true},
		"nobody":             {text: strings.Replace(document(good), "service.instance.id", "host", 1), want: "who did it is not said", maps: true},
		"not in the mapping": {text: document(good), as: map[string]string{"process": "thread"}, want: "who did it is not said", maps: true},
		"two of one name":    {text: document(good), as: map[string]string{"acquire": "lock", "release": "unlock|lock"}, want: "would be of acquire and of release", maps: true},
		"too many parts":     {text: document(good), as: map[string]string{"process": "a+b+c+d+e"}, want: "of 4 at most", maps: true},
		"backwards":          {text: document(strings.Replace(good, `"20"`, `"3"`, 1)), want: "ends 7 ns before it begins"},
		"no start":           {text: document(strings.Replace(good, `"10"`, `"0"`, 1)), want: "without startTimeUnixNano"},
		"no time":            {text: document(strings.Replace(good, `"10"`, `"soon"`, 1)), want: "not a span in OTLP's JSON form"},
		"no token":           {text: document(strings.Replace(good, `"key","value":{"stringValue":"k0"}`, `"token","value":{"stringValue":"high"}`, 1)), want: `for token: "high" is no number`},
		"half a token":       {text: document(strings.Replace(good, `"key","value":{"stringValue":"k0"}`, `"token","value":{"doubleValue":1.5}`, 1)), want: `for token: "1.5" is no number`},
		"no outcome":         {text: document(strings.Replace(good, `"key":"key"`, `"key":"type","value":{"stringValue":"fine"}},{"key":"key"`, 1)), want: `for type: "fine": want ok`},
		"a key of lists":     {text: document(strings.Replace(good, `{"stringValue":"k0"}`, `{"kvlistValue":{"values":[]}}`, 1)), want: "for key: it is neither"},
		"an escape":          {text: document(strings.Replace(good, `"k0"`, `"\x"`, 1)), want: "h:1: "},
		"cut off":            {text: document(good) + "\n" + document(good)[:200], want: "h:2: not a trace in OTLP's JSON form: want an object with resourceSpans: it ends in the middle"},
		"a comma":            {text: document(good, "\n,", good), want: "h:2: "},
		"other things":       {text: `{"resourceSpans":{}}`, want: "found '{' where '[' should be"},
		"on the second line": {text: document(good) + "\n" + strings.Replace(document(good), `"10"`, `"x"`, 1), want: "h:2: "},
		"after a comma":      {text: document(good, "\n \n"+strings.Replace(good, `"10"`, `"x"`, 1)), want: "h:3: "},
		"a name of numbers":  {text: document(good, "\n"+strings.Replace(good, `"acquire"`, `5`, 1)), want: `h:2: span "a1": not a span in OTLP's JSON form`},
		"too long":           {text: document(good, `{"name":"`+strings.Repeat("x", maxLine+1<<18)+`"}`), want: "h:1: a value longer than 16777216 bytes"},
		"too long, and ours": {text: `{"resourceSpans":[],"more":[` + strings.Repeat("1,", maxLine) + "1]}", want: "h:1: a value longer than"},
		"contradiction":      {text: document(good, strings.NewReplacer(`"10"`, `"15"`, `"20"`, `"17"`).Replace(good)), want: "h:1: process \"c1\" begins acquire before its earlier acquire is over: a process does one thing at a time: name it by its threads, too, as with --map process=service.instance.id+thread.id"},
		"too late":           {text: document(good, strings.NewReplacer(`"10"`, `"4000000000000000000"`, `"20"`, `"4000000000000000000"`, "a1", "a2").Replace(good)), want: "h:1: time 3999999999999999990 is beyond 2305843009213693951 (73 years)"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := trace(t, t.TempDir(), tc.text, tc.as).Events()
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v, want %q", err, tc.want)
			}
			if errors.Is(err, ErrSpans) != tc.maps {
				t.Errorf("%v is about the mapping: %v, want %v", err, !tc.maps, tc.maps)
			}
		})
	}
}

// TestZippedSpans: a trace can be a gzip file, and one that is cut off is an error.
func TestZippedSpans(t *testing.T) {
	var all []string
	for i := range 400 {
		all = append(all, fmt.Sprintf(`{"spanId":"%d","name":"read","startTimeUnixNano":"%d","endTimeUnixNano":"%d","attributes":[{"key":"key","value":{"stringValue":"k0"}}]}`, i, 10*i+10, 10*i+15))
	}
	whole := string(zipped(t, document(all...)))
	if events, err := trace(t, t.TempDir(), whole, nil).Events(); err != nil || len(events) != 2*len(all) {
		t.Errorf("%d events: %v", len(events), err)
	}
	if _, err := trace(t, t.TempDir(), whole[:len(whole)-20], nil).Events(); err == nil || !strings.Contains(err.Error(), "h:1: decompress: the gzip file is cut off") {
		t.Error(err)
	}
}

// TestScaled: times of any unit become nanoseconds, exactly, or rounded down.
func TestScaled(t *testing.T) {
	for _, tc := range []struct {
		text   string
		digits int
		want   int64
		bad    bool
	}{
		{text: "12", digits: 6, want: 12e6}, {text: "0.5", digits: 9, want: 5e8}, {text: "1.23456789", digits: 3, want: 1234}, {text: "-1.5", want: -2},
		{text: "-1.5", digits: 3, want: -1500}, {text: "3e4", digits: 6, want: 3e10}, {text: "1.7e9", digits: 9, bad: true}, {text: "1700000000123456789", want: 1700000000123456789},
		{text: "9999999999", digits: 9, bad: true}, {text: ".5", bad: true}, {text: "1.x", bad: true}, {text: "", bad: true},
	} {
		got, ok := scaled(tc.text, tc.digits, true)
		if ok == tc.bad || ok && got != tc.want {
			t.Errorf("%s with %d digits: %d, %v, want %d", tc.text, tc.digits, got, ok, tc.want)
		}
	}
}

// TestSpansInAnyOrder: whatever the order of the spans and however the trace is cut into
// documents and resources, it is the same history.
func TestSpansInAnyOrder(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		var spans []string
		owner := []string{}
		for c := range rapid.IntRange(1, 4).Draw(t, "clients") {
			now := int64(1000)
			for i := range rapid.IntRange(0, 6).Draw(t, "operations") {
				start := now + rapid.Int64Range(0, 3).Draw(t, "pause")
				takes := rapid.Int64Range(0, 3).Draw(t, "takes")
				if takes == 0 {
					start++ // of several that begin and end in one instant nothing tells the order
				}
				now = start + takes
				name := []string{"acquire", "release"}[i%2]
				spans = append(spans, fmt.Sprintf(`{"name":"%s","startTimeUnixNano":"%d","endTimeUnixNano":"%d","attributes":[{"key":"key","value":{"stringValue":"k"}},{"key":"token","value":{"intValue":"%d"}}]}`, name, start, now, i+1))
				owner = append(owner, "c"+strconv.Itoa(c))
			}
		}
		write := func(order []int) string {
			var b strings.Builder
			for _, i := range order {
				fmt.Fprintf(&b, `{"resourceSpans":[{"resource":{"attributes":[{"key":"service.instance.id","value":{"stringValue":"%s"}}]},"scopeSpans":[{"spans":[%s]}]}]}`+"\n", owner[i], spans[i])
			}
			return b.String()
		}
		var first []int
		for i := range spans {
			first = append(first, i)
		}
		read := func(order []int) []Event {
			events, err := trace(t, dir, write(order), nil).Events()
			if err != nil {
				t.Fatalf("%v\n%s", err, write(order))
			}
			by := map[string][]Event{}
			for _, e := range events { // those of one instant and of several clients come in any order
				e.Index = 0
				by[e.Process] = append(by[e.Process], e)
			}
			var out []Event
			for c := range 4 {
				out = append(out, by["c"+strconv.Itoa(c)]...)
			}
			return out
		}
		if len(spans) == 0 {
			return
		}
		want, got := read(first), read(rapid.Permutation(first).Draw(t, "order"))
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%+v, want\n%+v", got, want)
		}
	})
}

// FuzzSpans: whatever a trace holds, reading it ends, without a panic.
func FuzzSpans(f *testing.F) {
	f.Add([]byte(document(`{"name":"acquire","startTimeUnixNano":"1","endTimeUnixNano":"2","attributes":[{"key":"key","value":{"stringValue":"k"}}],"status":{"code":2}}`)))
	f.Add([]byte(`{"resourceSpans":[{"scopeSpans":[{"spans":[{},null]}],"resource":{}}]}`))
	f.Add([]byte(`{"resourceSpans":[{"scopeSpans":[{"spans":[{"name":"lost","startTimeUnixNano":1e3,"attributes":[{"value":{"arrayValue":[]},"key":"nodes"}]}]}]}]} x`))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text []byte) {
		events, err := trace(t, dir, string(text), nil).Events()
		if err != nil {
			return
		}
		for i := range events {
			if events[i].Index != int64(i) || i > 0 && events[i].Time < events[i-1].Time {
				t.Fatalf("event %d is %+v", i, events[i])
			}
		}
	})
}

// What is passed over is counted by operations: a release of what another outcome than a grant gave.
func TestSpansPassedOver(t *testing.T) {
	attributes := `"attributes":[{"key":"process","value":{"stringValue":"c1"}},{"key":"key","value":{"stringValue":"k"}}]`
	acquire := `{"name":"acquire","startTimeUnixNano":"5","endTimeUnixNano":"6","status":{"code":2},` + attributes + `}`
	release := `{"name":"release","startTimeUnixNano":"7","endTimeUnixNano":"8",` + attributes + `}`
	var notes []string
	_, err := eventsIn(t, document(acquire, release), Source{Spans: true, Note: func(what string) { notes = append(notes, what) }})
	if want := []string{"h: passed over operations without a grant that the trace shows: 1"}; err != nil || !slices.Equal(notes, want) {
		t.Errorf("%q, %v, want %q", notes, err, want)
	}
}
