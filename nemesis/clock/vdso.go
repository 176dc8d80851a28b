package clock

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
)

// image is a process's vDSO as it stands in its memory.
type image struct {
	base  uint64 // address in the process
	bytes []byte
	funcs map[string]function
	free  int // offset of the first byte after everything the ELF file uses, 64-aligned
}

// function is one exported function: where in image.bytes it lies.
type function struct{ offset, size int }

// maxImage bounds what is believed to be a vDSO; real ones have 1 to 3 pages.
const maxImage = 64 << 10

// headerLen is the length of an ELF file's header.
const headerLen = 64

// imageSize returns how many bytes the vDSO with this header takes in memory: whole pages,
// up to the end of its section table, which comes last. Nothing in debug/elf says where
// that is.
func imageSize(header []byte) (int, error) {
	end := tableEnd(header)
	if !bytes.HasPrefix(header, []byte(elf.ELFMAG)) || end < headerLen || end > maxImage {
		return 0, fmt.Errorf("%w: its vDSO has an unexpected header", ErrUnsupported)
	}
	return int(end+4095) &^ 4095, nil
}

// tableEnd returns the offset after the section table.
func tableEnd(header []byte) uint64 {
	shoff := binary.LittleEndian.Uint64(header[40:])
	if shoff > maxImage {
		return shoff
	}
	return shoff + uint64(binary.LittleEndian.Uint16(header[58:]))*uint64(binary.LittleEndian.Uint16(header[60:]))
}

// parseImage reads the vDSO in b, mapped at base. The bytes come from another
// process's memory, so nothing in them is trusted to be in range.
func parseImage(base uint64, b []byte) (*image, error) {
	if len(b) < headerLen || len(b) > maxImage || len(b)%4096 != 0 {
		return nil, fmt.Errorf("%w: its vDSO has an unexpected size of %d bytes", ErrUnsupported, len(b))
	}
	f, err := elf.NewFile(bytes.NewReader(b))
	if err != nil {
		return nil, fmt.Errorf("%w: reading its vDSO: %w", ErrUnsupported, err)
	}
	if f.Class != elf.ELFCLASS64 || f.Machine != elf.EM_X86_64 {
		return nil, fmt.Errorf("%w: it is a %v process (%v), only 64-bit x86-64 ones can be patched", ErrUnsupported, f.Machine, f.Class)
	}
	// The bytes after the last thing the file describes are never looked at by anybody.
	end := tableEnd(b)
	if end > maxImage {
		return nil, fmt.Errorf("%w: its vDSO's section table lies outside", ErrUnsupported)
	}
	extend := func(off, size uint64) error {
		if off > maxImage || size > maxImage {
			return fmt.Errorf("%w: a part of its vDSO lies outside", ErrUnsupported)
		}
		end = max(end, off+size)
		return nil
	}
	var bias uint64
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD {
			bias = p.Vaddr - p.Off
		}
		if err := extend(p.Off, p.Filesz); err != nil {
			return nil, err
		}
	}
	for _, s := range f.Sections {
		if s.Type == elf.SHT_NOBITS {
			continue
		}
		if err := extend(s.Offset, s.FileSize); err != nil {
			return nil, err
		}
	}
	syms, err := f.DynamicSymbols()
	if err != nil {
		return nil, fmt.Errorf("%w: reading its vDSO's symbols: %w", ErrUnsupported, err)
	}
	v := &image{base: base, bytes: b, funcs: map[string]function{}}
	for _, s := range syms {
		off := s.Value - bias
		if s.Section == elf.SHN_UNDEF || elf.ST_TYPE(s.Info) != elf.STT_FUNC ||
			off >= uint64(len(b)) || s.Size > uint64(len(b))-off {
			continue
		}
		v.funcs[s.Name] = function{int(off), int(s.Size)}
	}
	v.free = min(int(end+63)&^63, len(b))
	return v, nil
}
