package lines

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestServe: requests are answered side by side, and all of them before it returns.
func TestServe(t *testing.T) {
	const longest = 100
	answer := func(ctx context.Context, q question) any {
		if q.Text == "wait" {
			<-ctx.Done()
		}
		return question{q.ID, "heard " + q.Text}
	}
	serve := func(ctx context.Context, in string, open bool) (string, error) {
		r, w := io.Pipe()
		defer w.Close()
		go func() {
			_, _ = io.WriteString(w, in)
			if !open {
				w.Close()
			}
		}()
		var out strings.Builder
		err := Serve(ctx, r, longest, NewServer(&out), answer)
		return out.String(), err
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	for name, tc := range map[string]struct {
		ctx       context.Context
		in        string
		open      bool
		want, err string
	}{
		"one waits":          {in: `{"ID":1,"Text":"wait"}` + "\n" + `{"ID":2,"Text":"me"}` + "\n", want: `{"ID":1,"Text":"heard wait"} {"ID":2,"Text":"heard me"}`},
		"half a request":     {in: `{"ID":1,"Text":"a"}` + "\n" + `{"ID":2`, want: `{"ID":1,"Text":"heard a"}`},
		"no request":         {in: "hello\n", err: `read request "hello"`},
		"an endless request": {in: strings.Repeat("z", longest+chunk), open: true, err: "too long"},
		"no more of it":      {ctx: canceled, open: true},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := tc.ctx
			if ctx == nil {
				ctx = t.Context()
			}
			got, err := serve(ctx, tc.in, tc.open)
			if tc.err == "" && err != nil || tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
				t.Errorf("error %v, want %q", err, tc.err)
			}
			for _, want := range strings.Fields(strings.ReplaceAll(tc.want, "heard ", "heard_")) {
				if !strings.Contains(got, strings.ReplaceAll(want, "heard_", "heard ")+"\n") {
					t.Errorf("answers %q, want %q", got, want)
				}
			}
		})
	}
}

// TestLinesStayWhole: many ask and answer at a time.
func TestLinesStayWhole(t *testing.T) {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	served := make(chan error, 1)
	go func() {
		served <- Serve(t.Context(), inR, 1000, NewServer(writerFunc(func(b []byte) (int, error) {
			for i := range b {
				if n, err := outW.Write(b[i : i+1]); err != nil {
					return i + n, err
				}
			}
			return len(b), nil
		})), func(_ context.Context, q question) any { return q })
		outW.Close()
	}()
	a := NewClient(inW, outR, Protocol[question, question]{
		Longest: 1000,
		Number:  func(q *question, id int64) { q.ID = id },
		Take: func(line []byte, _ func(int64) (question, bool)) (id int64, q question, err error) {
			err = json.Unmarshal(line, &q)
			return q.ID, q, err
		},
	})
	var asking sync.WaitGroup
	for i := range 50 {
		asking.Go(func() {
			for k := range 20 {
				text := fmt.Sprint(i, " ", k)
				if got, err := a.Ask(t.Context(), question{Text: text}); err != nil || got.Text != text {
					t.Errorf("asked %q: %q, %v", text, got.Text, err)
				}
			}
		})
	}
	asking.Wait()
	inW.Close()
	if err := <-served; err != nil {
		t.Error(err)
	}
	a.Wait()
	if !errors.Is(a.Err(), io.EOF) {
		t.Errorf("ended by %v", a.Err())
	}
}

// A program that does not read keeps nobody past its context: the pipe is full, and whether
// what was written will be read is not known.
func TestFullPipe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := ask(t)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if got := <-o.asked(ctx, "nobody reads this"); !errors.Is(got.err, context.DeadlineExceeded) || errors.Is(got.err, ErrNotSent) {
			t.Errorf("%v", got.err)
		}
		// It is read late: the next one is not mixed up with it.
		next := o.asked(t.Context(), "next")
		first := o.got(t)
		second := o.got(t)
		if first.Text != "nobody reads this" || second.Text != "next" {
			t.Errorf("%+v, %+v", first, second)
		}
		fmt.Fprintf(o.out, `{"ID":%d,"Text":"late"}`+"\n"+`{"ID":%d,"Text":"yes"}`+"\n", first.ID, second.ID)
		if got := <-next; got.err != nil || got.text != "next: yes" {
			t.Errorf("%+v", got)
		}
	})
}
