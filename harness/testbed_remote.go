package harness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/picklock/picklock/internal/lines"
	"github.com/picklock/picklock/results"
	"github.com/picklock/picklock/scenarios"
	"github.com/picklock/picklock/workloads"
)

// Testbeds that run side by side are processes of their own (picklock testbed), each in its own
// namespaces: one that breaks down takes nothing with it.

// TestbedConfig is the first message to a testbed's process.
type TestbedConfig struct {
	Settings    workloads.Settings `json:"settings"`
	Extra       map[string]string  `json:"extra,omitempty"`
	Abilities   map[string]string  `json:"abilities,omitempty"`
	Clients     []string           `json:"clients"`
	Faults      []string           `json:"faults"` // kinds
	Bound       time.Duration      `json:"bound,omitempty"`
	Runtime     string             `json:"runtime"`
	ClientImage string             `json:"client_image,omitempty"`
	Dir         string             `json:"dir"`            // of its servers' logs and data
	Keys        string             `json:"keys,omitempty"` // how the names of its keys begin; "": of no matter, for nobody else uses its servers
	Sets        int                `json:"sets,omitempty"` // see TestbedOptions
}

type testbedRequest struct {
	ID       int64          `json:"id"`
	Open     *TestbedConfig `json:"open,omitempty"`
	Scenario string         `json:"scenario,omitempty"` // as its file has it
	Cell     *CellOrder     `json:"cell,omitempty"`
	Dir      string         `json:"dir,omitempty"` // of the servers' logs and data, with the first Cell
}

type testbedAnswer struct {
	ID        int64         `json:"id"`
	RunResult *RunResult    `json:"result,omitempty"`
	Cell      *results.Cell `json:"cell,omitempty"`
	Starts    int           `json:"starts,omitempty"`
	Error     string        `json:"error,omitempty"`
	Usage     bool          `json:"usage,omitempty"` // nothing that was asked for can work
}

// longestTestbedLine bounds a schedule and what came of it.
const longestTestbedLine = 64 << 20

// ServeTestbed is the testbed's process: it runs what in brings on a host, as far as that may go side by side,
// until in ends.
func ServeTestbed(ctx context.Context, in io.Reader, out io.Writer, host Host) (err error) {
	host.Log = slog.New(slog.NewTextHandler(os.Stderr, nil))
	s := testbedServer{host: host}
	defer func() { err = errors.Join(err, s.close(context.WithoutCancel(ctx))) }()
	return lines.Serve(ctx, in, longestTestbedLine, lines.NewServer(out), func(ctx context.Context, q testbedRequest) any {
		a := testbedAnswer{ID: q.ID}
		if err := s.answer(ctx, q, &a); err != nil {
			a.Error, a.Usage = err.Error(), errors.Is(err, ErrUsage)
		}
		return a
	})
}

// testbedServer has what stays up between the requests.
type testbedServer struct {
	host Host

	mu       sync.Mutex // held while a cell runs: they follow one another
	testbed  *Testbed   // of schedules
	executor *Executor  // of cells
}

func (t *testbedServer) answer(ctx context.Context, q testbedRequest, a *testbedAnswer) (err error) {
	t.mu.Lock()
	testbed := t.testbed
	switch {
	case q.Cell != nil:
		defer t.mu.Unlock()
		if t.executor == nil {
			t.executor = NewExecutor(q.Dir)
		}
		var c results.Cell
		if c, err = t.executor.cell(ctx, t.host, *q.Cell); err == nil {
			a.Cell = &c
		}
		return err
	case q.Open != nil && testbed == nil:
		defer t.mu.Unlock()
		t.testbed, err = q.Open.testbed(t.host)
		return err
	}
	t.mu.Unlock()
	if testbed == nil {
		return errors.New("the testbed was not opened")
	}
	s, err := scenarios.Parse("schedule.yaml", []byte(q.Scenario))
	if err == nil {
		a.RunResult, err = testbed.Run(ctx, s)
	}
	a.Starts = testbed.Starts()
	return err
}

func (t *testbedServer) close(ctx context.Context) (err error) {
	if t.testbed != nil {
		err = t.testbed.Close(ctx)
	}
	if t.executor != nil {
		err = errors.Join(err, t.executor.Close())
	}
	return err
}

func (c *TestbedConfig) testbed(host Host) (*Testbed, error) {
	o := Options{Settings: c.Settings, Host: host}
	o.Extra, o.Abilities = c.Extra, c.Abilities
	return NewTestbed(TestbedOptions{Options: o, Clients: c.Clients, Faults: c.Faults, Bound: c.Bound, Keys: c.Keys, Sets: c.Sets}, c.Dir)
}

// process is a testbed's process, as the one who started it sees it.
type process struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	log    *os.File
	client *lines.Client[testbedRequest, testbedAnswer]
}

// startProcess starts a testbed's process; what it writes on its standard error goes to log.
func startProcess(self, log, runtime, clientImage string) (*process, error) {
	p := &process{cmd: exec.Command(self, "testbed", "--runtime", runtime)}
	if clientImage != "" {
		p.cmd.Args = append(p.cmd.Args, "--client-image", clientImage)
	}
	var err error
	if p.log, err = os.Create(log); err != nil {
		return nil, fmt.Errorf("start a testbed: %w", err)
	}
	p.cmd.Stderr = p.log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a Ctrl-C is ours to pass on
	if p.in, err = p.cmd.StdinPipe(); err == nil {
		var out io.ReadCloser
		if out, err = p.cmd.StdoutPipe(); err == nil {
			if err = p.cmd.Start(); err == nil {
				p.client = lines.NewClient(p.in, out, testbedProtocol)
			}
		}
	}
	if err != nil {
		return nil, fmt.Errorf("start a testbed: %w", errors.Join(err, p.log.Close()))
	}
	return p, nil
}

func (p *process) ask(ctx context.Context, q testbedRequest) (testbedAnswer, error) {
	a, err := p.client.Ask(ctx, q)
	switch {
	case err != nil:
		return a, fmt.Errorf("ask a testbed (what it said: %s): %w", p.log.Name(), err)
	case a.Usage:
		return a, fmt.Errorf("%w: %s", ErrUsage, strings.TrimPrefix(a.Error, ErrUsage.Error()+": "))
	case a.Error != "":
		return a, errors.New(a.Error)
	}
	return a, nil
}

// RemoteTestbed is a testbed in a process of its own.
type RemoteTestbed struct {
	*process
	starts atomic.Int64
}

// StartTestbed starts a testbed's process; what it writes on its standard error goes to log.
func StartTestbed(ctx context.Context, self, log string, c TestbedConfig) (*RemoteTestbed, error) {
	p, err := startProcess(self, log, c.Runtime, c.ClientImage)
	if err != nil {
		return nil, err
	}
	if _, err := p.ask(ctx, testbedRequest{Open: &c}); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return &RemoteTestbed{process: p}, nil
}

var testbedProtocol = lines.Protocol[testbedRequest, testbedAnswer]{
	Longest: longestTestbedLine,
	Number:  func(q *testbedRequest, id int64) { q.ID = id },
	Take: func(line []byte, _ func(int64) (testbedRequest, bool)) (int64, testbedAnswer, error) {
		var a testbedAnswer
		err := json.Unmarshal(line, &a)
		return a.ID, a, err
	},
}

// Run implements the search's runner: see Testbed.Run.
func (l *RemoteTestbed) Run(ctx context.Context, s *scenarios.Scenario) (*RunResult, error) {
	a, err := l.ask(ctx, testbedRequest{Scenario: string(s.Write())})
	for was := l.starts.Load(); was < int64(a.Starts) && !l.starts.CompareAndSwap(was, int64(a.Starts)); was = l.starts.Load() {
	}
	return a.RunResult, err
}

// Starts is how often its servers and clients were started.
func (l *RemoteTestbed) Starts() int { return int(l.starts.Load()) }

// testbedEnds is how long a testbed may take to end its servers.
const testbedEnds = 30 * time.Second

// Close ends the process, and with it all that runs on it.
func (p *process) Close() error {
	err := p.in.Close()
	t := time.AfterFunc(testbedEnds, func() { _ = p.cmd.Process.Kill() }) // what it started ends with its namespaces
	defer t.Stop()
	p.client.Wait()
	var exit *exec.ExitError
	if werr := p.cmd.Wait(); werr != nil && !errors.As(werr, &exit) {
		err = errors.Join(err, werr)
	}
	return errors.Join(err, p.log.Close())
}

// Ended says that the process will answer nothing any more.
func (p *process) Ended() bool { return p.client.Err() != nil }
