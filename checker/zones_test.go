package checker

import (
	"fmt"
	"strings"
	"testing"

	"github.com/anishathalye/porcupine"
	"pgregory.net/rapid"
)

func drawOps(t *rapid.T) []*op {
	n := rapid.IntRange(1, 7).Draw(t, "operations")
	var ops []*op
	writes := 0
	for range n {
		o := &op{f: fRead, process: "c", typ: tOK, inv: -1, comp: -1}
		o.invT = rapid.Int64Range(1, 12).Draw(t, "inv")
		o.endT = o.invT + rapid.Int64Range(0, 5).Draw(t, "takes")
		if rapid.IntRange(0, 2).Draw(t, "kind") == 0 {
			o.f = fWrite
			writes++
			o.value = fmt.Sprint(writes)
			if rapid.IntRange(0, 3).Draw(t, "known") == 0 {
				o.typ = tInfo
			}
		}
		ops = append(ops, o)
	}
	for _, o := range ops {
		if o.f == fRead {
			if v := rapid.IntRange(0, writes).Draw(t, "value"); v > 0 {
				o.value = fmt.Sprint(v)
			}
		}
	}
	return ops
}

// linearizable tries all orders, and for every write of unknown outcome both
// that it took effect and that it did not.
func linearizable(ops []*op) bool {
	used := make([]bool, len(ops))
	end := func(o *op) int64 {
		if o.typ == tOK {
			return o.endT
		}
		return never
	}
	var try func(value string) bool
	try = func(value string) bool {
		done := true
		for i, o := range ops {
			done = done && (used[i] || o.typ != tOK)
			if used[i] || (o.f == fRead && o.value != value) {
				continue
			}
			first := true
			for j, p := range ops {
				first = first && (i == j || used[j] || p.typ != tOK || end(p) >= o.invT)
			}
			if !first {
				continue
			}
			next := value
			if o.f != fRead {
				next = o.value
			}
			used[i] = true
			ok := try(next)
			used[i] = false
			if ok {
				return true
			}
		}
		return done
	}
	return try("")
}

func TestZonesAreExact(t *testing.T) {
	bad, good := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		ops := drawOps(t)
		zones, orphans := clusters(ops)
		exact := len(orphans) == 0 && len(crossings(zones)) == 0
		if brute := linearizable(ops); brute != exact {
			t.Fatalf("exact %v, brute force %v", exact, brute)
		}
		read := map[string]bool{}
		for _, o := range ops {
			read[o.value] = read[o.value] || o.f == fRead
		}
		took := func(o *op) bool { return read[o.value] }
		if arbiter := porcupine.CheckOperations(registerModel(""), registerCalls(ops, took)); arbiter != exact {
			t.Fatalf("exact %v, Porcupine %v", exact, arbiter)
		}
		if exact {
			good++
		} else {
			bad++
		}
	})
	if min(good, bad) == 0 && !testing.Short() {
		t.Errorf("%d good and %d bad histories: the test sees one side only", good, bad)
	}
}

// TestCheckRegister: the exported form says what the clusters say, and names
// operations that contradict each other by themselves.
func TestCheckRegister(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ops := drawOps(t)
		var list []RegisterOp
		for _, o := range ops {
			list = append(list, RegisterOp{Write: o.f != fRead, Value: o.value, Call: o.invT, Reply: o.endT, Unknown: o.typ == tInfo})
		}
		evidence := CheckRegister(list)
		if legal := linearizable(ops); legal != (evidence == nil) {
			t.Fatalf("linearizable %v, evidence %v", legal, evidence)
		}
		if evidence == nil {
			return
		}
		var part []*op
		for _, i := range evidence {
			part = append(part, ops[i])
		}
		if linearizable(part) {
			t.Fatalf("operations %v show nothing", evidence)
		}
	})
}

// TestZoneWords: what was read is named, the value before the first write, too.
func TestZoneWords(t *testing.T) {
	v := Check(script(t, `
0.10-0.11 c1 acquire c1.1
0.12-0.13 c1 write c1.1 value=a
0.14-0.15 c1 read c1.1
0.16-0.17 c1 read c1.1 value=a
`))
	const want = `the first value and the value "a" were each seen before the other: the first value at the start, and the value "a" in what was sent at `
	if len(v.Anomalies) != 1 || !strings.HasPrefix(v.Anomalies[0].Explanation, want) {
		t.Errorf("%+v", v.Anomalies)
	}
}
