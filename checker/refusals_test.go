package checker

import (
	"fmt"
	"strings"
	"testing"

	"github.com/picklock/picklock/history"
)

// TestNeverGrantedSaysWhy: if the lock was never granted, the verdict quotes the error that most acquires ended with.
func TestNeverGrantedSaysWhy(t *testing.T) {
	run := func(errors ...string) string {
		var list []history.Event
		for i, text := range errors {
			for j, typ := range []history.Type{history.Invoke, history.Fail} {
				e := history.Event{Index: int64(2*i + j), Time: int64(2*i+j+1) * 1e6, Process: "c1", Type: typ, F: history.Acquire, Key: "k"}
				if typ == history.Fail {
					e.Error = text
				}
				list = append(list, e)
			}
		}
		return Check(Input{Events: list}).Why
	}
	many := make([]string, 0, 3*maxRefusals)
	for i := range 2 * maxRefusals {
		many = append(many, fmt.Sprint("error ", i))
	}
	for _, c := range []struct {
		name   string
		errors []string
		want   string
	}{
		{"all alike", []string{"wrong password", "wrong password"}, `the lock was never granted: all 2 acquires ended with the error "wrong password"`},
		{"one", []string{"wrong password"}, `the lock was never granted: 1 of 1 acquire ended with the error "wrong password"`},
		{"most", []string{"a", "b", "b"}, `the lock was never granted: 2 of 3 acquires ended with the error "b"`},
		{"no error", []string{"", ""}, "the lock was never granted;"},
		{"many, of which the first count", append(many, "error 3"), `2 of 33 acquires ended with the error "error 3"`},
		{"long", []string{strings.Repeat("x", 2*maxFailure)}, `"` + strings.Repeat("x", maxFailure) + `"`},
	} {
		if got := run(c.errors...); !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	granted := Check(script(t, "0.1-0.2 c1 acquire c1.1\n0.3-0.4 c2 acquire !wrong password")).Why
	if strings.Contains(granted, "wrong password") {
		t.Errorf("the lock was granted, and yet: %q", granted)
	}
}
