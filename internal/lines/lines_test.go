package lines

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestReader(t *testing.T) {
	tests := map[string]struct {
		in   string
		want []string
		last string // what is left of the last line
		err  error
	}{
		"nothing":          {in: "", err: io.EOF},
		"whole lines":      {in: "a\n\nbc\n", want: []string{"a", "", "bc"}, err: io.EOF},
		"half a line":      {in: "a\nbc", want: []string{"a"}, last: "bc", err: ErrHalf},
		"as long as can":   {in: strings.Repeat("x", 9999) + "\n", want: []string{strings.Repeat("x", 9999)}, err: io.EOF},
		"one byte more":    {in: "a\n" + strings.Repeat("x", 10000) + "\n", want: []string{"a"}, last: strings.Repeat("x", 10000), err: ErrTooLong},
		"a long half line": {in: strings.Repeat("x", 9000), last: strings.Repeat("x", 9000), err: ErrHalf},
	}
	for name, tc := range tests {
		for way, in := range map[string]io.Reader{
			"at once": strings.NewReader(tc.in), "byte by byte": iotest.OneByteReader(strings.NewReader(tc.in)), "with its end": iotest.DataErrReader(strings.NewReader(tc.in)),
		} {
			t.Run(name+" "+way, func(t *testing.T) {
				r := NewReader(in, 10_000)
				for _, want := range tc.want {
					if got, err := r.Next(); string(got) != want || err != nil {
						t.Fatalf("%.20q, %v; want %.20q", got, err, want)
					}
				}
				if got, err := r.Next(); string(got) != tc.last || !errors.Is(err, tc.err) {
					t.Fatalf("at the end %.20q, %v; want %.20q, %v", got, err, tc.last, tc.err)
				}
			})
		}
	}
}

// TestReaderKeepsLines: whatever the lengths of lines and of what comes at a time, they
// are the lines that were written.
func TestReaderKeepsLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOf(rapid.StringMatching(`[a-z]{0,3}`)).Draw(t, "lines")
		for i := range want {
			want[i] = strings.Repeat(want[i], rapid.IntRange(1, 4000).Draw(t, "times"))
		}
		in := io.Reader(strings.NewReader(strings.Join(append(want, ""), "\n")))
		if rapid.Bool().Draw(t, "halves") {
			in = iotest.HalfReader(in)
		}
		r := NewReader(in, 12_001)
		for i, w := range want {
			if got, err := r.Next(); string(got) != w || err != nil {
				t.Fatalf("line %d: %.20q of %d bytes, %v; want %.20q of %d", i, got, len(got), err, w, len(w))
			}
		}
		if got, err := r.Next(); !errors.Is(err, io.EOF) || len(got) > 0 {
			t.Fatalf("at the end %q, %v", got, err)
		}
	})
}

type question struct {
	ID   int64
	Text string
}

// other is the other end of a Client, done by hand.
type other struct {
	*Client[question, question]
	in  *Reader
	out *io.PipeWriter
	end *io.PipeReader // of its input
}

// ask starts a Client. The error at its end names the half line.
func ask(t *testing.T) *other {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	a := NewClient(inW, outR, Protocol[question, question]{
		Longest: 1000,
		Number:  func(q *question, id int64) { q.ID = id },
		Take: func(line []byte, open func(int64) (question, bool)) (int64, question, error) {
			var q question
			if err := json.Unmarshal(line, &q); err != nil {
				return 0, q, fmt.Errorf("it said %q", line)
			}
			if asked, ok := open(q.ID); ok {
				q.Text = asked.Text + ": " + q.Text
			}
			return q.ID, q, nil
		},
		End: func(err error, half []byte) error { return fmt.Errorf("gone (%.5s): %w", half, err) },
	})
	t.Cleanup(func() {
		inR.Close()
		outW.Close()
		a.Wait()
	})
	return &other{a, NewReader(inR, 1000), outW, inR}
}

func (o *other) got(t *testing.T) question {
	t.Helper()
	line, err := o.in.Next()
	var q question
	if err = errors.Join(err, json.Unmarshal(line, &q)); err != nil {
		t.Error(err)
	}
	return q
}

type outcome struct {
	text string
	err  error
}

func (o *other) asked(ctx context.Context, text string) chan outcome {
	done := make(chan outcome, 1)
	go func() {
		a, err := o.Ask(ctx, question{Text: text})
		done <- outcome{a.Text, err}
	}()
	return done
}

func TestAnswersInAnyOrder(t *testing.T) {
	o := ask(t)
	asked := map[string]chan outcome{"a": o.asked(t.Context(), "a"), "b": o.asked(t.Context(), "b"), "c": o.asked(t.Context(), "c")}
	first, second, third := o.got(t), o.got(t), o.got(t)
	for _, q := range []question{third, {0, "nobody asked"}, {99, "nor this"}, first, second} {
		if err := Write(o.out, question{q.ID, "yes " + q.Text}); err != nil {
			t.Fatal(err)
		}
	}
	for text, done := range asked {
		if got := <-done; got.err != nil || got.text != text+": yes "+text {
			t.Errorf("%s was told %+v", text, got)
		}
	}
	if o.Err() != nil {
		t.Error(o.Err())
	}
}

// TestLateAnswers: what was given up holds nobody back, and its answer is nobody else's.
func TestLateAnswers(t *testing.T) {
	o := ask(t)
	ctx, cancel := context.WithCancel(t.Context())
	late := o.asked(ctx, "late")
	q := o.got(t)
	cancel()
	if got := <-late; !errors.Is(got.err, context.Canceled) || errors.Is(got.err, ErrNotSent) {
		t.Errorf("given up: %+v", got)
	}
	next := o.asked(t.Context(), "next")
	r := o.got(t)
	for _, id := range []int64{q.ID, r.ID} {
		if err := Write(o.out, question{id, "done"}); err != nil {
			t.Fatal(err)
		}
	}
	if got := <-next; got.err != nil || got.text != "next: done" {
		t.Errorf("%+v", got)
	}
}

func TestEnds(t *testing.T) {
	for name, tc := range map[string]struct {
		say  string
		fail error
		want string
	}{
		"its end":     {want: "gone (): EOF"},
		"half a line": {say: `{"ID":1,"Te`, want: `gone ({"ID"): ended in the middle of a line`},
		"nonsense":    {say: "what?\n", want: `gone (): it said "what?"`},
		"endless":     {say: strings.Repeat("y", 1001), want: "gone (yyyyy): a line that is too long"},
		"ours":        {fail: errors.New("enough"), want: "gone (): enough"},
	} {
		t.Run(name, func(t *testing.T) {
			o := ask(t)
			waiting := o.asked(t.Context(), "waiting")
			o.got(t)
			if tc.fail != nil {
				o.Fail(tc.fail)
				o.Fail(errors.New("the second reason"))
			} else {
				_, _ = io.WriteString(o.out, tc.say)
				o.out.Close()
			}
			if got := <-waiting; !errors.Is(got.err, ErrEnded) || !strings.Contains(got.err.Error(), tc.want) {
				t.Errorf("who waited was told %v, want %q", got.err, tc.want)
			}
			<-o.Ended()
			if tc.fail == nil {
				o.Wait()
				if _, err := o.out.Write(nil); !errors.Is(err, io.ErrClosedPipe) {
					t.Errorf("what it reads from is not closed: %v", err)
				}
			}
			if got := <-o.asked(t.Context(), "after"); !errors.Is(got.err, ErrNotSent) || !strings.Contains(got.err.Error(), tc.want) {
				t.Errorf("who asks afterwards is told %v, want %q", got.err, tc.want)
			}
		})
	}
}

// TestAnsweredAndEnded: an answer that was the other end's last word is an answer.
func TestAnsweredAndEnded(t *testing.T) {
	for range 20 {
		outR, outW := io.Pipe()
		var a *Client[question, question]
		a = NewClient(writerFunc(func(b []byte) (int, error) {
			go func() {
				_, _ = outW.Write(b)
				outW.Close()
			}()
			<-a.Ended() // so that answer and end are both there when the wait begins
			return len(b), nil
		}), outR, Protocol[question, question]{
			Longest: 1000,
			Number:  func(q *question, id int64) { q.ID = id },
			Take: func(line []byte, _ func(int64) (question, bool)) (id int64, q question, err error) {
				err = json.Unmarshal(line, &q)
				return q.ID, q, err
			},
		})
		if got, err := a.Ask(t.Context(), question{Text: "last"}); err != nil || got.Text != "last" {
			t.Fatalf("%+v, %v", got, err)
		}
		a.Wait()
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

// TestNotSent: who cannot be written to is done with, unless it says by itself why.
func TestNotSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := ask(t)
		o.end.Close()
		if got := <-o.asked(t.Context(), "to nobody"); !errors.Is(got.err, ErrNotSent) || !strings.Contains(got.err.Error(), "closed pipe") {
			t.Errorf("%v", got.err)
		}
		o = ask(t)
		o.end.Close()
		done := o.asked(t.Context(), "to one who is ending")
		synctest.Wait()
		o.out.CloseWithError(errors.New("the reason"))
		if got := <-done; !errors.Is(got.err, ErrNotSent) || !strings.Contains(got.err.Error(), "the reason") {
			t.Errorf("%v", got.err)
		}
		// One whose turn to write does not come is given up as any other.
		o = ask(t)
		first := o.asked(t.Context(), "nobody reads this")
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if got := <-o.asked(ctx, "nor this"); !errors.Is(got.err, ErrNotSent) || !errors.Is(got.err, context.DeadlineExceeded) {
			t.Errorf("%v", got.err)
		}
		o.end.Close()
		<-first
	})
}
