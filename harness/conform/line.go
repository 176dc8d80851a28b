package conform

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	lock "github.com/picklock/picklock/clients/exec"
	"github.com/picklock/picklock/history"
)

const onlyLines = "write only the protocol's lines to standard output, one JSON object each, and everything else to standard error"

// wrote notes something wrong in what the program writes.
func (p *program) wrote(check string, what Problem) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.note(check, what)
}

// take takes a line of the program's. What is wrong with it is noted, and it is taken for
// what it was most likely meant to be: one mistake must not look like many.
func (p *program) take(line []byte) {
	came := history.Now()
	line = bytes.Clone(bytes.TrimSpace(line))
	p.mu.Lock()
	defer p.mu.Unlock()
	var members map[string]json.RawMessage
	if err := json.Unmarshal(line, &members); err != nil || members == nil {
		p.note("stdout", Problem{"it wrote " + quote(line), onlyLines})
		p.noisy(line)
		return
	}
	a := reply{line: line, came: came}
	if err := json.Unmarshal(line, &a.Answer); err != nil {
		p.note("form", Problem{fmt.Sprintf("it wrote %s: %s", quote(line), misfit(err)), "use the types of docs/reference/exec.md: numbers without quotes, true and false"})
		if text := string(members["ok"]); text != "true" && text != "false" {
			yes := text != `"false"` && text != "0"
			a.OK = &yes
		}
	}
	if a.Event != "" {
		p.event(a)
		return
	}
	if q := p.asked(&a, members["id"]); q != nil {
		p.formOf(a)
		p.noise = nil
		delete(p.open, q.ID)
		p.closed[q.ID] = true
		q.answer <- a
	}
}

// misfit is what does not fit, without the names of our own types.
func misfit(err error) string {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		name := wrong.Field[strings.LastIndexByte(wrong.Field, '.')+1:]
		kind := "a number"
		switch wrong.Type.Kind() {
		case reflect.Bool:
			kind = "true or false"
		case reflect.String:
			kind = "a string"
		}
		return fmt.Sprintf("%q is a %s, and has to be %s", name, wrong.Value, kind)
	}
	return err.Error()
}

// asked is the request that a line answers, nil for none. One under a wrong id can only be
// meant for the one that is open.
func (p *program) asked(a *reply, id json.RawMessage) *request {
	if q := p.open[a.ID]; q != nil {
		return q
	}
	switch {
	case p.closed[a.ID]:
		p.note("id", Problem{fmt.Sprintf("it answered request %d twice: %s", a.ID, quote(a.line)), "answer each request once"})
		return nil
	case len(p.open) != 1:
		p.note("id", Problem{fmt.Sprintf("it wrote %s, and no request with that id is open", quote(a.line)), `write an answer only to a request, with its "id"`})
		return nil
	}
	for _, q := range p.open {
		if string(id) == strconv.Quote(strconv.FormatInt(q.ID, 10)) {
			return q // in quotes: noted as a wrong form
		}
		p.note("id", Problem{fmt.Sprintf("it answered request %d (%s) with %s", q.ID, q.Op, quote(a.line)), `give each answer the "id" of its request`})
		return q
	}
	return nil
}

// formOf notes what an answer does not say.
func (p *program) formOf(a reply) {
	switch {
	case a.OK == nil:
		p.note("form", Problem{`an answer has no "ok": ` + quote(a.line), `say "ok":true or "ok":false in each answer`})
	case !*a.OK && a.Error == "":
		p.note("form", Problem{`an answer says "ok":false and not why: ` + quote(a.line), `say why in "error", and "definite":true if it certainly had no effect`})
	}
}

// event notes what is wrong with a line that answers nothing.
func (p *program) event(a reply) {
	switch {
	case a.Event != "lost" && a.Event != "renewed":
		p.note("event", Problem{"there is no such event: " + quote(a.line), `have "lost" and "renewed"; leave all others out`})
	case a.Key == "":
		p.note("event", Problem{`an event has no "key": ` + quote(a.line), `say of which lock it is in "key"`})
	case a.Event == "renewed" && (a.Lease <= 0 || a.Since == 0):
		p.note("event", Problem{`"renewed" needs "lease_ms" and "since_ns": ` + quote(a.line), "give both, since_ns read right before the request that was answered"})
	case a.Event == "renewed":
		if err := lock.SinceWithin(a.Answer, 0, a.came); err != nil {
			p.note("event", Problem{fmt.Sprintf("it wrote %s: %v", quote(a.line), err), monotonic})
		}
	}
}
