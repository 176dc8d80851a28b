package results

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/picklock/picklock/internal/format"
)

// TestScriptWritesAsThePageDoes runs one table through both: the same length of time is
// the same text in the page and in what its script draws.
func TestScriptWritesAsThePageDoes(t *testing.T) {
	ctx, _ := open(t)
	us := []int64{0, 1, 999, 1000, 1125, 1135, 12_250, 12_750, 999_994, 999_995, 1e6, 1.125e6, 1.375e6, 62_500, 187_500, 59.95e6, 599.9e6, 600e6, 630e6, 690e6, 7199e6, 7200e6, 9000e6, -1, -62_500, -1.5e6}
	r := rand.New(rand.NewPCG(1, 1))
	for range 20_000 {
		v := r.Int64N(1 << (1 + r.IntN(40)))
		us = append(us, v, v/125*125)
	}
	var want []string
	for _, v := range us {
		want = append(want, format.Page.Length(v*1000), format.Instant(v*1000), format.InstantTo(v*1000, 1))
	}
	rule, err := json.Marshal(styles().Lengths)
	if err != nil {
		t.Fatal(err)
	}
	table, err := json.Marshal(us)
	if err != nil {
		t.Fatal(err)
	}
	got := eval[[]string](t, ctx, fmt.Sprintf(`(() => { %s
		const f = formatter(%s);
		return %s.flatMap((v) => [f.length(v), f.instant(v), f.instant(v, 1)]);
	})()`, formatJS, rule, table))
	if len(got) != len(want) {
		t.Fatalf("%d texts, want %d", len(got), len(want))
	}
	for i := range got {
		if got[i] != want[i] {
			t.Errorf("%d µs: the script writes %q, the page %q", us[i/3], got[i], want[i])
		}
	}
}
