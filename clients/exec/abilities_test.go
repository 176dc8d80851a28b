package exec

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/contract"
	"github.com/picklock/picklock/history"
)

// TestExecAbilities: what a program declares, and what the user overrides.
func TestExecAbilities(t *testing.T) {
	tests := map[string]struct {
		open string // members of the answer to open
		said map[string]string
		want []string
		err  string
	}{
		"nothing":             {},
		"all of a mutex":      {open: `,"tokens":true,"lease":true,"kind":"mutex","renew":true,"confirms":true`, want: []string{"tokens=yes", "lease=yes", "renew=yes", "confirms=yes"}},
		"no lease":            {open: `,"lease":false`, want: []string{"lease=no"}},
		"semaphore":           {open: `,"kind":"semaphore","permits":3`, want: []string{"kind=semaphore", "permits=3"}},
		"rw":                  {open: `,"kind":"rw"`, want: []string{"kind=rw"}},
		"reentrant in a word": {open: `,"reentrant":true`, want: []string{"kind=reentrant"}},
		"unknown ability":     {open: `,"colour":["red"]`},
		"said":                {said: map[string]string{"tokens": "yes", "lease": "no"}, want: []string{"tokens=yes", "lease=no"}},
		"said otherwise":      {open: `,"tokens":true,"kind":"semaphore","permits":2`, said: map[string]string{"tokens": "no", "kind": "mutex"}},
		"said permits":        {open: `,"kind":"semaphore","permits":2`, said: map[string]string{"permits": "4"}, want: []string{"kind=semaphore", "permits=4"}},
		"unknown kind":        {open: `,"kind":"latch"`, err: `unknown kind "latch": have mutex, reentrant, rw, semaphore`},
		"no permits":          {open: `,"kind":"semaphore"`, err: `want "permits", 1 to 1000`},
		"too many permits":    {open: `,"kind":"semaphore","permits":1001`, err: `want "permits", 1 to 1000`},
		"permits of a mutex":  {open: `,"permits":2`, err: `only a semaphore has "permits"`},
		"a kind's number":     {open: `,"kind":3`, err: "cannot unmarshal number"},
		"tokens in words":     {open: `,"tokens":"yes"`, err: "cannot unmarshal string"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			info := named(script(t, `read line; say '{"id":1,"ok":true`+tc.open+`}'; read line`))
			l, err := info.Open(t.Context(), clients.Options{Client: "c1", TTL: time.Second, Abilities: tc.said})
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) || !errors.Is(err, clients.ErrProgram) {
					t.Fatalf("%v, want the program's failure with %q", err, tc.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			a := l.(clients.Declarer).Abilities()
			if !slices.Equal(a.Words(), tc.want) {
				t.Errorf("declares %q, want %q", a.Words(), tc.want)
			}
			_, renews := l.(clients.Renewer)
			if _, shares := l.(clients.Sharer); renews != a.Renew || shares != (a.Kind == clients.ReadWrite) {
				t.Errorf("declares %q, is a Renewer: %v, a Sharer: %v", a.Words(), renews, shares)
			}
			i := info.With(a)
			if i.Fencing != a.Tokens || i.Kind != a.Kind || i.Confirms != a.Confirms || i.Permits(nil) != a.Permits || i.Declares {
				t.Errorf("%+v of %q", i, a.Words())
			}
		})
	}
}

// TestExecKeepsItsWord: a grant that contradicts the declaration breaks the protocol.
func TestExecKeepsItsWord(t *testing.T) {
	for name, tc := range map[string]struct{ open, grant, want string }{
		"token":    {`,"tokens":true`, ``, `this grant has no "token"`},
		"lease":    {`,"lease":true`, ``, `this one has no "lease_ms"`},
		"no lease": {`,"lease":false`, `,"lease_ms":500`, `this one has a "lease_ms"`},
		"endless":  {``, `,"lease_ms":9223372036854775807`, `lease_ms out of range`},
	} {
		t.Run(name, func(t *testing.T) {
			l := contract.Open(t, named(script(t, `read line; say '{"id":1,"ok":true`+tc.open+`}'; read line; say '{"id":2,"ok":true`+tc.grant+`}'; read line`)), "c1", nil, time.Second)
			_, err := l.Acquire(t.Context(), "k")
			if !errors.Is(err, clients.ErrProgram) || !errors.Is(err, clients.ErrUnknown) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v, want the program's failure, of unknown outcome, with %q", err, tc.want)
			}
		})
	}
}

// TestSinceWithin names the usual mistakes.
func TestSinceWithin(t *testing.T) {
	now := history.Now()
	from := now - int64(time.Second)
	for name, tc := range map[string]struct {
		since int64
		lease int64 // in milliseconds
		want  string
	}{
		"right":             {now - 5, 0, ""},
		"wall clock":        {time.Now().UnixNano(), 0, "is a wall clock's time (time.time_ns?): give the monotonic clock's, as time.monotonic_ns()"},
		"microseconds":      {now / 1e3, 0, "is not in nanoseconds"},
		"milliseconds":      {now / 1e6, 0, "is not in nanoseconds"},
		"later":             {now + 1e9, 0, "out of range: it is later than now"},
		"earlier":           {from - 7, 0, "out of range: the acquire was asked for at"},
		"a session's":       {from - 7e6, 8, ""},
		"one that was over": {from - 7e6, 7, "when such a lease was over"},
		"never":             {0, 1 << 50, "out of range"},
	} {
		err := SinceWithin(Answer{Since: tc.since, Lease: tc.lease}, from, now)
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}

// TestExecWarns: once, about a lease whose beginning is unknown.
func TestExecWarns(t *testing.T) {
	for name, tc := range map[string]struct {
		grant string
		want  int
	}{"without since_ns": {`,"lease_ms":500`, 1}, "without a lease": {"", 0}} {
		t.Run(name, func(t *testing.T) {
			info := named(script(t, opened+`n=2; while read -r line; do say "{\"id\":$n,\"ok\":true`+strings.ReplaceAll(tc.grant, `"`, `\"`)+`}"; n=$((n+1)); done`))
			var warned []string
			l, err := info.Open(t.Context(), clients.Options{Client: "c1", TTL: time.Second, Warn: func(text string) { warned = append(warned, text) }})
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			for range 3 {
				g, err := l.Acquire(t.Context(), "k")
				if err == nil {
					err = l.Release(t.Context(), g)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if len(warned) != tc.want || tc.want > 0 && !strings.Contains(warned[0], "since_ns") {
				t.Errorf("warned of %q, want %d", warned, tc.want)
			}
		})
	}
}

func TestExecRenew(t *testing.T) {
	for name, tc := range map[string]struct {
		answer  string
		notHeld bool
		want    string
	}{
		"renewed":         {answer: `"ok":true,"lease_ms":700`},
		"not held":        {answer: `"ok":false,"error":"not held","definite":true`, notHeld: true, want: "not held"},
		"without a lease": {answer: `"ok":true`, want: `needs "lease_ms"`},
		"since long ago":  {answer: `"ok":true,"lease_ms":700,"since_ns":5`, want: "out of range"},
	} {
		t.Run(name, func(t *testing.T) {
			l := contract.Open(t, named(script(t, `read line; say '{"id":1,"ok":true,"renew":true}'; read line; say '{"id":2,"ok":true,"lease_ms":500}'; read line; say '{"id":3,`+tc.answer+`}'; read line`)), "c1", nil, time.Second)
			g, err := l.Acquire(t.Context(), "k")
			if err != nil {
				t.Fatal(err)
			}
			before := history.Now()
			r, err := l.(clients.Renewer).Renew(t.Context(), g)
			switch {
			case errors.Is(err, clients.ErrNotHeld) != tc.notHeld || (err == nil) != (tc.want == ""):
				t.Errorf("renew: %v, want %q", err, tc.want)
			case err != nil && !strings.Contains(err.Error(), tc.want):
				t.Errorf("renew: %v, want %q", err, tc.want)
			case err == nil && (r.Lease != 700*time.Millisecond || r.Since < before || r.Since > history.Now()):
				t.Errorf("renewal %+v, asked for at %d", r, before)
			}
		})
	}
}

// TestExecRenewed: a watchdog's renewal counts for the grant that it names.
func TestExecRenewed(t *testing.T) {
	c := &child{grants: map[string][]*childGrant{}}
	asked := history.Now()
	g := &childGrant{asked: asked, lost: make(chan struct{}), renewals: make(chan clients.Renewal, 2)}
	c.grants["k"] = []*childGrant{g}
	line := func(key string, since int64) []byte {
		return []byte(`{"event":"renewed","key":"` + key + `","lease_ms":500,"since_ns":` + strconv.FormatInt(since, 10) + `}`)
	}
	for _, l := range [][]byte{line("other", asked), line("k", asked-5), line("k", asked)} {
		if _, _, err := c.take(l, nil); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(g.renewals); n != 1 {
		t.Fatalf("%d renewals, want the one that came after the acquire", n)
	}
	if r := <-g.renewals; r.Since != asked || r.Lease != 500*time.Millisecond {
		t.Errorf("renewal %+v", r)
	}
	for text, want := range map[string]string{
		`{"event":"renewed","key":"k","lease_ms":500}`: `needs "lease_ms" and "since_ns"`,
		string(line("k", time.Now().UnixNano())):       "wall clock",
		string(line("k", asked+int64(time.Hour))):      "later than now",
	} {
		if _, _, err := c.take([]byte(text), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// TestExecShared: the program gets the request for a shared lock.
func TestExecShared(t *testing.T) {
	l := contract.Open(t, named(script(t, `read line; say '{"id":1,"ok":true,"kind":"rw"}'; read line; case "$line" in *'"mode":"shared"'*) say '{"id":2,"ok":true}';; esac; read line; case "$line" in *mode*) ;; *) say '{"id":3,"ok":true}';; esac; read line`)), "c1", nil, time.Second)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if _, err := l.(clients.Sharer).AcquireShared(ctx, "k"); err != nil {
		t.Error(err)
	}
	if _, err := l.Acquire(ctx, "k2"); err != nil {
		t.Error(err)
	}
}

// TestExecReentrant: a program that loses a lock loses all that it holds of it.
func TestExecReentrant(t *testing.T) {
	l := contract.Open(t, named(script(t, `read line; say '{"id":1,"ok":true,"kind":"reentrant"}'; read line; say '{"id":2,"ok":true}'; read line; say '{"id":3,"ok":true}'; say '{"event":"lost","key":"k"}'; read line`)), "c1", nil, time.Second)
	outer, err := l.Acquire(t.Context(), "k")
	if err != nil {
		t.Fatal(err)
	}
	inner, err := l.Acquire(t.Context(), "k")
	if err != nil {
		t.Fatal(err)
	}
	for _, lost := range []<-chan struct{}{inner.Lost, outer.Lost} {
		select {
		case <-lost:
		case <-time.After(30 * time.Second):
			t.Error("the child said lost and Lost never closed")
		}
	}
}

// TestExecDeclaresOtherwise: all programs of a lock are the same lock.
func TestExecDeclaresOtherwise(t *testing.T) {
	once := t.TempDir() + "/once"
	l := contract.Open(t, named(script(t, `read line; if [ ! -e `+once+` ]; then touch `+once+`; say '{"id":1,"ok":true,"tokens":true}'; exit 1; fi; say '{"id":1,"ok":true}'; read line`)), "c1", nil, time.Second)
	deadline := time.Now().Add(30 * time.Second)
	for time.Now().Before(deadline) {
		_, err := l.Acquire(t.Context(), "k")
		if err == nil {
			t.Fatal("a program that declares otherwise is accepted")
		}
		if strings.Contains(err.Error(), "and declared") {
			return
		}
	}
	t.Error("no child has failed")
}
