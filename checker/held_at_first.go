package checker

import "fmt"

// atFirst is what a register without a log held before the record began, as far as its clients show it. A register that people put under a lock is seldom
// empty. It is the first value that they read and none tried to write, if no read found the register empty.
type atFirst struct {
	value string
	read  *op // the first that showed the value, or that the register was empty; nil: nothing shows what was there
	other *op // what was answered first of those that show another value; nil if nothing does
}

func heldAtFirst(ops []*op) atFirst {
	tried := map[string]bool{}
	for _, o := range ops {
		if o.f != fRead {
			tried[o.value] = true
		}
	}
	var of atFirst
	for _, o := range ops {
		if o.f != fRead || o.typ != tOK || tried[o.value] {
			continue
		}
		if of.read == nil || of.value != "" && o.value == "" {
			of.value, of.read = o.value, o
		}
	}
	for _, o := range ops {
		if o.typ == tOK && o.value != of.value && (of.other == nil || o.endT < of.other.endT) {
			of.other = o
		}
	}
	return of
}

// against shows that the register cannot have held at first what a read returned and none tried to write: it held something else then, or
// since. nil: it can.
func (of atFirst) against(read *op) *op {
	switch {
	case of.read == nil || read.value != of.value:
		return of.read
	case of.other != nil && of.other.endT < read.invT:
		return of.other
	}
	return nil
}

// firstValues says which values are taken for what registers held before the record.
func (an *analysis) firstValues() string {
	if an.log != nil {
		return ""
	}
	text, more := "", 0
	for _, k := range an.locks {
		first := heldAtFirst(k.ops)
		switch {
		case first.value == "":
		case text == "":
			text = fmt.Sprintf("; %s, which no client wrote, is taken for what the register of %s held before the record", shown(first.value), k.name)
		default:
			more++
		}
	}
	if more > 0 {
		text += fmt.Sprintf(", and so are those of %s", of(more, "other key"))
	}
	return text
}

// unexplained are the orphans without those that read what the register held at first.
func (of atFirst) unexplained(bad []orphan) []orphan {
	var out []orphan
	for _, r := range bad {
		if r.write != nil || r.failed != nil || of.against(r.read) != nil {
			out = append(out, r)
		}
	}
	return out
}
