package nemesis

import (
	"encoding/json"
	"errors"
	"os"
	"syscall"

	"github.com/picklock/picklock/nemesis/clock"
)

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
		Addr      string   `json:"addr,omitempty"`
		Offset    int64    `json:"offset,omitempty"` // ns
		Port      bool     `json:"port,omitempty"`   // ask only whether the port opens
		Send      string   `json:"send,omitempty"`
		Expect    string   `json:"expect,omitempty"`
		TLS       bool     `json:"tls,omitempty"`
	}
	result struct {
		Yes     bool              `json:"yes,omitempty"`
		Dropped map[string]uint64 `json:"dropped,omitempty"`
		Offset  int64             `json:"offset,omitempty"`
		Now     int64             `json:"now,omitempty"`
		Boot    string            `json:"boot,omitempty"` // see bootID
		Table   string            `json:"table,omitempty"`
		Text    string            `json:"text,omitempty"` // of a server's answer, what matched
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
)

// ErrRefused is wrapped by the agent's errors about processes that are none of its
// run's.
var ErrRefused = errors.New("not a process of this run")

// meanings are the errors that have to be the same ones on both ends.
var meanings = map[int][]error{
	codeProcessDone: {os.ErrProcessDone, syscall.ESRCH},
	codeUnsupported: {clock.ErrUnsupported},
	codeRefused:     {ErrRefused},
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

func line(v any) ([]byte, error) {
	text, err := json.Marshal(v)
	return append(text, '\n'), err
}
