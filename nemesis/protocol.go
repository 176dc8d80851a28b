package nemesis

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"

	"github.com/picklock/picklock/nemesis/clock"
	"github.com/picklock/picklock/nemesis/wire"
)

// longestMessage is how long one message of the agent's protocol may be: a machine's table
// of sockets, at 150 bytes a socket, is the longest that is asked for.
const longestMessage = 64 << 20

// The agent's protocol: JSON-RPC 2.0, one message a line, answers in any order.
type (
	request struct {
		Version string `json:"jsonrpc"` // "2.0"
		ID      uint64 `json:"id"`
		Method  string `json:"method"`
		Params  params `json:"params"`
	}
	response struct {
		Version string    `json:"jsonrpc"`
		ID      uint64    `json:"id"`
		Result  *result   `json:"result,omitempty"`
		Error   *rpcError `json:"error,omitempty"`
	}
	// params are the arguments of all methods; each takes the ones that it needs.
	params struct {
		Within    int64    `json:"within,omitempty"` // ns that the caller waits at most
		PID       int      `json:"pid,omitempty"`
		Container string   `json:"container,omitempty"`
		Signal    int      `json:"signal,omitempty"`
		NetNS     string   `json:"netns,omitempty"`
		From      []string `json:"from,omitempty"`
		To        []string `json:"to,omitempty"`
		Addr      string   `json:"addr,omitempty"`
		clockSetting
		Port   bool       `json:"port,omitempty"` // ask only whether the port opens
		Send   string     `json:"send,omitempty"`
		Expect string     `json:"expect,omitempty"`
		TLS    bool       `json:"tls,omitempty"`
		Wire   wire.Order `json:"wire,omitzero"`
	}
	result struct {
		Yes     bool              `json:"yes,omitempty"`
		Dropped map[string]uint64 `json:"dropped,omitempty"`
		clockSetting
		Now   int64        `json:"now,omitempty"`
		Boot  string       `json:"boot,omitempty"` // see bootID
		Table string       `json:"table,omitempty"`
		Text  string       `json:"text,omitempty"` // of a server's answer, what matched
		Wire  *wire.Report `json:"wire,omitempty"`
	}
	// clockSetting is a clock.Setting.
	clockSetting struct {
		Offset int64   `json:"offset,omitempty"` // ns
		Rate   float64 `json:"rate,omitempty"`
		Strobe int64   `json:"strobe,omitempty"` // ns
	}
	rpcError struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	}
)

func wireClock(s clock.Setting) clockSetting {
	return clockSetting{int64(s.Offset), s.Rate, int64(s.Strobe)}
}

func (s clockSetting) clock() clock.Setting {
	return clock.Setting{Offset: time.Duration(s.Offset), Rate: s.Rate, Strobe: time.Duration(s.Strobe)}
}

// Codes of errors that callers tell apart; -32000 to -32099 are the server's own in
// JSON-RPC 2.0.
const (
	codeFailed = -32000 - iota
	codeProcessDone
	codeUnsupported
	codeRefused
	codeUnheld
	codeLate
)

// ErrRefused is wrapped by the agent's errors about processes that are none of its
// run's.
var ErrRefused = errors.New("not a process of this run")

// meanings are the errors that have to be the same ones on both ends.
var meanings = map[int][]error{
	codeProcessDone: {os.ErrProcessDone, syscall.ESRCH},
	codeUnsupported: {clock.ErrUnsupported},
	codeRefused:     {ErrRefused},
	codeUnheld:      {wire.ErrUnsupported},
	codeLate:        {context.DeadlineExceeded},
}

func wireError(err error) *rpcError {
	for code, means := range meanings {
		for _, m := range means {
			if errors.Is(err, m) {
				return &rpcError{code, err.Error()}
			}
		}
	}
	return &rpcError{codeFailed, err.Error()}
}

// Error implements error.
func (e *rpcError) Error() string { return e.Message }

// Is makes errors.Is find what the error meant at the other end.
func (e *rpcError) Is(target error) bool {
	for _, m := range meanings[e.Code] {
		if m == target {
			return true
		}
	}
	return false
}
