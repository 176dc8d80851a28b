package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
)

// shape is a history to write: a sound lock that many clients want all the time;
// which of them is served next is chance, as with every lock that is polled.
type shape struct {
	events   int
	clients  int
	register bool // each grant reads and writes, too
	late     bool // in the last percent a grant comes while another one's lease is alive
	unknown  int  // operations of unknown outcome, spread over the history
	// foreign writes a line as others do: nil for picklock's own writing.
	foreign func(line string) string
	csv     bool // as a CSV file with named columns
	trace   bool // as a trace of OpenTelemetry's
}

// columns are those of a CSV file, beside one that is not ours.
var columns = []string{"process", "type", "f", "thread", "time", "key", "grant", "token", "since", "lease", "held", "value", "error", "index"}

// inColumns is a line of CSV.
func inColumns(line string) string {
	var members map[string]json.RawMessage
	if err := json.Unmarshal([]byte(line), &members); err != nil {
		panic(err) // we have written it
	}
	cells := make([]string, len(columns))
	for i, c := range columns {
		cells[i] = strings.Trim(string(members[c]), `"`)
	}
	return strings.Join(cells, ",") + "\n"
}

// spaced is a line as Python's json.dumps writes it.
func spaced(line string) string {
	return strings.NewReplacer(`":`, `": `, `,"`, `, "`).Replace(line)
}

// reversed is a line with its members in the opposite order.
func reversed(line string) string {
	members := strings.Split(strings.TrimSuffix(strings.TrimPrefix(line, "{"), "}\n"), `,"`)
	for i := 1; i < len(members); i++ {
		members[i] = `"` + members[i]
	}
	slices.Reverse(members)
	return "{" + strings.Join(members, ",") + "}\n"
}

// adorned is a line with members that picklock does not know.
func adorned(line string) string {
	return strings.TrimSuffix(line, "}\n") + `,"thread":7,"host":{"name":"a1","zone":null}}` + "\n"
}

// write makes the history, and the register's log where there is one.
func (s shape) write(events, effects string) error {
	f, err := os.Create(events)
	if err != nil {
		return err
	}
	defer f.Close()
	w := bufio.NewWriterSize(f, 1<<20)
	if s.csv {
		_, _ = w.WriteString(strings.Join(columns, ",") + "\n")
		s.foreign = inColumns
	}
	var spans *tracer
	if s.trace {
		spans = &tracer{w: w, open: map[string]map[string]json.RawMessage{}}
	}
	g, err := os.Create(effects)
	if err != nil {
		return err
	}
	defer g.Close()
	lw := bufio.NewWriterSize(g, 1<<20)

	var index, now, seq, token int64
	var line []byte
	ev := func(process, typ, f, rest string) {
		now += 20_000
		line = append(line[:0], `{"index":`...)
		line = strconv.AppendInt(line, index, 10)
		line = append(line, `,"time":`...)
		line = strconv.AppendInt(line, now, 10)
		line = append(append(append(line, `,"process":"`...), process...), `","type":"`...)
		line = append(append(append(line, typ...), `","f":"`...), f...)
		line = append(append(append(line, `","key":"k0"`...), rest...), "}\n"...)
		index++
		if spans != nil {
			spans.event(line)
			return
		}
		if s.foreign != nil {
			_, _ = w.WriteString(s.foreign(string(line)))
			return
		}
		_, _ = w.Write(line)
	}
	eff := func(process, f, grant, value string) {
		seq++
		fmt.Fprintf(lw, `{"seq":%d,"time":%d,"process":"%s","f":"%s","key":"k0","grant":"%s","token":%d,"value":"%s","version":%d,"highest":%d}`+"\n",
			seq, now+10_000, process, f, grant, token, value, seq, token)
	}
	names := make([]string, s.clients)
	count := make([]int, s.clients)
	for c := range s.clients {
		names[c] = "c" + strconv.Itoa(c+1)
		ev(names[c], "invoke", "acquire", "")
	}
	value := ""
	every := s.events
	if s.unknown > 0 {
		every = s.events / (s.unknown + 1)
	}
	left := s.unknown
	broken := !s.late
	random := rand.New(rand.NewPCG(1, 1))
	for index < int64(s.events) {
		c := random.IntN(s.clients)
		p := names[c]
		count[c]++
		token++
		id := p + "." + strconv.Itoa(count[c])
		grant := `,"grant":"` + id + `"`
		unknown := left > 0 && index > int64((s.unknown-left+1)*every)
		ev(p, "ok", "acquire", fmt.Sprintf(`%s,"token":%d,"since":%d,"lease":1000000000`, grant, token, now-10_000))
		if s.register {
			ev(p, "invoke", "read", grant)
			eff(p, "read", id, value)
			ev(p, "ok", "read", grant+`,"value":"`+value+`"`)
			value = id + ".1"
			ev(p, "invoke", "write", grant+`,"value":"`+value+`"`)
			eff(p, "write", id, value)
			if unknown {
				ev(p, "info", "write", grant+`,"value":"`+value+`","error":"timeout"`)
				left--
			} else {
				ev(p, "ok", "write", grant+`,"value":"`+value+`"`)
			}
		}
		if !broken && index > int64(s.events)*199/200 {
			broken = true // never released, and yet the next one is granted
			ev(p, "invoke", "acquire", "")
			continue
		}
		ev(p, "invoke", "release", grant)
		if unknown && !s.register {
			ev(p, "info", "release", grant+`,"error":"timeout"`)
			left--
		} else {
			ev(p, "ok", "release", grant+`,"held":true`)
		}
		ev(p, "invoke", "acquire", "")
	}
	if spans != nil {
		spans.end()
	}
	if err := lw.Flush(); err != nil {
		return err
	}
	return w.Flush()
}
