package history

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkStream is what an event costs to read, as it is written by picklock and by others.
func BenchmarkStream(b *testing.B) {
	const n = 20_000
	for name, write := range map[string]func(i int) string{
		"own": func(i int) string {
			return fmt.Sprintf(`{"index":%d,"time":%d,"process":"c%d","type":"ok","f":"acquire","key":"k0","grant":"c%d.%d","token":%d,"since":%d,"lease":1000000000}`, i, i*1000, i%50, i%50, i, i, i*1000)
		},
		"foreign": func(i int) string {
			return fmt.Sprintf(`{"time": %d, "type": "ok", "f": "acquire", "process": "c%d", "host": "node-%d", "threadId": %d, "key": "Lager-ä", "grant": "g%d", "index": %d}`, i*1000, i%50, i%7, i, i, i)
		},
	} {
		var text strings.Builder
		for i := range n {
			text.WriteString(write(i) + "\n")
		}
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(text.Len()))
			for b.Loop() {
				if err := Stream(strings.NewReader(text.String()), "h", func(*Event, int) error { return nil }); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+", one decoder", func(b *testing.B) {
			whole := []byte(text.String())
			in := &interner{}
			var batch batch[Event]
			b.SetBytes(int64(len(whole)))
			for b.Loop() {
				batch.text, batch.lines, batch.records = whole, 0, batch.records[:0]
				if batch.decode(fastEvent, in); batch.err != nil || batch.lines != n {
					b.Fatal(batch.lines, batch.err)
				}
			}
		})
	}
}
