package clock

import (
	"fmt"
	"os"
	"regexp"
	"testing"
)

// seeds returns this machine's vDSO for the fuzzer to damage.
func seeds() [][]byte {
	p, err := openProcess(os.Getpid())
	if err != nil {
		return nil
	}
	defer p.close()
	return [][]byte{p.v.bytes}
}

func TestThisMachinesVDSO(t *testing.T) {
	p, err := openProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	prog, err := build(p.v, anHour)
	if err != nil {
		t.Fatal(err)
	}
	checkProgram(t, p.v, prog)
	if len(prog.sites) != len(hooked) {
		t.Errorf("%d functions", len(prog.sites))
	}
	if !zero(p.v.bytes[p.v.free:]) {
		t.Error("the unused tail is not zero")
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	if line := regexp.MustCompile(`(?m)^.* \[vdso\]$`).Find(maps); line != nil { // a list may lack it
		var lo, hi uint64
		if _, err := fmt.Sscanf(string(line), "%x-%x", &lo, &hi); err != nil || lo != p.v.base || hi != lo+uint64(len(p.v.bytes)) {
			t.Errorf("%d bytes at %#x, where the kernel says %s", len(p.v.bytes), p.v.base, line)
		}
	}
	t.Logf("vDSO of %d bytes, %d unused, the hook takes %d", len(p.v.bytes), len(p.v.bytes)-p.v.free, len(prog.bytes))
	for _, s := range prog.sites {
		for _, in := range s.insts {
			x, _ := decode(in.bytes)
			t.Logf("  +%d %v", in.offset, x)
		}
	}
}
