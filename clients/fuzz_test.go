package clients

import (
	"strings"
	"testing"
)

// FuzzExecAnswer: whatever line a child writes, it is the answer to one request, the
// loss of one grant, or an error that quotes it.
func FuzzExecAnswer(f *testing.F) {
	for _, line := range []string{
		`{"id":2,"ok":true,"token":33,"lease_ms":990}`, `{"id":2,"ok":false,"error":"timeout","definite":true}`, `{"id":3,"ok":true}`, `{"event":"lost","key":"k0"}`,
		`{"event":"lost"}`, `{"event":"found","key":"k0"}`, `{"id":9,"ok":true}`, `{"id":2}`, `{"id":"2"}`, `[]`, `null`, `{}`, ``, `{"id":2,"ok":true}{"id":3,"ok":true}`,
		`{"id":2,"ok":true,"token":-1,"lease_ms":9223372036854775807,"since_ns":-5}`, "\xff", `{"ID":3,"Ok":true,"id":2}`,
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		held := make(chan struct{})
		c := &child{dead: make(chan struct{}), lost: map[string]chan struct{}{"k0": held}, calls: map[int64]call{}}
		for id, op := range map[int64]string{2: "acquire", 3: "release"} {
			c.calls[id] = call{execRequest{ID: id, Op: op, Key: "k1"}, make(chan execAnswer, 1)}
		}
		calls := map[int64]call{2: c.calls[2], 3: c.calls[3]}
		err := c.take(line)
		answers := 0
		for id, asked := range calls {
			select {
			case a := <-asked.answer:
				if answers++; a.ID != id || a.OK == nil || c.calls[id].answer != nil {
					t.Fatalf("%q answers %d: %+v", line, id, a)
				}
				if granted := *a.OK && id == 2; granted != (a.lost != nil) || granted != (c.lost["k1"] != nil) {
					t.Fatalf("%q: granted %v, can be lost: %v", line, granted, a.lost != nil)
				}
			default:
			}
		}
		lost := false
		select {
		case <-held:
			lost = true
		default:
		}
		switch {
		case err != nil && (answers > 0 || lost):
			t.Fatalf("%q is refused (%v), and had an effect", line, err)
		case err != nil && !strings.Contains(err.Error(), quote(line)):
			t.Fatalf("%q is not quoted: %v", line, err)
		case answers > 1 || (answers == 1 && lost):
			t.Fatalf("%q says more than one thing", line)
		}
	})
}
