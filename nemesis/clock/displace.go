package clock

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"

	"golang.org/x/arch/x86/x86asm"
)

// jumpLen is the length of jmp rel32, what an entry is overwritten with.
const jumpLen = 5

// instruction is one displaced instruction.
type instruction struct {
	offset int    // from the function's entry
	bytes  []byte // as found
	rel    int    // index in bytes of a displacement relative to the next instruction, -1 if none
	rel8   bool   // that displacement has one byte: a short conditional jump
}

// displaced returns the whole instructions that a jump over the entry of the named
// function would destroy. It refuses those that cannot run elsewhere and functions
// that branch to where a jump will be.
func displaced(v *image, name string) ([]instruction, error) {
	f := v.funcs[name]
	code := v.bytes[f.offset : f.offset+f.size]
	var out []instruction
	taken := 0
	for taken < jumpLen {
		in, err := decode(code[taken:])
		if err != nil {
			return nil, fmt.Errorf("%w: its vDSO's %s+%d: %w", ErrUnsupported, name, taken, err)
		}
		switch in.Op {
		case x86asm.RET, x86asm.JMP, x86asm.CALL, x86asm.SYSCALL:
			return nil, fmt.Errorf("%w: its vDSO's %s has a %v in its first %d bytes", ErrUnsupported, name, in.Op, jumpLen)
		}
		i := instruction{offset: taken, bytes: code[taken : taken+in.Len], rel: -1}
		if in.PCRel != 0 {
			i.rel, i.rel8 = in.PCRelOff, in.PCRel == 1
			shortJump := i.rel8 && in.Len == 2 && i.bytes[0]>>4 == 7
			if !shortJump && in.PCRel != 4 {
				return nil, fmt.Errorf("%w: its vDSO's %s starts with %v, which cannot be moved", ErrUnsupported, name, in)
			}
		}
		out = append(out, i)
		taken += in.Len
	}
	for at := 0; at < len(code); {
		in, err := decode(code[at:])
		if err != nil {
			return nil, fmt.Errorf("%w: its vDSO's %s+%d: %w", ErrUnsupported, name, at, err)
		}
		at += in.Len
		r, ok := in.Args[0].(x86asm.Rel)
		if !ok {
			continue
		}
		// Into the destroyed bytes it would crash; to any hooked entry, its own too,
		// the offset would be added twice.
		to := f.offset + at + int(r)
		for _, h := range hooked {
			g, ok := v.funcs[h]
			length := jumpLen
			if h == name {
				length = taken
			}
			if ok && to >= g.offset && to < g.offset+length {
				return nil, fmt.Errorf("%w: its vDSO's %s branches to the start of %s", ErrUnsupported, name, h)
			}
		}
	}
	return out, nil
}

// unknownToX86asm are instructions of real vDSOs that x86asm has not learnt: it reads
// endbr64 as a lone prefix and stumbles over the others.
var unknownToX86asm = [][]byte{
	{0xf3, 0x0f, 0x1e, 0xfa}, // endbr64
	{0x0f, 0x01, 0xf9},       // rdtscp
	{0x0f, 0xae, 0xe8},       // lfence
	{0x0f, 0xae, 0xf0},       // mfence
}

func decode(b []byte) (x86asm.Inst, error) {
	for _, k := range unknownToX86asm {
		if bytes.HasPrefix(b, k) {
			return x86asm.Inst{Op: x86asm.NOP, Len: len(k)}, nil
		}
	}
	if len(b) >= 4 && b[0] == 0xf3 && b[1] == 0x0f && b[2] == 0xc7 && b[3]>>3 == 0x1f { // rdpid
		return x86asm.Inst{Op: x86asm.NOP, Len: 4}, nil
	}
	in, err := x86asm.Decode(b, 64)
	if err == nil && (in.Op == 0 || in.Len == 0) {
		err = x86asm.ErrUnrecognized
	}
	return in, err
}

// relocate emits instruction i, found at address from, so that it does the same at
// the assembler's current address.
func (a *assembler) relocate(i instruction, from uint64) {
	switch {
	case i.rel < 0:
		a.emit(i.bytes...)
	case i.rel8: // a short jump reaches too little: the near form of the same condition
		target := from + 2 + uint64(int64(int8(i.bytes[1])))
		a.emitTo(target, 0x0f, 0x80|i.bytes[0]&0x0f)
	default:
		old := int64(int32(binary.LittleEndian.Uint32(i.bytes[i.rel:])))
		moved := old + int64(from) - int64(a.here())
		if moved != int64(int32(moved)) {
			a.fail(fmt.Errorf("displacement %#x does not fit 32 bits", moved))
		}
		start := len(a.code)
		a.emit(i.bytes...)
		binary.LittleEndian.PutUint32(a.code[start+i.rel:], uint32(int32(moved&math.MaxUint32)))
	}
}
