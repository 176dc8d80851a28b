package clock

import (
	"encoding/binary"
	"fmt"
)

// assembler collects machine code that will run at base, with named places in it.
// The first error sticks and comes out of finish.
type assembler struct {
	base   uint64
	code   []byte
	places map[string]int
	jumps  []jump
	err    error
}

// jump is a displacement to be filled in once its place is known.
type jump struct {
	at, size int
	to       string
}

func newAssembler(base uint64) *assembler {
	return &assembler{base: base, places: map[string]int{}}
}

func (a *assembler) here() uint64 { return a.base + uint64(len(a.code)) }

func (a *assembler) emit(b ...byte) { a.code = append(a.code, b...) }

// emit32 emits op and a 32-bit immediate.
func (a *assembler) emit32(v uint32, op ...byte) {
	a.code = binary.LittleEndian.AppendUint32(append(a.code, op...), v)
}

// emitTo emits op and the 32-bit displacement to an absolute address.
func (a *assembler) emitTo(target uint64, op ...byte) {
	d := int64(target) - int64(a.here()) - int64(len(op)) - 4
	if d != int64(int32(d)) {
		a.fail(fmt.Errorf("%#x is too far from %#x for a jump", target, a.here()))
	}
	a.emit32(uint32(d), op...)
}

// place names the current position.
func (a *assembler) place(name string) { a.places[name] = len(a.code) }

// short emits a two-byte jump to a place.
func (a *assembler) short(op byte, to string) {
	a.emit(op, 0)
	a.jumps = append(a.jumps, jump{len(a.code) - 1, 1, to})
}

// call emits a call of a place.
func (a *assembler) call(to string) {
	a.emit32(0, 0xe8)
	a.jumps = append(a.jumps, jump{len(a.code) - 4, 4, to})
}

// align pads to a multiple of 16 with int3.
func (a *assembler) align() {
	for len(a.code)%16 != 0 {
		a.emit(0xcc)
	}
}

func (a *assembler) fail(err error) {
	if a.err == nil {
		a.err = err
	}
}

// finish fills in the jumps.
func (a *assembler) finish() ([]byte, error) {
	for _, j := range a.jumps {
		to, ok := a.places[j.to]
		d := to - j.at - j.size
		switch {
		case !ok:
			a.fail(fmt.Errorf("no place %q", j.to))
		case j.size == 1 && d != int(int8(d)):
			a.fail(fmt.Errorf("short jump to %q spans %d bytes", j.to, d))
		case j.size == 1:
			a.code[j.at] = byte(d)
		default:
			binary.LittleEndian.PutUint32(a.code[j.at:], uint32(d))
		}
	}
	return a.code, a.err
}
