package adapter

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// memory is a lock that is granted once, and fails as key says.
type memory struct{ held bool }

func (m *memory) Open(o Open) (Abilities, error) {
	if o.TTL != 2*time.Second || len(o.Servers) != 1 || o.Options["a"] != "b" {
		return nil, fmt.Errorf("opened with %+v", o)
	}
	return Abilities{"renew": true}, nil
}

func (m *memory) Acquire(ctx context.Context, key string) (*Grant, error) {
	switch {
	case key == "not sent":
		return nil, fmt.Errorf("dial: %w", ErrNotSent)
	case key == "unknown":
		return nil, errors.New("no answer")
	case m.held:
		<-ctx.Done()
		return nil, nil
	}
	m.held = true
	return &Grant{Token: 7, Lease: &Lease{For: 990 * time.Millisecond, Since: 5}}, nil
}

func (m *memory) Renew(string) (*Lease, error) {
	if !m.held {
		return nil, nil
	}
	return &Lease{For: time.Second}, nil
}

func (m *memory) Release(string) (bool, error) {
	was := m.held
	m.held = false
	return was, nil
}

// Each request has its answer, with what the lock said and no more.
func TestAnswers(t *testing.T) {
	requests := `{"id":1,"op":"open","servers":["s:1"],"client":"c1","ttl_ms":2000,"options":{"a":"b"}}
{"id":2,"op":"acquire","key":"k","timeout_ms":5000}
{"id":3,"op":"acquire","key":"k","timeout_ms":1}
{"id":13,"op":"acquire","key":"k","timeout_ms":60000,"cancel_ms":1}
{"id":4,"op":"renew","key":"k"}
{"id":5,"op":"release","key":"k"}
{"id":6,"op":"release","key":"k"}
{"id":7,"op":"renew","key":"k"}
{"id":8,"op":"acquire","key":"not sent"}
{"id":9,"op":"acquire","key":"unknown"}
{"id":10,"op":"nonsense"}
{"id":11,"op":"close"}
{"id":12,"op":"release","key":"k"}
`
	want := []string{
		`{"cancels":true,"id":1,"ok":true,"renew":true}`,
		`{"id":2,"lease_ms":990,"ok":true,"since_ns":5,"token":7}`,
		`{"definite":true,"error":"timeout","id":3,"ok":false}`,
		`{"definite":true,"error":"cancelled","id":13,"ok":false}`,
		`{"id":4,"lease_ms":1000,"ok":true}`,
		`{"id":5,"ok":true}`,
		`{"definite":true,"error":"not held","id":6,"ok":false}`,
		`{"definite":true,"error":"not held","id":7,"ok":false}`,
		`{"definite":true,"error":"dial: not sent","id":8,"ok":false}`,
		`{"definite":false,"error":"no answer","id":9,"ok":false}`,
		`{"definite":true,"error":"unknown request nonsense","id":10,"ok":false}`,
	}
	var out bytes.Buffer
	p := &Program{lock: &memory{}, out: json.NewEncoder(&out)}
	if err := p.serve(strings.NewReader(requests)); err != nil {
		t.Fatal(err)
	}
	if got := strings.Split(strings.TrimSpace(out.String()), "\n"); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("answered\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if err := p.serve(strings.NewReader("{")); err == nil {
		t.Error("half a request is none")
	}
}

func TestEvents(t *testing.T) {
	var out bytes.Buffer
	p := &Program{out: json.NewEncoder(&out)}
	if err := errors.Join(p.Renewed("k", Lease{time.Second, 5}), p.Lost("k")); err != nil {
		t.Fatal(err)
	}
	if want := `{"event":"renewed","key":"k","lease_ms":1000,"since_ns":5}` + "\n" + `{"event":"lost","key":"k"}` + "\n"; out.String() != want {
		t.Errorf("told %s, want %s", out.String(), want)
	}
}
