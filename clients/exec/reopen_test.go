package exec

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/contract"
)

// TestReopen: a program that declares it is opened once more in the same process. Of any other, and where it fails, the
// caller learns that it needs a new one.
func TestReopen(t *testing.T) {
	const first = `read line; say '{"id":1,"ok":true,"renew":true,"reopens":true}'; `
	const granted = `read line; say '{"id":2,"ok":true,"lease_ms":500}'; read line; `
	for name, tc := range map[string]struct {
		body string
		want string // in the error, "" for none
		is   error
	}{
		"opened once more":   {body: first + granted + `say '{"id":3,"ok":true,"renew":true,"reopens":true}'; read line; say '{"event":"lost","key":"k"}'; say '{"id":4,"ok":true,"lease_ms":600}'; read line`},
		"not declared":       {body: `read line; say '{"id":1,"ok":true,"renew":true}'; ` + granted, is: errors.ErrUnsupported},
		"refuses":            {body: first + granted + `say '{"id":3,"ok":false,"error":"still closing","definite":true}'; read line`, want: "still closing"},
		"declares otherwise": {body: first + granted + `say '{"id":3,"ok":true,"reopens":true}'; read line`, want: "declared"},
		"has ended":          {body: first + `read line; say '{"id":2,"ok":true,"lease_ms":500}'; exit 3`, want: "ended"},
	} {
		t.Run(name, func(t *testing.T) {
			l := contract.Open(t, named(script(t, tc.body)), "c1", nil, time.Second)
			g, err := l.Acquire(t.Context(), "k")
			if err != nil {
				t.Fatal(err)
			}
			if name == "has ended" {
				<-g.Ref.(execRef).child.Ended()
			}
			next, err := l.(clients.Reopener).Reopen(t.Context(), clients.Options{Client: "c1", TTL: time.Second})
			if tc.want != "" || tc.is != nil {
				if err == nil || !strings.Contains(err.Error(), tc.want) || tc.is != nil && !errors.Is(err, tc.is) {
					t.Fatalf("%v, want %q %v", err, tc.want, tc.is)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer next.Close()
			if _, ok := next.(clients.Renewer); !ok {
				t.Error("opened once more, it does not renew")
			}
			if err := l.Close(); err != nil { // it has no program any more
				t.Fatal(err)
			}
			again, err := next.Acquire(t.Context(), "k2")
			if err != nil || again.Lease != 600*time.Millisecond {
				t.Fatalf("%+v, %v; want a lease of 600 ms", again, err)
			}
			select {
			case <-g.Lost:
				t.Error("a loss that was reported after it was opened once more is of a grant from before")
			default:
			}
		})
	}
}
