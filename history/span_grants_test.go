package history

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestSpanGrants: which grant a span is about that names none, and which is about none that the trace shows.
func TestSpanGrants(t *testing.T) {
	for name, tc := range map[string]struct {
		ops  string // each a name, and attributes
		want string // the operations with their grants, by their ends
		lost int    // passed over
	}{
		"one after the other":          {"acquire; release; acquire; release", "acquire c.1; release c.1; acquire c.2; release c.2", 0},
		"an entry":                     {"acquire; acquire mode=nested; write; release; write; release", "acquire c.1; acquire c.2; write c.2; release c.2; write c.1; release c.1", 0},
		"permits":                      {"acquire permits=2; acquire permits=2; release; release", "acquire c.1; acquire c.2; release c.2; release c.1", 0},
		"shares":                       {"acquire mode=shared; acquire mode=shared; release; release", "acquire c.1; acquire c.2; release c.2; release c.1", 0},
		"a share of what it had":       {"acquire; acquire mode=downgrade; release; release", "acquire c.1; acquire c.2; release c.2; release c.2", 0},
		"anew":                         {"acquire; acquire; release; release", "acquire c.1; acquire c.2; release c.2; release c.2", 0},
		"two keys":                     {"acquire; acquire key=other; release key=; release key=", "acquire c.1; acquire c.2; release c.2; release c.1", 0},
		"two keys by name":             {"acquire; acquire key=other; release; release", "acquire c.1; acquire c.2; release c.1; release c.1", 0},
		"a release that failed":        {"acquire; acquire mode=nested; release type=fail; release; release", "acquire c.1; acquire c.2; release c.2; release c.2; release c.1", 0},
		"one that found nothing":       {"acquire; acquire mode=nested; release type=fail not_held=true; release", "acquire c.1; acquire c.2; release c.2; release c.1", 0},
		"one that may have":            {"acquire; acquire mode=nested; release type=info; release", "acquire c.1; acquire c.2; release c.2; release c.1", 0},
		"a grant by name":              {"acquire; acquire mode=nested; release grant=c.2; release", "acquire c.1; acquire c.2; release c.2; release c.1", 0},
		"after its release":            {"acquire; release; write", "acquire c.1; release c.1; write c.1", 0},
		"without a lock":               {"write; read", "write ; read ", 0},
		"after a refusal":              {"acquire; release; acquire type=fail; write; release", "acquire c.1; release c.1; acquire ", 2},
		"after a first refusal":        {"acquire type=fail; write", "acquire ", 1},
		"an entry that is refused":     {"acquire; acquire mode=nested type=fail; write; release", "acquire c.1; acquire ; write c.1; release c.1", 0},
		"after an unknown acquire":     {"acquire; acquire type=info; write; holds; release", "acquire c.1; acquire ; release c.1", 2},
		"after an unknown and another": {"acquire type=info; acquire; write; release", "acquire ; acquire c.1; write c.1; release c.1", 0},
	} {
		t.Run(name, func(t *testing.T) {
			var spans []string
			for i, op := range strings.Split(tc.ops, "; ") {
				words := strings.Fields(op)
				attributes := map[string]string{"process": "c", "key": "k"}
				if words[0] == "write" {
					attributes["value"] = fmt.Sprint(i)
				}
				for _, w := range words[1:] {
					k, v, _ := strings.Cut(w, "=")
					attributes[k] = v
				}
				var list []string
				for k, v := range attributes {
					if v != "" {
						list = append(list, fmt.Sprintf(`{"key":%q,"value":{"stringValue":%q}}`, k, v))
					}
				}
				spans = append(spans, fmt.Sprintf(`{"name":%q,"startTimeUnixNano":"%d","endTimeUnixNano":"%d","attributes":[%s]}`, words[0], 10+10*i, 15+10*i, strings.Join(list, ",")))
			}
			var notes, got []string
			events, err := eventsIn(t, document(spans...), Source{Spans: true, Note: func(what string) { notes = append(notes, what) }})
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range events {
				if e.Type != Invoke {
					got = append(got, e.F+" "+e.Grant)
				}
			}
			if text := strings.Join(got, "; "); text != tc.want {
				t.Errorf("%s, want\n%s", text, tc.want)
			}
			want := fmt.Sprintf("h: passed over operations without a grant that the trace shows: %d", tc.lost)
			if slices.Contains(notes, want) != (tc.lost > 0) || tc.lost == 0 && len(notes) > 0 {
				t.Errorf("%q, want %q", notes, want)
			}
		})
	}
}

// TestSpanOutcomes: what a span without a type is.
func TestSpanOutcomes(t *testing.T) {
	for name, tc := range map[string]struct {
		f, attribute, status string
		want                 Type
		notHeld              bool
	}{
		"nothing":                     {"acquire", "", "", OK, false},
		"an error's status":           {"acquire", "", `"code":2`, Info, false},
		"an error":                    {"acquire", `"error","value":{"stringValue":"locked"}`, "", Info, false},
		"an error, and all is well":   {"acquire", `"error","value":{"stringValue":"locked"}`, `"code":"STATUS_CODE_OK"`, OK, false},
		"cancelled":                   {"acquire", `"cancelled","value":{"boolValue":true}`, "", Fail, false},
		"its client failed":           {"acquire", `"client_failed","value":{"boolValue":true}`, "", Fail, false},
		"not held":                    {"renew", `"not_held","value":{"boolValue":true}`, "", Fail, true},
		"not held, and all is well":   {"release", `"not_held","value":{"boolValue":true}`, `"code":1`, Fail, true},
		"not held, and an error":      {"release", `"not_held","value":{"boolValue":true}`, `"code":2`, Fail, true},
		"not held, as it was asked":   {"holds", `"not_held","value":{"boolValue":true}`, "", OK, true},
		"not held, and it may not be": {"release", `"not_held","value":{"boolValue":false}`, "", OK, false},
	} {
		t.Run(name, func(t *testing.T) {
			attributes := `{"key":"process","value":{"stringValue":"c"}},{"key":"key","value":{"stringValue":"k"}}`
			acquire := `{"name":"acquire","startTimeUnixNano":"1","endTimeUnixNano":"2","attributes":[` + attributes + `]}`
			if tc.attribute != "" {
				attributes += `,{"key":` + tc.attribute + `}`
			}
			events, err := eventsIn(t, document(acquire, fmt.Sprintf(`{"name":%q,"startTimeUnixNano":"3","endTimeUnixNano":"4","attributes":[%s],"status":{%s}}`, tc.f, attributes, tc.status)), Source{Spans: true})
			if err != nil || len(events) != 4 {
				t.Fatalf("%+v, %v", events, err)
			}
			if e := events[3]; e.Type != tc.want || e.NotHeld != tc.notHeld {
				t.Errorf("%+v", e)
			}
		})
	}
}
