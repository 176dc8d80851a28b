package history

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// table writes a CSV file and returns it as a source.
func table(t *testing.T, text string, columns map[string]string) Source {
	t.Helper()
	path := filepath.Join(t.TempDir(), "h.csv")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return Source{Path: path, Name: "h", CSV: true, Columns: columns}
}

// TestCSV: events come out of a table as they went in, whatever stands in the cells and in
// whichever order the columns stand.
func TestCSV(t *testing.T) {
	dir := t.TempDir()
	text := rapid.Map(rapid.OneOf(rapid.StringMatching(`[a-z0-9., ";\\\\]{0,8}`), rapid.String()), func(s string) string {
		return strings.NewReplacer("\r", "", "\n", "").Replace(strings.ToValidUTF8(s, ""))
	})
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 40).Draw(t, "rows")
		columns := rapid.Permutation([]string{"index", "time", "process", "type", "f", "key", "grant", "token", "value", "held", "nodes", "fault", "colour"}).Draw(t, "columns")
		var out bytes.Buffer
		w := csv.NewWriter(&out)
		w.UseCRLF = rapid.Bool().Draw(t, "CRLF")
		head := strings.Split(strings.Replace(strings.Join(columns, " "), "key", "lock_name", 1), " ")
		if err := w.Write(head); err != nil {
			t.Fatal(err)
		}
		var want []Event
		for i := range n {
			e := Event{
				Index: int64(i), Time: int64(i) * 7, Process: "c" + strconv.Itoa(i), Type: Invoke, F: Acquire, Key: text.Draw(t, "key"), Grant: text.Draw(t, "grant"),
				Token: rapid.Int64Range(-1e15, 1e15).Draw(t, "token"), Value: text.Draw(t, "value"), Held: rapid.Bool().Draw(t, "held"), Fault: text.Draw(t, "fault"), Nodes: rapid.SampledFrom([][]string{nil, {"a"}, {"a", "b"}}).Draw(t, "nodes"),
			}
			of := map[string]string{
				"index": strconv.Itoa(i), "time": strconv.FormatInt(e.Time, 10), "process": e.Process, "type": string(e.Type), "f": e.F, "key": e.Key, "grant": e.Grant,
				"token": strconv.FormatInt(e.Token, 10), "value": e.Value, "held": strconv.FormatBool(e.Held), "nodes": strings.Join(e.Nodes, " "), "fault": e.Fault, "colour": "red",
			}
			row := make([]string, len(columns))
			for i, c := range columns {
				row[i] = of[c]
			}
			if err := w.Write(row); err != nil {
				t.Fatal(err)
			}
			want = append(want, e)
		}
		w.Flush()
		path := filepath.Join(dir, "h.csv")
		if err := os.WriteFile(path, out.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		var got []Event
		err := Source{Path: path, CSV: true, Columns: map[string]string{"key": "lock_name"}}.Stream(func(e *Event) error {
			got = append(got, *e)
			return nil
		})
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%s\n%+v, %v, want\n%+v", out.String(), got, err, want)
		}
	})
}

// TestCSVErrors name the file and the line, or what there is no column for.
func TestCSVErrors(t *testing.T) {
	const head = "time,process,type,f,key\n"
	const good = "1,c1,invoke,acquire,k\n"
	many := head + strings.Repeat(good, 5000)
	for name, tc := range map[string]struct {
		text         string
		columns      map[string]string
		want         string
		columnsWrong bool
	}{
		"right":                   {text: "\ufeff" + head + good + "2,c1,info,acquire,k\n\n"},
		"without an end":          {text: head + strings.TrimSuffix(good, "\n")},
		"no number":               {text: head + good + "soon,c1,ok,acquire,k\n", want: `h:3: column "time": "soon" is no whole number`},
		"a leading zero":          {text: head + "01,c1,ok,acquire,k\n", want: `h:2: column "time": "01" is no whole number`},
		"no truth value":          {text: "at,process,type,f,held\n1,c1,ok,release,TRUE\n", columns: map[string]string{"time": "at"}, want: `h:2: column "held": "TRUE" is no truth value: write true or false`},
		"a column twice":          {text: "time,process,type,f,time\n1,c1,ok,read,2\n", want: `h: the columns do not make events: the first line names column "time" twice`, columnsWrong: true},
		"no UTF-8":                {text: head + good + "2,c1,info,acquire,\xe4\n", want: "h:3: bytes that are no UTF-8: save the file as UTF-8"},
		"a column, no UTF-8":      {text: "time,process,type,f,\xe4\n", want: "h:1: bytes that are no UTF-8: save the file as UTF-8"},
		"UTF-16":                  {text: "\xff\xfet\x00i\x00", want: "h:1: the file is UTF-16: save it as UTF-8"},
		"others twice":            {text: "time,process,type,f,x,x\n1,c1,info,read,1,2\n"},
		"nothing":                 {text: ""},
		"too few cells":           {text: many + "2,c1\n" + good, want: "h:5002: 2 cells, and the first line names 5 columns"},
		"too many cells":          {text: head + "1,c1,invoke,acquire,k,k,k\n", want: "h:2: 7 cells"},
		"an open quote":           {text: head + good + "2,\"c1,ok,acquire,k\n", want: "h:3: "},
		"an unknown type":         {text: many + "9,c1,perhaps,acquire,k\n", want: `h:5002: unknown type "perhaps"`},
		"an empty line":           {text: head + "\n" + good, want: "h:2: empty line"},
		"no columns":              {text: "\n" + good, want: "the first line has to name them", columnsWrong: true},
		"a column missing":        {text: "time,process,type\n", want: `h: the columns do not make events: no column "f" for f`, columnsWrong: true},
		"a mapped column missing": {text: head, columns: map[string]string{"key": "lock"}, want: `no column "lock" for key`, columnsWrong: true},
		"one for two":             {text: head, columns: map[string]string{"value": "key"}, want: `column "key" would stand for two`, columnsWrong: true},
		"a member's name, nearly": {text: "time,process,type,f,key,Lease\n", want: `h: the columns do not make events: column "Lease" is none: name it lease, or use --map lease=COLUMN`, columnsWrong: true},
		"nearly, beside itself":   {text: "time,process,type,f,key,lease,Lease\n"},
		"a long line":             {text: head + strings.Repeat("x", 1<<17), want: "h:2: line longer than"},
	} {
		t.Run(name, func(t *testing.T) {
			err := table(t, tc.text, tc.columns).Stream(func(*Event) error { return nil })
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v, want %q", err, tc.want)
			}
			if errors.Is(err, ErrColumns) != tc.columnsWrong {
				t.Errorf("%v is about the columns: %v, want %v", err, !tc.columnsWrong, tc.columnsWrong)
			}
		})
	}
}

// FuzzCSV: whatever a table holds, each line of JSON that is made of it can be read, or
// says what is wrong as any other.
func FuzzCSV(f *testing.F) {
	for _, text := range []string{"time,process,type,f\n1,c1,ok,read\n", "f,type,process,time,nodes,held\nread,ok,\"a\"\"\",1,a b,true\n", "time,process,type,f\n,,,\n", "time,process,type,f\n\xff,\x00,\\,-\n"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := newCSV(bytes.NewReader(text), "h", nil)
		if err != nil {
			return
		}
		var out bytes.Buffer
		if _, err := out.ReadFrom(c); err != nil {
			var at *LineError
			if !errors.As(err, &at) {
				t.Fatalf("no line: %v", err)
			}
		}
		for line := range bytes.Lines(out.Bytes()) {
			if len(bytes.TrimSpace(line)) > 0 && !json.Valid(line) {
				t.Fatalf("%q became %q", text, line)
			}
		}
	})
}
