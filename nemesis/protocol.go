package nemesis

import (
	"context"
	"errors"
	"os"
	"syscall"

	"github.com/picklock/picklock/nemesis/clock"
	"github.com/picklock/picklock/nemesis/packetfault"
)

// longestMessage is how long one message of the agent's protocol may be: a machine's table
// of sockets, at 150 bytes a socket, is the longest that is asked for.
const longestMessage = 64 << 20

// The agent's protocol: JSON-RPC 2.0, one message a line, answers in any order.
type (
	request struct {
		Version string `json:"jsonrpc"` // "2.0"
		ID      uint64 `json:"id"`
		Method  OpName `json:"method"`
		Params  params `json:"params"`
	}
	params struct {
		Op
		Within int64 `json:"within,omitempty"` // ns that the caller waits at most
	}
	response struct {
		Version string    `json:"jsonrpc"`
		ID      uint64    `json:"id"`
		Result  *Result   `json:"result,omitempty"`
		Error   *rpcError `json:"error,omitempty"`
	}
	rpcError struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	}
)

// Codes of errors that callers tell apart; -32000 to -32099 are the server's own in
// JSON-RPC 2.0.
const (
	codeFailed = -32000 - iota
	codeProcessDone
	codeUnsupported
	codeRefused
	codeUnheld
	codeLate
	codeNoOp
)

// ErrRefused is wrapped by the agent's errors about processes that are none of its
// run's.
var ErrRefused = errors.New("not a process of this run")

// meanings are the errors that have to be the same ones on both ends.
var meanings = map[int][]error{
	codeProcessDone: {os.ErrProcessDone, syscall.ESRCH},
	codeUnsupported: {clock.ErrUnsupported},
	codeRefused:     {ErrRefused},
	codeUnheld:      {packetfault.ErrUnsupported},
	codeLate:        {context.DeadlineExceeded},
	codeNoOp:        {errors.ErrUnsupported},
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
