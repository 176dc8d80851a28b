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
	"syscall"
	"time"

	"github.com/picklock/picklock/internal/lines"
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
}

type testbedRequest struct {
	ID       int64          `json:"id"`
	Open     *TestbedConfig `json:"open,omitempty"`
	Scenario string         `json:"scenario,omitempty"` // as its file has it
}

type testbedAnswer struct {
	ID        int64      `json:"id"`
	RunResult *RunResult `json:"result,omitempty"`
	Starts    int        `json:"starts,omitempty"`
	Error     string     `json:"error,omitempty"`
	Usage     bool       `json:"usage,omitempty"` // nothing that was asked for can work
}

// longestLaneLine bounds a schedule and what came of it.
const longestTestbedLine = 64 << 20

// ServeTestbed is the testbed's process: it runs what in brings, one after the other, until in
// ends. open finds what a configuration is run on and with: the tables of the host, its
// runtime and its program.
func ServeTestbed(ctx context.Context, in io.Reader, out io.Writer, open func(context.Context, *TestbedConfig) (Host, error)) (err error) {
	var testbed *Testbed
	defer func() {
		if testbed != nil {
			err = errors.Join(err, testbed.Close(context.WithoutCancel(ctx)))
		}
	}()
	turn := make(chan struct{}, 1)
	return lines.Serve(ctx, in, longestTestbedLine, lines.NewServer(out), func(ctx context.Context, q testbedRequest) any {
		turn <- struct{}{}
		defer func() { <-turn }()
		a := testbedAnswer{ID: q.ID}
		var err error
		switch {
		case q.Open != nil && testbed == nil:
			testbed, err = q.Open.testbed(ctx, open)
		case testbed == nil:
			err = errors.New("the testbed was not opened")
		default:
			var s *scenarios.Scenario
			if s, err = scenarios.Parse("schedule.yaml", []byte(q.Scenario)); err == nil {
				a.RunResult, err = testbed.Run(ctx, s)
			}
			a.Starts = testbed.Starts()
		}
		if err != nil {
			a.Error, a.Usage = err.Error(), errors.Is(err, ErrUsage)
		}
		return a
	})
}

func (c *TestbedConfig) testbed(ctx context.Context, open func(context.Context, *TestbedConfig) (Host, error)) (*Testbed, error) {
	host, err := open(ctx, c)
	if err != nil {
		return nil, err
	}
	o := Options{Settings: c.Settings, Host: host}
	o.Extra, o.Abilities = c.Extra, c.Abilities
	o.Log = slog.New(slog.NewTextHandler(os.Stderr, nil))
	return NewTestbed(TestbedOptions{Options: o, Clients: c.Clients, Faults: c.Faults, Bound: c.Bound, Keys: c.Keys}, c.Dir)
}

// RemoteTestbed is a testbed in a process of its own.
type RemoteTestbed struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	log    *os.File
	client *lines.Client[testbedRequest, testbedAnswer]
	starts int
}

// StartTestbed starts a testbed's process; what it writes on its standard error goes to log.
func StartTestbed(ctx context.Context, self, log string, c TestbedConfig) (*RemoteTestbed, error) {
	l := &RemoteTestbed{cmd: exec.Command(self, "testbed", "--runtime", c.Runtime)}
	var err error
	if l.log, err = os.Create(log); err != nil {
		return nil, fmt.Errorf("start a testbed: %w", err)
	}
	l.cmd.Stderr = l.log
	l.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a Ctrl-C is ours to pass on
	if l.in, err = l.cmd.StdinPipe(); err == nil {
		var out io.ReadCloser
		if out, err = l.cmd.StdoutPipe(); err == nil {
			if err = l.cmd.Start(); err == nil {
				l.client = lines.NewClient(l.in, out, testbedProtocol)
			}
		}
	}
	if err != nil {
		return nil, fmt.Errorf("start a testbed: %w", errors.Join(err, l.log.Close()))
	}
	if _, err := l.ask(ctx, testbedRequest{Open: &c}); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
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
	return l.ask(ctx, testbedRequest{Scenario: string(s.Write())})
}

// Starts is how often its servers and clients were started.
func (l *RemoteTestbed) Starts() int { return l.starts }

func (l *RemoteTestbed) ask(ctx context.Context, q testbedRequest) (*RunResult, error) {
	a, err := l.client.Ask(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("ask a testbed (what it said: %s): %w", l.log.Name(), err)
	}
	l.starts = max(l.starts, a.Starts)
	switch {
	case a.Usage:
		return nil, fmt.Errorf("%w: %s", ErrUsage, strings.TrimPrefix(a.Error, ErrUsage.Error()+": "))
	case a.Error != "":
		return nil, errors.New(a.Error)
	}
	return a.RunResult, nil
}

// laneEnds is how long a testbed may take to end its servers.
const testbedEnds = 30 * time.Second

// Close ends the testbed's process, and with it all that runs on it.
func (l *RemoteTestbed) Close() error {
	err := l.in.Close()
	t := time.AfterFunc(testbedEnds, func() { _ = l.cmd.Process.Kill() }) // what it started ends with its namespaces
	defer t.Stop()
	l.client.Wait()
	var exit *exec.ExitError
	if werr := l.cmd.Wait(); werr != nil && !errors.As(werr, &exit) {
		err = errors.Join(err, werr)
	}
	return errors.Join(err, l.log.Close())
}

// Ended says that the testbed's process will answer nothing any more.
func (l *RemoteTestbed) Ended() bool { return l.client.Err() != nil }
