package clock

import (
	"encoding/binary"
	"math"
	"math/bits"
	"time"
)

// slot is a setting as the hook computes with it. At the true time t, in ns since 1970,
// the clock reads
//
//	t + t*gain/2^32 + ahead, and strobe more while bit strobeShift of t is set.
//
// All of it wraps at 64 bits, in which the terms cancel: ahead takes back what the gain
// made of all the time before the rate was set.
type slot struct {
	gain   int64 // the rate less 1, in 2^-32
	ahead  int64 // ns
	strobe int64 // ns
}

// slotLen is the length of an encoded slot; its last 8 bytes are not in use.
const slotLen = 32

func (s slot) encode() []byte {
	b := make([]byte, slotLen)
	for i, v := range []int64{s.gain, s.ahead, s.strobe} {
		binary.LittleEndian.PutUint64(b[8*i:], uint64(v))
	}
	return b
}

func decodeSlot(b []byte) slot {
	word := func(i int) int64 { return int64(binary.LittleEndian.Uint64(b[8*i:])) }
	return slot{gain: word(0), ahead: word(1), strobe: word(2)}
}

// gained is t*gain/2^32, rounded down.
func (s slot) gained(t int64) int64 {
	hi, lo := bits.Mul64(uint64(t), uint64(s.gain))
	if s.gain < 0 {
		hi -= uint64(t)
	}
	return int64(hi<<32 | lo>>32)
}

// slot is what makes a clock read as the setting says from the true time t on.
func (s Setting) slot(t int64) slot {
	out := slot{strobe: int64(s.Strobe)}
	if s.Rate != 0 {
		out.gain = int64(math.Round((s.Rate - 1) * (1 << 32)))
	}
	out.ahead = int64(s.Offset) - out.gained(t)
	return out
}

// setting is how the clock stands at the true time t.
func (s slot) setting(t int64) Setting {
	return Setting{
		Offset: time.Duration(s.gained(t) + s.ahead),
		Rate:   1 + float64(s.gain)/(1<<32),
		Strobe: time.Duration(s.strobe),
	}
}
