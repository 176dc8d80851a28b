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

// Lanes that play side by side are processes of their own (picklock lane), each in its own
// namespaces: one that breaks down takes nothing with it.

// LaneConfig is what a lane's process is told first.
type LaneConfig struct {
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

type laneRequest struct {
	ID       int64       `json:"id"`
	Open     *LaneConfig `json:"open,omitempty"`
	Scenario string      `json:"scenario,omitempty"` // as its file has it
}

type laneAnswer struct {
	ID     int64   `json:"id"`
	Played *Played `json:"played,omitempty"`
	Starts int     `json:"starts,omitempty"`
	Error  string  `json:"error,omitempty"`
	Usage  bool    `json:"usage,omitempty"` // nothing that was asked for can work
}

// longestLaneLine bounds a schedule and what came of it.
const longestLaneLine = 64 << 20

// ServeLane is the lane's process: it plays what in brings, one after the other, until in
// ends. open finds what a configuration is played on and with: the tables of the host, its
// runtime and its program.
func ServeLane(ctx context.Context, in io.Reader, out io.Writer, open func(context.Context, *LaneConfig) (Host, error)) (err error) {
	var lane *Lane
	defer func() {
		if lane != nil {
			err = errors.Join(err, lane.Close(context.WithoutCancel(ctx)))
		}
	}()
	turn := make(chan struct{}, 1)
	return lines.Serve(ctx, in, longestLaneLine, lines.NewServer(out), func(ctx context.Context, q laneRequest) any {
		turn <- struct{}{}
		defer func() { <-turn }()
		a := laneAnswer{ID: q.ID}
		var err error
		switch {
		case q.Open != nil && lane == nil:
			lane, err = q.Open.lane(ctx, open)
		case lane == nil:
			err = errors.New("the lane was not opened")
		default:
			var s *scenarios.Scenario
			if s, err = scenarios.Parse("schedule.yaml", []byte(q.Scenario)); err == nil {
				a.Played, err = lane.Play(ctx, s)
			}
			a.Starts = lane.Starts()
		}
		if err != nil {
			a.Error, a.Usage = err.Error(), errors.Is(err, ErrUsage)
		}
		return a
	})
}

func (c *LaneConfig) lane(ctx context.Context, open func(context.Context, *LaneConfig) (Host, error)) (*Lane, error) {
	host, err := open(ctx, c)
	if err != nil {
		return nil, err
	}
	o := Options{Settings: c.Settings, Host: host}
	o.Extra, o.Abilities = c.Extra, c.Abilities
	o.Log = slog.New(slog.NewTextHandler(os.Stderr, nil))
	return NewLane(LaneOptions{Options: o, Clients: c.Clients, Faults: c.Faults, Bound: c.Bound, Keys: c.Keys}, c.Dir)
}

// RemoteLane is a lane in a process of its own.
type RemoteLane struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	log    *os.File
	client *lines.Client[laneRequest, laneAnswer]
	starts int
}

// StartLane starts a lane's process; what it writes on its standard error goes to log.
func StartLane(ctx context.Context, self, log string, c LaneConfig) (*RemoteLane, error) {
	l := &RemoteLane{cmd: exec.Command(self, "lane", "--runtime", c.Runtime)}
	var err error
	if l.log, err = os.Create(log); err != nil {
		return nil, fmt.Errorf("start a lane: %w", err)
	}
	l.cmd.Stderr = l.log
	l.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a Ctrl-C is ours to pass on
	if l.in, err = l.cmd.StdinPipe(); err == nil {
		var out io.ReadCloser
		if out, err = l.cmd.StdoutPipe(); err == nil {
			if err = l.cmd.Start(); err == nil {
				l.client = lines.NewClient(l.in, out, laneProtocol)
			}
		}
	}
	if err != nil {
		return nil, fmt.Errorf("start a lane: %w", errors.Join(err, l.log.Close()))
	}
	if _, err := l.ask(ctx, laneRequest{Open: &c}); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

var laneProtocol = lines.Protocol[laneRequest, laneAnswer]{
	Longest: longestLaneLine,
	Number:  func(q *laneRequest, id int64) { q.ID = id },
	Take: func(line []byte, _ func(int64) (laneRequest, bool)) (int64, laneAnswer, error) {
		var a laneAnswer
		err := json.Unmarshal(line, &a)
		return a.ID, a, err
	},
}

// Play implements the search's player: see Lane.Play.
func (l *RemoteLane) Play(ctx context.Context, s *scenarios.Scenario) (*Played, error) {
	return l.ask(ctx, laneRequest{Scenario: string(s.Write())})
}

// Starts is how often its servers and clients were started.
func (l *RemoteLane) Starts() int { return l.starts }

func (l *RemoteLane) ask(ctx context.Context, q laneRequest) (*Played, error) {
	a, err := l.client.Ask(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("ask a lane (what it said: %s): %w", l.log.Name(), err)
	}
	l.starts = max(l.starts, a.Starts)
	switch {
	case a.Usage:
		return nil, fmt.Errorf("%w: %s", ErrUsage, strings.TrimPrefix(a.Error, ErrUsage.Error()+": "))
	case a.Error != "":
		return nil, errors.New(a.Error)
	}
	return a.Played, nil
}

// laneEnds is how long a lane may take to end its servers.
const laneEnds = 30 * time.Second

// Close ends the lane's process, and with it all that runs on it.
func (l *RemoteLane) Close() error {
	err := l.in.Close()
	t := time.AfterFunc(laneEnds, func() { _ = l.cmd.Process.Kill() }) // what it started ends with its namespaces
	defer t.Stop()
	l.client.Wait()
	var exit *exec.ExitError
	if werr := l.cmd.Wait(); werr != nil && !errors.As(werr, &exit) {
		err = errors.Join(err, werr)
	}
	return errors.Join(err, l.log.Close())
}

// Ended says that the lane's process will answer nothing any more.
func (l *RemoteLane) Ended() bool { return l.client.Err() != nil }
