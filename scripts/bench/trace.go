package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"strings"
)

// epoch is when the traces begin.
const epoch = 1_700_000_000_000_000_000

// batch is how many spans a collector exports in one request.
const batch = 1000

// tracer writes events as spans of OpenTelemetry's, one request a line, as a collector
// does: a span when it has ended, with the attributes of its operation.
type tracer struct {
	w     *bufio.Writer
	open  map[string]map[string]json.RawMessage // the invoke of each process's operation
	spans int
}

func (t *tracer) event(line []byte) {
	var e map[string]json.RawMessage
	if err := json.Unmarshal(line, &e); err != nil {
		panic(err) // we have written it
	}
	process := string(e["process"])
	if string(e["type"]) == `"invoke"` {
		t.open[process] = e
		return
	}
	asked := t.open[process]
	if asked == nil {
		asked = e // the history begins in the middle of it
	}
	delete(t.open, process)
	t.span(asked, e)
}

func (t *tracer) span(asked, e map[string]json.RawMessage) {
	switch {
	case t.spans%batch > 0:
		t.print(",")
	case t.spans > 0:
		t.print("]}]}]}\n")
	}
	if t.spans%batch == 0 {
		t.print(`{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"locks"}}]},"scopeSpans":[{"scope":{"name":"locks"},"spans":[`)
	}
	t.spans++
	var at, until int64
	_ = json.Unmarshal(asked["time"], &at) // our own numbers
	_ = json.Unmarshal(e["time"], &until)
	t.print(`{"traceId":"%032x","spanId":"%016x","parentSpanId":"","name":%s,"kind":3,"startTimeUnixNano":"%d","endTimeUnixNano":"%d","attributes":[{"key":"process","value":{"stringValue":%s}}`,
		t.spans, t.spans, e["f"], epoch+at, epoch+until, e["process"])
	for _, name := range []string{"key", "grant", "token", "since", "lease", "held", "type"} {
		value, ok := e[name]
		if !ok {
			continue
		}
		switch {
		case name == "since":
			var n int64
			_ = json.Unmarshal(value, &n)
			t.print(`,{"key":"since","value":{"intValue":"%d"}}`, epoch+n)
		case string(value) == "true" || string(value) == "false":
			t.print(`,{"key":"%s","value":{"boolValue":%s}}`, name, value)
		case strings.HasPrefix(string(value), `"`):
			t.print(`,{"key":"%s","value":{"stringValue":%s}}`, name, value)
		default:
			t.print(`,{"key":"%s","value":{"intValue":"%s"}}`, name, value)
		}
	}
	t.print(`],"status":{}}`)
}

func (t *tracer) end() { t.print("]}]}]}\n") }

func (t *tracer) print(format string, args ...any) { _, _ = fmt.Fprintf(t.w, format, args...) }
