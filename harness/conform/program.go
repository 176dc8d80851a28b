package conform

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	lock "github.com/picklock/picklock/clients/exec"
	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/internal/format"
	"github.com/picklock/picklock/internal/lines"
	"github.com/picklock/picklock/internal/proc"
)

// wordsKept is how much of a program's standard error is kept, in bytes.
const wordsKept = 2000

// program is a running one. It is a process group of its own, as a client with its program
// is one, so that all of it can be ended.
type program struct {
	*bench
	cmd     *exec.Cmd
	in      *os.File
	out     *os.File
	errs    tail
	working sync.WaitGroup
	exited  chan struct{}
	exit    error // set before exited closes
	read    chan struct{}

	mu     sync.Mutex
	last   int64
	open   map[int64]*request
	closed map[int64]bool // answered
	// noise is the first line that was no answer since the last one that was; nil for none.
	noise  []byte
	family map[int]proc.Process
}

// request is one that has no answer yet.
type request struct {
	lock.Request
	answer chan reply
	noise  chan []byte // the first line that came in its place
}

// noiseWithin is how long an answer may come later than a line in its place. Who writes such
// lines beside the answers gets one report for them. The check does not wait for a program that
// writes them instead of answers.
const noiseWithin = 2 * time.Second

// noisy has it known that a line came that is no answer. p.mu is held.
func (p *program) noisy(line []byte) {
	if p.noise != nil {
		return
	}
	p.noise = line
	for _, q := range p.open {
		select {
		case q.noise <- line:
		default:
		}
	}
}

// reply is an answer, and what came with it.
type reply struct {
	lock.Answer
	line       []byte
	sent, came int64 // history.Now
}

func (r reply) ok() bool { return r.OK == nil && r.Error == "" || r.OK != nil && *r.OK }

// start starts the program as a client does.
func (b *bench) start() (*program, error) {
	p := &program{bench: b, exited: make(chan struct{}), read: make(chan struct{}), open: map[int64]*request{}, closed: map[int64]bool{}, family: map[int]proc.Process{}}
	p.cmd = lock.Command(b.Command)
	proc.DieWithParent(p.cmd)
	if p.cmd.SysProcAttr == nil {
		p.cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	p.cmd.SysProcAttr.Setpgid = true
	theirIn, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer theirIn.Close()
	out, theirOut, err := os.Pipe()
	if err != nil {
		in.Close()
		return nil, err
	}
	defer theirOut.Close()
	p.in, p.out = in, out
	p.cmd.Stdin, p.cmd.Stdout = theirIn, theirOut
	errs, theirErrs, err := os.Pipe()
	if err != nil {
		in.Close()
		out.Close()
		return nil, err
	}
	defer theirErrs.Close()
	p.cmd.Stderr = theirErrs
	started := make(chan error)
	p.working.Go(func() {
		// DieWithParent goes by the thread that started it.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		started <- err
		if err != nil {
			return
		}
		// The clock check traces it, and Wait alone would take its stops for its end. A
		// kernel that cannot tell is one that cannot run that check.
		_ = proc.AwaitEnd(p.cmd.Process.Pid)
		if p.exit = p.cmd.Wait(); p.exit == nil {
			p.exit = errors.New("exit status 0")
		}
		// What it said last is still in the pipes, which others may keep open.
		for _, f := range []*os.File{out, errs} {
			f.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
		}
		close(p.exited)
	})
	if err := <-started; err != nil {
		p.working.Wait()
		in.Close()
		out.Close()
		errs.Close()
		return nil, fmt.Errorf("start the program: %w", err)
	}
	p.working.Go(func() {
		defer errs.Close()
		_, _ = io.Copy(&p.errs, errs) // the end of what it says is all that can go wrong
	})
	p.working.Go(p.listen)
	return p, nil
}

// listen takes what the program writes until it ends.
func (p *program) listen() {
	defer close(p.read)
	defer p.out.Close()
	for in := lines.NewReader(p.out, lock.LongestLine); ; {
		line, err := in.Next()
		switch {
		case errors.Is(err, lines.ErrTooLong):
			p.wrote("form", Problem{fmt.Sprintf("it wrote a line of more than %d bytes: %s", lock.LongestLine, quote(line)), "write shorter lines"})
			p.mu.Lock()
			p.noisy(bytes.Clone(line))
			p.mu.Unlock()
			_, _ = io.Copy(io.Discard, p.out) // so that it can go on
			return
		case errors.Is(err, lines.ErrHalf):
			p.wrote("form", Problem{"it ended in the middle of a line: " + quote(line), "end each line with a newline, and flush it before you end"})
			return
		case err != nil:
			return
		}
		p.take(line)
	}
}

// ask sends a request and waits for its answer. The error is a problem if there is none
// within that time.
func (p *program) ask(ctx context.Context, r lock.Request, within time.Duration) (reply, error) {
	q := &request{Request: r, answer: make(chan reply, 1), noise: make(chan []byte, 1)}
	p.mu.Lock()
	if p.noise != nil {
		q.noise <- p.noise
	}
	p.last++
	q.ID = p.last
	p.open[q.ID] = q
	p.mu.Unlock()
	sent := history.Now()
	p.in.SetWriteDeadline(time.Now().Add(within))
	if err := lines.Write(p.in, q.Request); err != nil && !errors.Is(err, syscall.EPIPE) {
		return reply{}, Problem{"it does not read " + r.Op + " from its standard input", "read standard input line by line, always"}
	}
	timer := time.NewTimer(within)
	defer timer.Stop()
	end := time.Now().Add(within)
	var noise []byte
	for {
		select {
		case a := <-q.answer:
			a.sent = sent
			return a, nil
		case noise = <-q.noise:
			wait := noiseWithin
			if r.Op == "acquire" {
				wait += 2 * p.TTL // it may have to wait for a lease to end
			}
			timer.Reset(min(wait, time.Until(end)))
			continue
		case <-p.exited:
			<-p.read // it may have answered before
			select {
			case a := <-q.answer:
				a.sent = sent
				return a, nil
			default:
			}
			return reply{}, p.ended("instead of answering " + r.Op)
		case <-timer.C:
		case <-ctx.Done():
			return reply{}, ctx.Err()
		}
		if noise != nil {
			return reply{}, Problem{fmt.Sprintf("it wrote %s instead of answering %s", quote(noise), r.Op), onlyLines}
		}
		return reply{}, Problem{fmt.Sprintf("it did not answer %s within %v%s", r.Op, within.Round(time.Millisecond), p.words()), `answer every request, where it fails with "ok":false and the reason, and flush each line`}
	}
}

// ended is the problem that it has ended.
func (p *program) ended(when string) Problem {
	remedy := `catch what goes wrong and answer "ok":false with the reason, "definite":true if it certainly had no effect`
	status := p.exit.Error()
	switch {
	case strings.Contains(status, "exit status 127"):
		remedy = "look at the command: the shell does not find a program"
	case strings.Contains(status, "exit status 126"):
		remedy = "look at the command: the shell may not start that program; make it executable, or name its interpreter before it"
	case strings.Contains(p.errs.String(), "No such file or directory"), strings.Contains(p.errs.String(), "Cannot find module"):
		remedy = "look at the command, and at what its last words name: a file is missing"
	}
	return Problem{fmt.Sprintf("it ended (%v) %s%s", p.exit, when, p.words()), remedy}
}

// words are its last ones on standard error.
func (p *program) words() string {
	text := strings.TrimSpace(p.errs.String())
	if text == "" {
		return ""
	}
	lines := format.WithoutTraces(strings.Split(text, "\n"))
	return "; its last words: " + quote([]byte(lines[len(lines)-1]))
}

// members remembers the processes that it consists of now.
func (p *program) members() []proc.Process {
	living, err := proc.Living(p.cmd.Process.Pid)
	if err != nil {
		return nil // none
	}
	for _, m := range living {
		p.family[m.PID] = m
	}
	return living
}

// left are those of its processes that were remembered, or are of its group, and live.
func (p *program) left() []proc.Process {
	p.members()
	all, err := proc.List()
	if err != nil {
		return nil // where nothing is listed, members lists nothing either
	}
	return slices.DeleteFunc(all, func(now proc.Process) bool {
		was, ok := p.family[now.PID]
		return !ok || now.Ended() || now.Group != was.Group
	})
}

// kill ends the program's own process, as a client does, and no child of it.
func (p *program) kill() {
	_ = p.cmd.Process.Kill() // it may have ended
	p.in.Close()
}

// stop ends all of it, and waits until it has ended.
func (p *program) stop() {
	p.members()
	p.kill()
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	for _, m := range p.left() {
		_ = syscall.Kill(m.PID, syscall.SIGKILL)
	}
	p.working.Wait()
}

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, b...)
	if n := len(t.text) - wordsKept; n > 0 {
		t.text = t.text[n:]
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.ToValidUTF8(string(t.text), "")
}

// quote shows what a program wrote.
func quote(line []byte) string {
	const most = 200
	if len(line) > most {
		return fmt.Sprintf("%q...", line[:most])
	}
	if text := string(line); strings.HasPrefix(text, "{") && strconv.CanBackquote(text) { // JSON in quotes is hard to read
		return text
	}
	return fmt.Sprintf("%q", line)
}
