package lines

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// ErrNotSent is wrapped if the other end certainly did not get the whole request.
var ErrNotSent = errors.New("the request was not sent")

// ErrEnded is wrapped if no answer can come any more. The reason is wrapped, too.
var ErrEnded = errors.New("no answer will come")

// drainTimeout is how long Ask reads on after a failed write: the other end may have
// written why it ends.
const drainTimeout = time.Second

// Protocol is what a Client has to know of its lines. Client writes requests Q as JSON.
type Protocol[Q, A any] struct {
	// Longest is how many bytes a line of the other end may have.
	Longest int
	// Number puts a request's number into it, 1 or more, as the other end will name it.
	Number func(q *Q, id int64)
	// Take reads a line of the other end: the number of the request that it answers and
	// the answer, or 0 where it answers none. open finds a request that has no answer
	// yet. An error ends all. It is called by one goroutine at a time, and must not ask.
	Take func(line []byte, open func(id int64) (Q, bool)) (id int64, answer A, err error)
	// End is called once, as soon as there are no more answers. why is the argument of
	// Fail, or the error of Reader.Next, with the half line that it returned. Every Ask
	// returns the result of End. If End is nil, every Ask returns why.
	End func(why error, half []byte) error
}

// Client sends requests over a pair of pipes. Answers may come in any order. If an answer
// comes after its Ask has returned, Client drops it. One goroutine reads until out ends or a
// line is wrong, and then closes out: to end it, end the other end. If the other end does not
// read a request, one more goroutine lives until it does, or closes its end.
type Client[Q, A any] struct {
	protocol Protocol[Q, A]
	in       io.Writer
	writing  chan struct{} // holds one: lines stay whole

	once  sync.Once
	ended chan struct{}
	why   error // set before ended closes
	read  chan struct{}

	mu   sync.Mutex
	last int64
	open map[int64]waiting[Q, A]
}

type waiting[Q, A any] struct {
	request Q
	answer  chan A // has room for one, and gets only one: nobody need wait any more
}

// NewClient asks by in and reads the answers from out.
func NewClient[Q, A any](in io.Writer, out io.ReadCloser, p Protocol[Q, A]) *Client[Q, A] {
	c := &Client[Q, A]{
		protocol: p, in: in, writing: make(chan struct{}, 1),
		ended: make(chan struct{}), read: make(chan struct{}), open: map[int64]waiting[Q, A]{},
	}
	go c.listen(out)
	return c
}

func (c *Client[Q, A]) listen(out io.ReadCloser) {
	defer close(c.read)
	defer out.Close()
	for lines := NewReader(out, c.protocol.Longest); ; {
		line, err := lines.Next()
		if err != nil {
			c.fail(err, line)
			return
		}
		id, answer, err := c.protocol.Take(line, c.find)
		if err != nil {
			c.fail(err, nil)
			return
		}
		c.mu.Lock()
		w, ok := c.open[id]
		delete(c.open, id)
		c.mu.Unlock()
		if ok {
			w.answer <- answer
		}
	}
}

func (c *Client[Q, A]) find(id int64) (Q, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	w, ok := c.open[id]
	return w.request, ok
}

func (c *Client[Q, A]) fail(why error, half []byte) {
	c.once.Do(func() {
		if c.protocol.End != nil {
			why = c.protocol.End(why, half)
		}
		c.why = why
		close(c.ended)
	})
}

// Fail ends the client. The first reason counts: every open Ask returns it.
func (c *Client[Q, A]) Fail(why error) { c.fail(why, nil) }

// Ended closes when no answer will come any more.
func (c *Client[Q, A]) Ended() <-chan struct{} { return c.ended }

// Err is nil as long as it can be asked, then the reason.
func (c *Client[Q, A]) Err() error {
	select {
	case <-c.ended:
		return c.why
	default:
		return nil
	}
}

// Wait returns when the goroutine has ended, and out is closed.
func (c *Client[Q, A]) Wait() { <-c.read }

// Ask sends a request and waits for its answer. The error wraps ErrNotSent, ErrEnded, or
// the error of ctx if that ended first.
func (c *Client[Q, A]) Ask(ctx context.Context, q Q) (answer A, err error) {
	if err := c.Err(); err != nil {
		return answer, fmt.Errorf("%w: %w", ErrNotSent, err)
	}
	select { // of several reasons, each is as good
	case c.writing <- struct{}{}:
	case <-ctx.Done():
		return answer, fmt.Errorf("%w: %w", ErrNotSent, ctx.Err())
	case <-c.ended:
		return answer, fmt.Errorf("%w: %w", ErrNotSent, c.why)
	}
	got, sent := make(chan A, 1), make(chan error, 1)
	// A full pipe keeps the write until it is read from or closed, whatever ctx says.
	go func() {
		err := c.send(q, got)
		<-c.writing
		sent <- err
	}()
	select {
	case err = <-sent:
	case <-ctx.Done():
		return answer, ctx.Err() // some of it may have been read
	}
	if err != nil {
		// Its end may tell more than that it cannot be written to.
		t := time.NewTimer(drainTimeout)
		defer t.Stop()
		select {
		case <-c.ended:
		case <-t.C:
			c.Fail(fmt.Errorf("%w: %w", ErrNotSent, err)) // half a line may be on its way
		}
		return answer, fmt.Errorf("%w: %w", ErrNotSent, c.why)
	}
	select {
	case answer = <-got:
		return answer, nil
	case <-c.ended:
		err = fmt.Errorf("%w: %w", ErrEnded, c.why)
	case <-ctx.Done():
		err = ctx.Err()
	}
	select {
	case answer = <-got: // both at once
		return answer, nil
	default:
		return answer, err
	}
}

// send numbers a request, notes where its answer goes, and writes it.
func (c *Client[Q, A]) send(q Q, got chan A) error {
	c.mu.Lock()
	c.last++
	id := c.last
	c.protocol.Number(&q, id)
	c.open[id] = waiting[Q, A]{request: q, answer: got}
	c.mu.Unlock()
	return Write(c.in, q)
}

// Write writes v as one line of JSON, in one piece.
func Write(out io.Writer, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("write %T: %w", v, err)
	}
	_, err = out.Write(append(text, '\n'))
	return err
}
