package checker

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/picklock/picklock/internal/bulk"
)

// analysed is a whole input, whatever time that takes.
func analysed(in Input) *analysis { return analyse(context.Background(), in) }

// looks is a context that ends when it has been looked at so many times.
type looks struct {
	context.Context
	left, seen int
}

func (l *looks) Err() error {
	l.seen++
	if l.seen > l.left {
		return context.DeadlineExceeded
	}
	return nil
}

// TestEndsWhereverTheTimeIsOver: whenever the time is over, what was decided by then is what
// more time decides, and the rest is unknown.
func TestEndsWhereverTheTimeIsOver(t *testing.T) {
	for _, k := range bulk.Kinds() {
		t.Run(k.Name, func(t *testing.T) {
			h := k.Make(400)
			in := Input{Events: h.Events, Effects: h.Effects, Options: Options{Skew: h.Skew, Fair: h.Fair, NoLock: h.NoLock, SkipCrossCheck: true}}
			all := &looks{Context: t.Context(), left: 1 << 30}
			whole := CheckContext(all, in)
			if !reflect.DeepEqual(whole, Check(in)) {
				t.Fatal("a context that does not end changes the verdict")
			}
			reported := map[string]bool{}
			for _, a := range whole.Anomalies {
				reported[jsonOf(t, a)] = true
			}
			step := max(1, all.seen/12)
			for left := 0; left < all.seen; left += step {
				v := CheckContext(&looks{Context: t.Context(), left: left}, in)
				if v.Valid == True || v.Valid == False && whole.Valid != False {
					t.Errorf("%v after %d of %d looks at the time; %v with all of it", v.Valid, left, all.seen, whole.Valid)
				}
				for name, p := range v.Properties {
					want := whole.Properties[name]
					if p.Valid != Unknown && p.Valid != want.Valid || p.Anomalies > want.Anomalies {
						t.Errorf("%s is %v (%d) after %d of %d looks at the time; %v (%d) with all of it", name, p.Valid, p.Anomalies, left, all.seen, want.Valid, want.Anomalies)
					}
					if p.Valid == False && p.Anomalies < want.Anomalies && !strings.Contains(p.Why, moreInTime) {
						t.Errorf("%s: %d of %d are reported as if they were all: %s", name, p.Anomalies, want.Anomalies, p.Why)
					}
				}
				for _, a := range v.Anomalies {
					if !reported[jsonOf(t, a)] {
						t.Fatalf("%s is reported after %d of %d looks at the time, and not with all of it: %s", a.Name, left, all.seen, a.Explanation)
					}
				}
			}
		})
	}
}

// TestFindersEndSoon: no finder goes on for long when the time is over.
func TestFindersEndSoon(t *testing.T) {
	for _, k := range bulk.Kinds() {
		h := k.Make(4_000)
		in := Input{Events: h.Events, Effects: h.Effects, Options: Options{Fair: h.Fair, NoLock: h.NoLock, SkipCrossCheck: true}}
		an := analysed(in)
		if an.unlocked {
			continue
		}
		for _, kind := range Anomalies() {
			an.limit = &limit{ctx: &looks{Context: t.Context()}} // over at the first look
			if n := len(an.find(kind)); n > every {
				t.Errorf("%s: the finder of %s reported %d anomalies after the time was over", k.Name, kind.Name, n)
			}
		}
	}
}

func jsonOf(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
