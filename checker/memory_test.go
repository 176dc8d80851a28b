package checker

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/picklock/picklock/history"
)

// allocated is how many bytes reading and judging a history has taken in all, whatever of it
// was given back meanwhile.
func allocated(tb testing.TB, text []byte) uint64 {
	tb.Helper()
	file := filepath.Join(tb.TempDir(), "h.jsonl")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		tb.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if events, err := history.Decode(bytes.NewReader(text), "h"); err == nil {
		Check(Input{Events: events, Options: Options{SkipCrossCheck: true}})
	}
	_, _ = CheckFiles(tb.Context(), file, "", Options{SkipCrossCheck: true}, nil)
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// What a file may take: so much at once, and so much for each of its bytes.
const memoryOnce, memoryByte = 32 << 20, 8 << 10

func boundedMemory(tb testing.TB, text []byte) {
	tb.Helper()
	if got, most := allocated(tb, text), uint64(memoryOnce+memoryByte*len(text)); got > most {
		tb.Errorf("%d bytes of a history took %d bytes, more than %d\n%.2000s", len(text), got, most, text)
	}
}

// numbered is a history of grants of one client with these numbers.
func numbered(numbers []int64) []byte {
	var out bytes.Buffer
	at := 0
	for _, n := range numbers {
		for _, e := range []string{`"invoke","f":"acquire"`, `"ok","f":"acquire","grant":"c1.%d"`, `"invoke","f":"release","grant":"c1.%d"`, `"ok","f":"release","grant":"c1.%d"`} {
			if at%4 > 0 {
				e = fmt.Sprintf(e, n)
			}
			fmt.Fprintf(&out, `{"index":%d,"time":%d,"process":"c1","key":"k","type":%s}`+"\n", at, 1000*(at+1), e)
			at++
		}
	}
	return out.Bytes()
}

// Numbers in the names of grants choose no memory, however they grow.
func TestMemoryIsTheFiles(t *testing.T) {
	for name, next := range map[string]func(n int64) int64{
		"twice as much, and more":        func(n int64) int64 { return 2*n + 64 },
		"three times as much":            func(n int64) int64 { return 3*n + 1 },
		"as far as it goes, and beyond":  func(n int64) int64 { return n + 16*n + 64 },
		"nine digits from the beginning": func(n int64) int64 { return 999_999_000 + n%1000 + 1 },
	} {
		var numbers []int64
		for n := int64(64); n < 1e9 && len(numbers) < 40; n = next(n) {
			numbers = append(numbers, n)
		}
		t.Run(name, func(t *testing.T) { boundedMemory(t, numbered(numbers)) })
	}
}

func FuzzMemory(f *testing.F) {
	f.Add(numbered([]int64{64, 192, 448, 960, 1984}))
	f.Add([]byte(`{"index":0,"time":1,"process":"c1","type":"invoke","f":"acquire","key":"k"}` + "\n" +
		`{"index":1,"time":2,"process":"c1","type":"ok","f":"acquire","key":"k","grant":"c1.7","permits":1000000000,"mode":"shared"}` + "\n"))
	f.Fuzz(func(t *testing.T, text []byte) { boundedMemory(t, text) })
}
