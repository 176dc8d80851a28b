package history

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// FuzzDecode: whatever a history file holds, it is refused with its name and line,
// or its events are valid, ordered, and survive being written and read again.
func FuzzDecode(f *testing.F) {
	const invoke = `{"index":0,"time":1,"process":"c1","type":"invoke","f":"acquire","key":"k0"}` + "\n"
	for _, text := range []string{
		"", "\n", invoke, invoke + invoke, invoke + `{"index":1,"time":2,"proc`, invoke + "{}\n",
		`{"index":1,"time":2,"process":"c1","type":"ok","f":"acquire","grant":"c1.1","token":-3,"since":9,"lease":9223372036854775807,"held":true}` + "\n" + invoke,
		`{"index":7,"time":26,"process":"nemesis","type":"info","f":"pause","nodes":["c1","s\u0000"],"phase":"begin","confirmed":true}` + "\r\n",
		`{"index":-1,"time":0,"process":"c1","type":"ok","f":"read"}` + "\n", invoke + "\x00\n",
		invoke + `{"index":1,"time":2,"process":"c1","type":"invoke","f":"unlock","key":"k0"}` + "\n",
		invoke + `{"index":1,"time":2,"process":"c1","type":"ok","f":"acquire","key":"k0","grant":"c1.1"}` + "\n" + `{"index":2,"time":3,"process":"c2","type":"invoke","f":"write","grant":"c1.1","value":"c1.1.1"}` + "\n",
		`{"index":0,"time":9,"process":"c1","type":"ok","f":"acquire","grant":"c1.1"}` + "\n" + `{"index":1,"time":3,"process":"c1","type":"invoke","f":"acquire"}` + "\n",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		events, err := Decode(bytes.NewReader(text), "h")
		if err != nil {
			if !strings.HasPrefix(err.Error(), "h:") {
				t.Fatalf("no file: %v", err)
			}
			return
		}
		if !slices.IsSortedFunc(events, byTime) {
			t.Fatal("not in order")
		}
		var out bytes.Buffer
		enc := json.NewEncoder(&out)
		for i := range events {
			if err := validEvent(&events[i]); err != nil {
				t.Fatalf("event %d: %v", i, err)
			}
			if err := enc.Encode(&events[i]); err != nil {
				t.Fatal(err)
			}
		}
		again, err := Decode(&out, "again")
		if err != nil || !reflect.DeepEqual(again, events) {
			t.Fatalf("%+v\nread again %+v, %v", events, again, err)
		}
	})
}

// FuzzDecodeEffects is FuzzDecode for the register's log.
func FuzzDecodeEffects(f *testing.F) {
	const write = `{"seq":1,"time":5,"process":"c1","f":"write","key":"k0","grant":"c1.1","value":"a","version":1,"highest":33}` + "\n"
	for _, text := range []string{
		"", write, write + write, write + `{"seq":2,"process":"c1","f":"add","key":"k0","value":"b","parent":"a","error":"no"}` + "\n",
		write + `{"seq":2,"process":"c1","f":"erase","key":"k0"}` + "\n", write + `{"seq":3`, `{"seq":-1,"process":"c1","f":"read","key":"k0"}` + "\n",
	} {
		f.Add([]byte(text))
	}
	read := func(text []byte, name string) (out []Effect, err error) {
		err = StreamEffects(bytes.NewReader(text), name, func(e *Effect) error {
			out = append(out, *e)
			return nil
		})
		return out, err
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		effects, err := read(text, "r")
		if err != nil {
			if !strings.HasPrefix(err.Error(), "r:") {
				t.Fatalf("no file: %v", err)
			}
			return
		}
		var out bytes.Buffer
		enc := json.NewEncoder(&out)
		last := int64(0)
		for i := range effects {
			if effects[i].Seq <= last {
				t.Fatalf("sequence number %d after %d", effects[i].Seq, last)
			}
			last = effects[i].Seq
			if err := enc.Encode(&effects[i]); err != nil {
				t.Fatal(err)
			}
		}
		if again, err := read(out.Bytes(), "again"); err != nil || !reflect.DeepEqual(again, effects) {
			t.Fatalf("%+v\nread again %+v, %v", effects, again, err)
		}
	})
}
