package clock

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// The hook's region, in the unused tail of the vDSO's last page:
//
//	  0  magic, 8 bytes
//	  8  address of the data block, 8 bytes
//	 16  the overwritten bytes of each hooked function in the order of hooked, 8 bytes each
//	 64  data block: how often it was set, 1 byte; at +8 four slots of 32 bytes
//	208  code: trampolines, then shims
//
// The data block is found by its address, never by its place, so that it can live in
// a mapping that forked workers share without a change to the code.
const (
	magic      = "pklck\x00\x00\x02"
	dataAt     = 64
	slots      = 4
	slotsAt    = 8 // in the data block
	dataLen    = slotsAt + slotLen*slots
	codeAt     = 208
	regionOrig = 16
)

// hooked are the functions that get a hook, the decisive one last: a process counts
// as hooked when that one is, so an installation that was cut short is seen as none.
var hooked = []string{"__vdso_time", "__vdso_gettimeofday", clockGettime}

const clockGettime = "__vdso_clock_gettime"

// shiftedClocks are the clock ids that take the offset: REALTIME, REALTIME_COARSE,
// REALTIME_ALARM and TAI, as bits.
const shiftedClocks = 1<<0 | 1<<5 | 1<<8 | 1<<11

// site is one function to be hooked.
type site struct {
	entry  uint64 // address
	orig   [jumpLen]byte
	jump   [jumpLen]byte
	insts  []instruction
	copies []uint64 // address of each displaced instruction's copy
}

// inside tells whether address a lies within the bytes that the jump replaces but is
// not their first: a thread that continues there would be in the middle of the jump.
func (s *site) inside(a uint64) bool { return a > s.entry && a < s.entry+jumpLen }

// program is what has to be written into a process to hook it.
type program struct {
	region uint64 // address
	data   uint64 // address of the data block
	bytes  []byte // the region's content
	sites  []site
}

// moved returns where a thread that stands at address a, inside a site, must go on.
func (p *program) moved(a uint64) (uint64, error) {
	for _, s := range p.sites {
		for i, in := range s.insts {
			if a == s.entry+uint64(in.offset) && s.inside(a) {
				return s.copies[i], nil
			}
		}
	}
	return 0, fmt.Errorf("a thread stands at %#x, which is no instruction of the vDSO", a)
}

// inside tells whether address a lies inside any site.
func (p *program) inside(a uint64) bool {
	for i := range p.sites {
		if p.sites[i].inside(a) {
			return true
		}
	}
	return false
}

// region returns the hook's region in the image, empty if there is none.
func (v *image) region() []byte {
	r := v.bytes[v.free:]
	if len(r) < codeAt || string(r[:8]) != magic {
		return nil
	}
	return r
}

// hookData returns the address of the data block of an installed hook, 0 if the
// process has none.
func (v *image) hookData() (uint64, error) {
	f, ok := v.funcs[clockGettime]
	if !ok || f.size < jumpLen || v.bytes[f.offset] != 0xe9 {
		return 0, nil
	}
	target := f.offset + jumpLen + int(int32(binary.LittleEndian.Uint32(v.bytes[f.offset+1:])))
	r := v.region()
	if r == nil || target < v.free+codeAt {
		return 0, fmt.Errorf("%w: something else has already patched its vDSO", ErrUnsupported)
	}
	return binary.LittleEndian.Uint64(r[8:]), nil
}

// unpatched returns the image as it was before an installation that was cut short
// (the patching process was killed) changed some of its functions.
func (v *image) unpatched() *image {
	r := v.region()
	if r == nil {
		return v
	}
	u := *v
	u.bytes = bytes.Clone(v.bytes)
	for i, name := range hooked {
		if f, ok := u.funcs[name]; ok && f.size >= jumpLen {
			copy(u.bytes[f.offset:f.offset+jumpLen], r[regionOrig+8*i:])
		}
	}
	return &u
}

// build makes the program that hooks the process with image v and starts it with the
// given slot.
func build(v *image, first slot) (*program, error) {
	if _, ok := v.funcs[clockGettime]; !ok {
		return nil, fmt.Errorf("%w: its vDSO has no %s", ErrUnsupported, clockGettime)
	}
	v = v.unpatched()
	p := &program{region: v.base + uint64(v.free)}
	p.data = p.region + dataAt
	a := newAssembler(p.region)
	a.emit(make([]byte, codeAt)...)

	names := []string{}
	for i, name := range hooked {
		f, ok := v.funcs[name]
		if !ok {
			continue
		}
		insts, err := displaced(v, name)
		if err != nil {
			return nil, err
		}
		s := site{entry: v.base + uint64(f.offset), insts: insts}
		copy(s.orig[:], v.bytes[f.offset:])
		copy(a.code[regionOrig+8*i:], s.orig[:])
		a.place("original " + name)
		for _, in := range insts {
			s.copies = append(s.copies, a.here())
			a.relocate(in, s.entry+uint64(in.offset))
		}
		last := insts[len(insts)-1]
		a.emitTo(s.entry+uint64(last.offset+len(last.bytes)), 0xe9)
		p.sites = append(p.sites, s)
		names = append(names, name)
	}
	for _, name := range names {
		a.align()
		a.place(name)
		shims[name](a, p.data)
	}
	code, err := a.finish()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnsupported, err)
	}
	free := v.bytes[v.free:]
	if len(code) > len(free) {
		return nil, fmt.Errorf("%w: the hook needs %d bytes and its vDSO has %d unused", ErrUnsupported, len(code), len(free))
	}
	if r := v.region(); r == nil && !zero(free[:len(code)]) || r != nil && !bytes.Equal(r[codeAt:len(code)], code[codeAt:]) {
		return nil, fmt.Errorf("%w: the end of its vDSO is in use", ErrUnsupported)
	}

	le := binary.LittleEndian
	copy(code, magic)
	le.PutUint64(code[8:], p.data)
	copy(code[dataAt+slotsAt:], first.encode())
	for i := range p.sites {
		s := &p.sites[i]
		j := newAssembler(s.entry)
		j.emitTo(p.region+uint64(a.places[names[i]]), 0xe9)
		copy(s.jump[:], j.code)
		if j.err != nil {
			return nil, fmt.Errorf("%w: %w", ErrUnsupported, j.err)
		}
	}
	p.bytes = code
	return p, nil
}

func zero(b []byte) bool { return len(bytes.TrimLeft(b, "\x00")) == 0 }

// shims emit the replacement of each function. They keep to the C calling convention
// and touch no register that the original may not touch.
var shims = map[string]func(a *assembler, data uint64){
	clockGettime:          shimClockGettime,
	"__vdso_gettimeofday": shimGettimeofday,
	"__vdso_time":         shimTime,
}

// int clock_gettime(clockid_t edi, struct timespec *rsi)
//
// The slot that counts is the one that the byte's lowest bits name. A reader that finds
// the byte changed afterwards reads again: so it sees what was set before or after, however
// the kernel's copy into the process is split, and however often it was set meanwhile
// (unless that was a multiple of 256 times).
func shimClockGettime(a *assembler, data uint64) {
	a.emit(0x57)                   // push rdi
	a.emit(0x56)                   // push rsi
	a.emit(0x48, 0x83, 0xec, 0x08) // sub rsp, 8
	a.call("original " + clockGettime)
	a.emit(0x48, 0x83, 0xc4, 0x08) // add rsp, 8
	a.emit(0x5e)                   // pop rsi
	a.emit(0x5f)                   // pop rdi
	a.emit(0x85, 0xc0)             // test eax, eax
	a.short(0x75, "cg out")        // jnz: it failed
	a.emit(0x83, 0xff, 0x0b)       // cmp edi, 11
	a.short(0x77, "cg out")        // ja: also every negative id, a CPU-time or device clock
	a.emit32(shiftedClocks, 0xba)  // mov edx, shiftedClocks
	a.emit(0x0f, 0xa3, 0xfa)       // bt edx, edi
	a.short(0x72, "cg wrong")      // jc
	a.place("cg out")
	a.emit(0xc3) // ret

	a.place("cg wrong")
	a.emit32(second, 0x48, 0x69, 0x06) // imul rax, [rsi], 1e9
	a.emit(0x48, 0x03, 0x46, 0x08)     // add rax, [rsi+8]
	a.emit(0x49, 0x89, 0xc3)           // mov r11, rax: the true time in ns
	a.place("cg slot")
	a.emitTo(data, 0x0f, 0xb6, 0x0d)         // movzx ecx, byte [set]
	a.emit(0x41, 0x89, 0xc8)                 // mov r8d, ecx
	a.emit(0x83, 0xe1, slots-1)              // and ecx, slots-1
	a.emit(0xc1, 0xe1, 0x05)                 // shl ecx, 5
	a.emitTo(data+slotsAt, 0x48, 0x8d, 0x15) // lea rdx, [slots]
	a.emit(0x4c, 0x8b, 0x0c, 0x0a)           // mov r9, [rdx+rcx]: gain
	a.emit(0x4c, 0x8b, 0x54, 0x0a, 0x08)     // mov r10, [rdx+rcx+8]: ahead
	a.emit(0x48, 0x8b, 0x7c, 0x0a, 0x10)     // mov rdi, [rdx+rcx+16]: strobe
	a.emitTo(data, 0x0f, 0xb6, 0x0d)         // movzx ecx, byte [set]
	a.emit(0x44, 0x39, 0xc1)                 // cmp ecx, r8d
	a.short(0x75, "cg slot")                 // jne
	a.emit(0x4d, 0x85, 0xc9)                 // test r9, r9
	a.short(0x74, "cg even")                 // jz: no multiplication
	a.emit(0x49, 0xf7, 0xe9)                 // imul r9
	a.emit(0x48, 0x0f, 0xac, 0xd0, 0x20)     // shrd rax, rdx, 32
	a.emit(0x4c, 0x01, 0xd8)                 // add rax, r11
	a.place("cg even")
	a.emit(0x4c, 0x01, 0xd0)                    // add rax, r10
	a.emit(0x49, 0x0f, 0xba, 0xe3, strobeShift) // bt r11, strobeShift
	a.short(0x73, "cg split")                   // jnc
	a.emit(0x48, 0x01, 0xf8)                    // add rax, rdi
	a.place("cg split")
	a.emit(0x48, 0x99)          // cqo
	a.emit32(second, 0xb9)      // mov ecx, 1e9
	a.emit(0x48, 0xf7, 0xf9)    // idiv rcx
	a.emit(0x48, 0x85, 0xd2)    // test rdx, rdx
	a.short(0x79, "cg save")    // jns
	a.emit(0x48, 0xff, 0xc8)    // dec rax: before 1970
	a.emit(0x48, 0x01, 0xca)    // add rdx, rcx
	a.place("cg save")          //
	a.emit(0x48, 0x89, 0x06)    // mov [rsi], rax
	a.emit(0x48, 0x89, 0x56, 8) // mov [rsi+8], rdx
	a.emit(0x31, 0xc0)          // xor eax, eax
	a.emit(0xc3)                // ret
}

// int gettimeofday(struct timeval *rdi, struct timezone *rsi). Its time is that of the
// shifted clock, so that the two never disagree; the original knows the time zone.
func shimGettimeofday(a *assembler, _ uint64) {
	a.emit(0x48, 0x85, 0xf6) // test rsi, rsi
	a.short(0x74, "gt time") // jz: no time zone is asked for
	a.emit(0x57)             // push rdi
	a.call("original __vdso_gettimeofday")
	a.emit(0x5f)            // pop rdi
	a.emit(0x85, 0xc0)      // test eax, eax
	a.short(0x75, "gt out") // jnz: it failed
	a.place("gt time")
	a.emit(0x31, 0xc0)             // xor eax, eax
	a.emit(0x48, 0x85, 0xff)       // test rdi, rdi
	a.short(0x74, "gt out")        // jz
	a.emit(0x57)                   // push rdi
	a.emit(0x48, 0x83, 0xec, 0x10) // sub rsp, 16
	a.emit(0x31, 0xff)             // xor edi, edi: CLOCK_REALTIME
	a.emit(0x48, 0x89, 0xe6)       // mov rsi, rsp
	a.call(clockGettime)
	a.emit(0x48, 0x8b, 0x0c, 0x24)         // mov rcx, [rsp]
	a.emit(0x48, 0x8b, 0x54, 0x24, 0x08)   // mov rdx, [rsp+8]
	a.emit(0x48, 0x83, 0xc4, 0x10)         // add rsp, 16
	a.emit(0x5f)                           // pop rdi
	a.emit(0x85, 0xc0)                     // test eax, eax
	a.short(0x75, "gt out")                // jnz
	a.emit32(0x10624dd3, 0x48, 0x69, 0xd2) // imul rdx, rdx, 2^38/1000
	a.emit(0x48, 0xc1, 0xea, 0x26)         // shr rdx, 38: now microseconds
	a.emit(0x48, 0x89, 0x0f)               // mov [rdi], rcx
	a.emit(0x48, 0x89, 0x57, 0x08)         // mov [rdi+8], rdx
	a.place("gt out")
	a.emit(0xc3) // ret
}

const second = 1_000_000_000

// time_t time(time_t *rdi). Its seconds are those of the shifted coarse clock: adding
// an offset to the true seconds would turn over at another instant than that clock.
func shimTime(a *assembler, _ uint64) {
	a.emit(0x57)                   // push rdi
	a.emit(0x48, 0x83, 0xec, 0x10) // sub rsp, 16
	a.emit32(5, 0xbf)              // mov edi, CLOCK_REALTIME_COARSE
	a.emit(0x48, 0x89, 0xe6)       // mov rsi, rsp
	a.call(clockGettime)
	a.emit(0x48, 0x8b, 0x04, 0x24) // mov rax, [rsp]
	a.emit(0x48, 0x83, 0xc4, 0x10) // add rsp, 16
	a.emit(0x5f)                   // pop rdi
	a.emit(0x48, 0x85, 0xff)       // test rdi, rdi
	a.short(0x74, "tm out")        // jz
	a.emit(0x48, 0x89, 0x07)       // mov [rdi], rax
	a.place("tm out")
	a.emit(0xc3) // ret
}
