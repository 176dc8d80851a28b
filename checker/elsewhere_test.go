package checker

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/picklock/picklock/history"
)

// asCSV writes events as a table with named columns.
func asCSV(events []history.Event) string {
	var b strings.Builder
	w := csv.NewWriter(&b)
	columns := history.Members()
	_ = w.Write(columns) // to memory
	for _, e := range events {
		text, _ := json.Marshal(e) // can be written
		var members map[string]any
		d := json.NewDecoder(strings.NewReader(string(text)))
		d.UseNumber()
		_ = d.Decode(&members) // was just written
		row := make([]string, len(columns))
		for i, c := range columns {
			switch v := members[c].(type) {
			case nil:
			case []any:
				for _, word := range v {
					row[i] += fmt.Sprint(word, " ")
				}
			default:
				row[i] = fmt.Sprint(v)
			}
		}
		_ = w.Write(row)
	}
	w.Flush()
	return b.String()
}

// epoch is when the traces of these tests begin.
const epoch = 1_700_000_000_000_000_000

// asTrace writes events as OTLP spans, each of a resource of its own, in the order in
// which they end, as an exporter would.
func asTrace(events []history.Event) string {
	type open struct {
		at   history.Event
		used bool
	}
	var waiting []*open
	var out []string
	interval := func(from history.Event, to *history.Event) {
		said, end := from, int64(0)
		if to != nil {
			said, end = *to, epoch+to.Time
		}
		if said.Key == "" {
			said.Key = from.Key
		}
		if said.Value == "" {
			said.Value = from.Value
		}
		var attributes []string
		add := func(key, kind, value string) {
			text, _ := json.Marshal(value)
			if kind == "boolValue" {
				text = []byte(value)
			}
			attributes = append(attributes, fmt.Sprintf(`{"key":"%s","value":{"%s":%s}}`, key, kind, text))
		}
		for name, text := range map[string]string{"key": said.Key, "grant": said.Grant, "value": said.Value, "mode": said.Mode, "error": said.Error, "process": from.Process, "detail": from.Detail, "fault": from.Fault} {
			if text != "" {
				add(name, "stringValue", text)
			}
		}
		since := said.Since
		if since != 0 || said.Lease != 0 {
			since += epoch
		}
		for name, n := range map[string]int64{"token": said.Token, "since": since, "lease": said.Lease, "permits": said.Permits} {
			if n != 0 {
				add(name, "intValue", strconv.FormatInt(n, 10))
			}
		}
		for name, b := range map[string]bool{"watchdog": said.Watchdog, "expired": said.Expired, "lingers": said.Lingers, "notifies": said.Notifies, "held": said.Held, "not_held": said.NotHeld, "cancelled": said.Cancelled, "client_failed": said.ClientFailed, "confirmed": from.Confirmed} {
			if b {
				add(name, "boolValue", "true")
			}
		}
		if to != nil && from.Process != history.Nemesis {
			add("type", "stringValue", string(to.Type))
		}
		var nodes []string
		for _, n := range from.Nodes {
			text, _ := json.Marshal(n)
			nodes = append(nodes, `{"stringValue":`+string(text)+`}`)
		}
		attributes = append(attributes, `{"key":"nodes","value":{"arrayValue":{"values":[`+strings.Join(nodes, ",")+`]}}}`)
		out = append(out, fmt.Sprintf(`{"resourceSpans":[{"resource":{},"scopeSpans":[{"spans":[{"spanId":"%016x","name":%q,"startTimeUnixNano":"%d","endTimeUnixNano":"%d","attributes":[%s]}]}]}]}`,
			len(out)+1, from.F, epoch+from.Time, end, strings.Join(attributes, ",")))
	}
	for _, e := range events {
		same := func(o *open) bool {
			return !o.used && o.at.Process == e.Process && o.at.F == e.F && (e.F == history.Acquire || o.at.Grant == e.Grant) && slices.Equal(o.at.Nodes, e.Nodes)
		}
		switch {
		case e.Phase == history.Begin, e.Type == history.Invoke:
			waiting = append(waiting, &open{at: e})
			continue
		case e.F == history.Lost && e.Process != history.Nemesis:
			interval(e, &e)
			continue
		}
		i := -1
		for j := range waiting { // the latest: a client that was killed left others open
			if same(waiting[j]) {
				i = j
			}
		}
		if i < 0 { // a renewal that the client library made by itself
			interval(e, &e)
			continue
		}
		waiting[i].used = true
		interval(waiting[i].at, &e)
	}
	for _, o := range waiting {
		if !o.used {
			interval(o.at, nil)
		}
	}
	return strings.Join(out, "\n") + "\n"
}

// gist is what a verdict says, whatever numbers the events have and whenever the history
// began. An explanation has both in it.
func gist(v Verdict, began int64) Verdict {
	v.Anomalies = slices.Clone(v.Anomalies)
	for i := range v.Anomalies {
		a := &v.Anomalies[i]
		a.Time -= began
		a.Events, a.Explanation = nil, ""
		if a.Suspect != nil {
			shifted := *a.Suspect
			shifted.Begin, shifted.End = shifted.Begin-began, shifted.End-began
			a.Suspect = &shifted
		}
	}
	slices.SortFunc(v.Anomalies, func(a, b Anomaly) int {
		return strings.Compare(fmt.Sprint(a.Time, a.Name, a.Grants), fmt.Sprint(b.Time, b.Name, b.Grants))
	})
	v.Stats.Events, v.Stats.Duration, v.Stats.FirstGrant = 0, v.Stats.Duration-began, 0
	if v.Stats.FirstAnomaly > 0 {
		v.Stats.FirstAnomaly -= began
	}
	properties := map[string]Property{}
	for name, p := range v.Properties {
		p.Why = ""
		properties[name] = p
	}
	v.Properties, v.Why, v.PromisesWhy = properties, "", ""
	return v
}

// alike compares the verdicts on a history of ours, as a table and as a trace.
func alike(t interface {
	Helper()
	Fatal(...any)
	Errorf(string, ...any)
}, dir string, in Input) (anomalies int, compared bool) {
	t.Helper()
	if len(in.Events) == 0 {
		return 0, false
	}
	order := make([]int, len(in.Events))
	for i := range order {
		order[i] = i
	}
	own, _ := write(t, dir, in, order)
	judged := func(src history.Source) (Verdict, error) {
		return CheckSource(context.Background(), src, "", in.Options, nil)
	}
	want, err := judged(history.Source{Path: own})
	if err != nil {
		return 0, false // what contradicts itself is refused
	}
	table, trace := filepath.Join(dir, "h.csv"), filepath.Join(dir, "h.json")
	for path, text := range map[string]string{table: asCSV(in.Events), trace: asTrace(in.Events)} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := judged(history.Source{Path: table, CSV: true})
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("as CSV %+v, %v, want\n%+v", got, err, want)
	}
	got, err = judged(history.Source{Path: trace, Spans: true})
	began := in.Events[0].Time
	if a, b := gist(got, 0), gist(want, began); err != nil || !reflect.DeepEqual(a, b) {
		t.Errorf("as a trace\n%+v, %v, want\n%+v", a, err, b)
	}
	return len(want.Anomalies), true
}

// apart lets no two events fall into one instant: spans would not say which came first.
func apart(in Input) Input {
	const room = 1 << 10
	in.Events = slices.Clone(in.Events)
	for i := range in.Events {
		e := &in.Events[i]
		e.Time, e.Since, e.Lease = e.Time*room+int64(i), e.Since*room, e.Lease*room
	}
	return in
}

// TestElsewhereLikeOurs: a run that is written as a table or as a trace is judged as the
// run itself.
func TestElsewhereLikeOurs(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no corpus: %v", err)
	}
	dir := t.TempDir()
	histories, anomalies := 0, 0
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			found, compared := alike(t, dir, script(t, string(text)))
			if compared {
				histories, anomalies = histories+1, anomalies+found
			}
		})
	}
	t.Logf("%d of %d histories, with %d anomalies", histories, len(files), anomalies)
	if histories < len(files)/2 || anomalies < histories/3 {
		t.Errorf("only %d of %d histories, with %d anomalies", histories, len(files), anomalies)
	}
	alike(t, dir, validHistory(500, 3, 2))
	if testing.Short() {
		return
	}
	rapid.Check(t, func(rt *rapid.T) {
		w := simulate(rt, rapid.Bool().Draw(rt, "sound"), rapid.Bool().Draw(rt, "tokens"), false, rapid.Bool().Draw(rt, "leases"))
		alike(rt, dir, apart(givenUp(w.in)))
	})
}
