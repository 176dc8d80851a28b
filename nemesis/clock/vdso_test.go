package clock

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"testing"
	"time"

	"golang.org/x/arch/x86/x86asm"
)

// anHour is a clock that is an hour ahead, as the hook has it.
var anHour = Setting{Offset: time.Hour}.slot(0)

// fake is an image whose only hooked function has the given code.
func fake(code ...byte) *image {
	b := make([]byte, 4096)
	copy(b[256:], code)
	return &image{base: 0x7fff_0000_0000, bytes: b, free: 1024, funcs: map[string]function{clockGettime: {256, len(code)}}}
}

func TestImageSize(t *testing.T) {
	for _, c := range []struct {
		magic         string
		offset        uint64
		entries, size uint16
		want          int
	}{
		{"\x7fELF", 4096 - 64*3, 3, 64, 4096},
		{"\x7fELF", 4096 - 64*3 + 1, 3, 64, 8192},
		{"\x7fELF", maxImage - 64, 1, 64, maxImage},
		{"\x7fELF", maxImage - 63, 1, 64, 0},
		{"\x7fELF", 1<<64 - 64, 2, 64, 0},
		{"\x7fELF", 4096, 65535, 65535, 0},
		{"\x7fELF", 0, 0, 64, 0},
		{"\x7fELE", 4096, 3, 64, 0},
	} {
		b := make([]byte, headerLen)
		copy(b, c.magic)
		binary.LittleEndian.PutUint64(b[40:], c.offset)
		binary.LittleEndian.PutUint16(b[58:], c.size)
		binary.LittleEndian.PutUint16(b[60:], c.entries)
		if got, err := imageSize(b); got != c.want || (err == nil) != (c.want > 0) || err != nil && !errors.Is(err, ErrUnsupported) {
			t.Errorf("%+v: %d, %v", c, got, err)
		}
	}
}

func TestDisplaced(t *testing.T) {
	for _, c := range []struct {
		name    string
		code    []byte
		lengths []int
		err     string
	}{
		{"plain", []byte{0x55, 0x48, 0x89, 0xe5, 0x41, 0x56, 0xc3}, []int{1, 3, 2}, ""},
		{"exactly five bytes", []byte{0xb8, 1, 0, 0, 0, 0xc3}, []int{5}, ""},
		{"endbr64", []byte{0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0xc3}, []int{4, 1}, ""},
		{"rdtscp", []byte{0x0f, 0x01, 0xf9, 0x66, 0x90, 0xc3}, []int{3, 2}, ""},
		{"rdpid", []byte{0xf3, 0x0f, 0xc7, 0xf8, 0x90, 0xc3}, []int{4, 1}, ""},
		{"rip-relative", []byte{0x4c, 0x8d, 0x15, 0, 1, 0, 0, 0xc3}, []int{7}, ""},
		{"rip-relative with an immediate", []byte{0x81, 0x3d, 0, 1, 0, 0, 0xff, 0xff, 0xff, 0x7f, 0xc3}, []int{10}, ""},
		{"short conditional jump", []byte{0x85, 0xff, 0x74, 3, 0x90, 0x90, 0x90, 0xc3}, []int{2, 2, 1}, ""},
		{"branch to the entry", []byte{0x90, 0x90, 0x90, 0x90, 0x90, 0x75, 0xf9, 0xc3}, nil, "branches to the start"},
		{"branch behind the replaced bytes", []byte{0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x75, 0xfd, 0xc3}, []int{1, 1, 1, 1, 1}, ""},
		{"branch into the replaced bytes", []byte{0x90, 0x90, 0x90, 0x90, 0x90, 0x75, 0xfa, 0xc3}, nil, "branches to the start"},
		{"returns at once", []byte{0x31, 0xc0, 0xc3, 0x90, 0x90, 0x90}, nil, "RET"},
		{"call", []byte{0xe8, 0, 0, 0, 0, 0xc3}, nil, "CALL"},
		{"system call", []byte{0x89, 0xf8, 0x0f, 0x05, 0x90, 0xc3}, nil, "SYSCALL"},
		{"loop", []byte{0xe2, 0x05, 0x90, 0x90, 0x90, 0xc3}, nil, "cannot be moved"},
		{"too short", []byte{0x31, 0xc0}, nil, "truncated"},
		{"unknown further on", []byte{0x90, 0x90, 0x90, 0x90, 0x90, 0x06, 0xc3}, nil, "+5"},
	} {
		t.Run(c.name, func(t *testing.T) {
			insts, err := displaced(fake(c.code...), clockGettime)
			if c.err != "" {
				if !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), c.err) {
					t.Fatalf("%v, want %q", err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			at := 0
			for i, in := range insts {
				if i >= len(c.lengths) || len(in.bytes) != c.lengths[i] || in.offset != at {
					t.Fatalf("%+v, want lengths %v", insts, c.lengths)
				}
				at += len(in.bytes)
			}
			if len(insts) != len(c.lengths) {
				t.Fatalf("%+v, want lengths %v", insts, c.lengths)
			}
		})
	}
}

// refersTo returns the absolute address that an instruction at address at refers to.
func refersTo(t *testing.T, b []byte, at uint64) (uint64, bool) {
	t.Helper()
	in, err := decode(b)
	if err != nil {
		t.Fatalf("% x: %v", b[:8], err)
	}
	if in.PCRel == 0 {
		return 0, false
	}
	d := int64(int8(b[in.PCRelOff]))
	if in.PCRel == 4 {
		d = int64(int32(binary.LittleEndian.Uint32(b[in.PCRelOff:])))
	}
	return at + uint64(in.Len) + uint64(d), true
}

// checkProgram proves by disassembly that every copy means what its original does, and
// that the entries lead to the shims.
func checkProgram(t *testing.T, v *image, p *program) {
	t.Helper()
	at := func(a uint64) []byte { return append(append([]byte{}, p.bytes[a-p.region:]...), make([]byte, 16)...) }
	for _, s := range p.sites {
		for i, in := range s.insts {
			orig, _ := decode(in.bytes)
			moved, _ := decode(at(s.copies[i]))
			if orig.Op != moved.Op {
				t.Errorf("%v became %v", orig, moved)
			}
			a, okA := refersTo(t, append(append([]byte{}, in.bytes...), make([]byte, 16)...), s.entry+uint64(in.offset))
			b, okB := refersTo(t, at(s.copies[i]), s.copies[i])
			if a != b || okA != okB {
				t.Errorf("%v: refers to %#x instead of %#x", orig, b, a)
			}
		}
		last := len(s.insts) - 1
		rest := s.entry + uint64(s.insts[last].offset+len(s.insts[last].bytes))
		back := s.copies[last]
		in, _ := decode(at(back))
		back += uint64(in.Len)
		if to, _ := refersTo(t, at(back), back); to != rest {
			t.Errorf("goes on at %#x instead of %#x", to, rest)
		}
		to, _ := refersTo(t, append(s.jump[:], make([]byte, 16)...), s.entry)
		if to < p.region+codeAt || to >= p.region+uint64(len(p.bytes)) || !bytes.ContainsRune([]byte{0x57, 0x48}, rune(at(to)[0])) {
			t.Errorf("the jump leads to %#x", to)
		}
		if !s.inside(s.entry+1) || !s.inside(s.entry+4) || s.inside(s.entry) || s.inside(s.entry+5) {
			t.Error("inside is wrong")
		}
	}
	for i := codeAt; i < len(p.bytes); {
		in, err := x86asm.Decode(p.bytes[i:], 64)
		if err != nil && p.bytes[i] != 0xf3 && p.bytes[i] != 0x0f {
			t.Fatalf("+%d: % x: %v", i, p.bytes[i:i+8], err)
		}
		i += max(in.Len, 1)
	}
	if end := int(p.region-v.base) + len(p.bytes); end > len(v.bytes) {
		t.Errorf("ends at %d", end)
	}
}

func TestBuild(t *testing.T) {
	for _, code := range [][]byte{
		{0x55, 0x48, 0x89, 0xe5, 0x41, 0x56, 0xc3},
		{0x4c, 0x8d, 0x15, 0, 1, 0, 0, 0xc3},
		{0x81, 0x3d, 0, 1, 0, 0, 0xff, 0xff, 0xff, 0x7f, 0xc3},
		{0x85, 0xff, 0x74, 3, 0x90, 0x90, 0x90, 0xc3},
		{0x85, 0xff, 0x0f, 0x84, 1, 0, 0, 0, 0x90, 0xc3},
	} {
		v := fake(code...)
		p, err := build(v, anHour)
		if err != nil {
			t.Fatalf("% x: %v", code, err)
		}
		checkProgram(t, v, p)

		// Once written it is recognised, and read back.
		if d, err := v.hookData(); d != 0 || err != nil {
			t.Fatal(d, err)
		}
		copy(v.bytes[v.free:], p.bytes)
		if d, err := v.hookData(); d != 0 || err != nil {
			t.Fatal("taken for hooked before the jump is there")
		}
		copy(v.bytes[256:], p.sites[0].jump[:])
		if d, err := v.hookData(); d != p.data || err != nil {
			t.Fatal(d, err)
		}
		if got := decodeSlot(v.bytes[v.free+dataAt+slotsAt:]); got != anHour {
			t.Error(got)
		}
		if u := v.unpatched(); string(u.bytes[256:256+len(code)]) != string(code) {
			t.Errorf("% x", u.bytes[256:256+len(code)])
		}
	}
}

func TestBuildRefuses(t *testing.T) {
	code := []byte{0x55, 0x48, 0x89, 0xe5, 0x41, 0x56, 0xc3}
	full := fake(code...)
	full.free = 4096 - 64
	used := fake(code...)
	used.bytes[used.free+codeAt] = 1
	none := fake(code...)
	none.funcs = nil
	for want, v := range map[string]*image{"bytes": full, "in use": used, "has no": none} {
		if _, err := build(v, anHour); !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	foreign := fake(0xe9, 0, 0, 0, 0, 0xc3)
	if _, err := foreign.hookData(); !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), "something else") {
		t.Error(err)
	}
}

func FuzzParseImage(f *testing.F) {
	for _, b := range seeds() {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		b = append(b, make([]byte, -len(b)&4095)...) // other sizes are refused at once
		v, err := parseImage(0x7fff_0000_0000, b)
		if err != nil {
			if !errors.Is(err, ErrUnsupported) {
				t.Errorf("does not wrap ErrUnsupported: %v", err)
			}
			return
		}
		_, _ = v.hookData()
		_, _ = build(v, anHour)
	})
}
