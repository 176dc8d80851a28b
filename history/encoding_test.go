package history

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// eventsIn reads a file that holds the text.
func eventsIn(t *testing.T, text string, in Source) ([]Event, error) {
	t.Helper()
	in.Path, in.Name = filepath.Join(t.TempDir(), "history"), "h"
	if err := os.WriteFile(in.Path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return in.Events()
}

// What is no UTF-8 is refused with its line, wherever it stands; a mark before UTF-8 is no text.
func TestEncoding(t *testing.T) {
	const first = `{"index":0,"time":1,"process":"c1","type":"invoke","f":"acquire","key":"k"}` + "\n"
	second := func(rest string) string {
		return first + `{"index":1,"time":2,"process":"c1","type":"info","f":"acquire"` + rest + "}\n"
	}
	span := document(`{"name":"acquire","startTimeUnixNano":"5","attributes":[{"key":"process","value":{"stringValue":"c1"}},{"key":"key","value":{"stringValue":"KEY"}}]}`)
	const utf8Wanted, halfWanted = "bytes that are no UTF-8: save the file as UTF-8", "half a character"
	for name, tt := range map[string]struct {
		text string
		in   Source
		want string
	}{
		"UTF-8":                     {text: second(`,"key":"k","host":"ä\ud83d\ude00\\ud800","error":"\u00e4\ufffd"`)},
		"a mark":                    {text: "\ufeff" + first},
		"bytes":                     {text: second(",\"key\":\"\xff\""), want: "h:2: " + utf8Wanted},
		"bytes of another member":   {text: second(",\"host\":[{\"\xff\":1}]"), want: "h:2: " + utf8Wanted},
		"bytes of a member's name":  {text: second(",\"\xff\":1"), want: "h:2: " + utf8Wanted},
		"bytes outside of a string": {text: first + "\xe4\n", want: "h:2: " + utf8Wanted},
		"first half":                {text: second(`,"key":"\ud800"`), want: "h:2: " + halfWanted},
		"second half":               {text: second(`,"key":"\udc00x"`), want: "h:2: " + halfWanted},
		"two first halves":          {text: second(`,"key":"\ud800\ud801"`), want: "h:2: " + halfWanted},
		"half, and an escape":       {text: second(`,"error":"\ud800\n"`), want: "h:2: " + halfWanted},
		"half, and no escape":       {text: second(`,"error":"\ud800udc00"`), want: "h:2: " + halfWanted},
		"half of another member":    {text: second(`,"host":{"a":"\uDBFF"}`), want: "h:2: " + halfWanted},
		"cut off in a character":    {text: first + "{\"index\":1,\"key\":\"\xc3"},
		"cut off in two halves":     {text: first + `{"index":1,"key":"\ud83d`},
		"UTF-16":                    {text: "\xff\xfe{\x00\"\x00", want: "h:1: the file is UTF-16: save it as UTF-8"},
		"UTF-16, big end first":     {text: "\xfe\xff\x00{\x00\"", want: "h:1: the file is UTF-16"},
		"UTF-16 without a mark":     {text: "{\x00\"\x00", want: "h:1: the file is UTF-16"},
		"a trace":                   {text: "\ufeff" + strings.Replace(span, "KEY", `ä\ud83d\ude00`, 1), in: Source{Spans: true}},
		"bytes of a trace":          {text: strings.Replace(span, "KEY", "\xff", 1), in: Source{Spans: true}, want: "h:1: " + utf8Wanted},
		"half of a trace":           {text: strings.Replace(span, "KEY", `\ud800`, 1), in: Source{Spans: true}, want: "h:1: " + halfWanted},
	} {
		t.Run(name, func(t *testing.T) {
			events, err := eventsIn(t, tt.text, tt.in)
			switch {
			case tt.want == "" && (err != nil || len(events) == 0):
				t.Errorf("%d events, %v", len(events), err)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
	const effect = `{"seq":1,"process":"c1","f":"write","key":"KEY","version":1}` + "\n"
	for _, key := range []string{"\xff", `\ud800`} {
		err := StreamEffects(strings.NewReader(strings.Replace(effect, "KEY", key, 1)), "r", func(*Effect) error { return nil })
		if err == nil || !strings.HasPrefix(err.Error(), "r:1: ") {
			t.Errorf("a log with %q: %v", key, err)
		}
	}
}

// Members are matched exactly: what differs in its case alone is another's, and passed over.
func TestMembersAreExact(t *testing.T) {
	const ok = `"index":0,"time":2,"process":"c1","type":"ok","f":"acquire","key":"k","grant":"c1.1","token":5,"lease":7`
	const others = `"Token":9,"LEASE":8,"Time":1,"key\u017f":"x","\u017fince":3,"proce\u017fs":"c2","HELD":"no"`
	for name, line := range map[string]string{
		"fast":             "{" + ok + "," + others + "}",
		"by encoding/json": "{" + others + "," + strings.Replace(ok, `"token":5`, `"t\u006fken":5,"deep":`+strings.Repeat("[", maxDepth+1)+strings.Repeat("]", maxDepth+1), 1) + "}",
	} {
		t.Run(name, func(t *testing.T) {
			err := Stream(strings.NewReader(line+"\n"), "h", func(e *Event, _ int) error {
				if e.Token != 5 || e.Lease != 7 || e.Time != 2 || e.Process != "c1" || e.Since != 0 || e.Held {
					t.Errorf("%+v", *e)
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	err := StreamEffects(strings.NewReader(`{"seq":1,"process":"c1","f":"write","key":"k","version":1,"Token":9,"KEY":2}`+"\n"), "r", func(e *Effect) error {
		if e.Token != 0 || e.Key != "k" {
			t.Errorf("%+v", *e)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	events, err := eventsIn(t, document(`{"name":"acquire","Name":"release","startTimeUnixNano":"5","attributes":[{"key":"process","value":{"stringValue":"c1","StringValue":"c2"}},{"key":"key","Key":"token","value":{"stringValue":"k"}}],"ATTRIBUTES":7}`), Source{Spans: true})
	if err != nil || len(events) != 1 || events[0].F != Acquire || events[0].Process != "c1" || events[0].Key != "k" {
		t.Errorf("a trace: %+v, %v", events, err)
	}
}
