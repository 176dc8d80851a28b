package exec

import (
	"strings"
	"testing"

	"github.com/picklock/picklock/clients"
)

// FuzzExecAnswer: whatever line a child writes, it is the answer to one request, the
// loss or the renewal of one grant, or an error that quotes it.
func FuzzExecAnswer(f *testing.F) {
	for _, line := range []string{
		`{"id":2,"ok":true,"token":33,"lease_ms":990}`, `{"id":2,"ok":false,"error":"timeout","definite":true}`, `{"id":3,"ok":true}`, `{"event":"lost","key":"k0"}`,
		`{"event":"renewed","key":"k0","lease_ms":500,"since_ns":1}`, `{"event":"renewed","key":"k0"}`, `{"id":4,"ok":true,"tokens":true,"kind":"semaphore","permits":3}`, `{"id":4,"ok":true,"kind":7}`,
		`{"event":"lost"}`, `{"event":"found","key":"k0"}`, `{"id":9,"ok":true}`, `{"id":2}`, `{"id":"2"}`, `[]`, `null`, `{}`, ``, `{"id":2,"ok":true}{"id":3,"ok":true}`,
		`{"id":2,"ok":true,"token":-1,"lease_ms":9223372036854775807,"since_ns":-5}`, "\xff", `{"ID":3,"Ok":true,"id":2}`,
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		held := &childGrant{lost: make(chan struct{}), renewals: make(chan clients.Renewal, 1)}
		c := &child{grants: map[string][]*childGrant{"k0": {held}}}
		asked := map[int64]string{2: "acquire", 3: "release", 4: "open"}
		id, a, err := c.take(line, func(id int64) (*Request, bool) {
			op, ok := asked[id]
			return &Request{ID: id, Op: op, Key: "k1"}, ok
		})
		answered := err == nil && id != 0
		if answered {
			if a.ID != id || a.OK == nil || asked[id] == "" {
				t.Fatalf("%q answers %d: %+v", line, id, a)
			}
			if granted := *a.OK && id == 2; granted != (a.grant != nil) || granted != (len(c.grants["k1"]) == 1) {
				t.Fatalf("%q: granted %v, can be lost: %v", line, granted, a.grant != nil)
			}
		}
		lost := len(held.renewals) > 0
		select {
		case <-held.lost:
			lost = true
		default:
		}
		switch {
		case err != nil && (id != 0 || lost):
			t.Fatalf("%q is refused (%v), and had an effect", line, err)
		case err != nil && !strings.Contains(err.Error(), quote(line)):
			t.Fatalf("%q is not quoted: %v", line, err)
		case answered && lost:
			t.Fatalf("%q has more than one meaning", line)
		}
	})
}
