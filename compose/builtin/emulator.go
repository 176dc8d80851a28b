package builtin

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"strings"
	"sync"

	"github.com/truora/minidyn/server"
)

// emulator makes of minidyn, which keeps everything in memory and lets requests that
// touch its tables race, what DynamoDB is to a client: requests take effect one after
// the other, and what was answered survives a crash and a loss of power. Each write is logged with its
// answer still held back, and a new start does the logged writes again: minidyn reads
// no clock, so that the same requests in the same order give the same state.
type emulator struct {
	api    http.Handler
	failed chan error // the log cannot be written

	mu     sync.Mutex
	log    *os.File // nil: nothing is kept
	broken error    // nothing is answered any more: what is in memory and not in the log will be forgotten
}

// maxRequest is DynamoDB's own limit on a request, 16 MB.
const maxRequest = 16 << 20

// logged is one line of the log.
type logged struct {
	Target string          `json:"target"` // the X-Amz-Target header
	Body   json.RawMessage `json:"body"`
}

func newEmulator(path string) (*emulator, error) {
	e := &emulator{api: server.NewServer(), failed: make(chan error, 1)}
	if path == "" {
		return e, nil
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open the log of writes: %w", err)
	}
	if err := e.replay(f); err != nil {
		return nil, errors.Join(fmt.Errorf("replay the log of writes %s: %w", path, err), f.Close())
	}
	e.log = f
	return e, nil
}

// replay does the logged writes again and leaves f at the end of the last whole line:
// what a crash cut off was never answered.
func (e *emulator) replay(f *os.File) error {
	lines := bufio.NewReader(f)
	end := int64(0)
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			if err != io.EOF {
				return err
			}
			break
		}
		var l logged
		if err := json.Unmarshal(line, &l); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		if a := e.do(l.Target, l.Body); a.code != http.StatusOK {
			return fmt.Errorf("line %d: what was done once is refused now: %s", n, a.body.Bytes())
		}
		end += int64(len(line))
	}
	if err := f.Truncate(end); err != nil {
		return err
	}
	_, err := f.Seek(end, io.SeekStart)
	return err
}

func (e *emulator) do(target string, body []byte) *answer {
	a := newAnswer()
	r, err := http.NewRequestWithContext(context.Background(), http.MethodPost, "/", bytes.NewReader(body))
	if err != nil { // the method and the address are constants
		a.code = http.StatusInternalServerError
		return a
	}
	r.Header.Set("X-Amz-Target", target)
	e.api.ServeHTTP(a, r)
	return a
}

// ServeHTTP implements http.Handler. The body is read and the answer sent outside the
// lock: a client that is stopped in the middle does not hold up the others.
func (e *emulator) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		http.Error(w, "DynamoDB's interface takes POST", http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	a, err := e.serve(r.Header.Get("X-Amz-Target"), body)
	if err != nil {
		select {
		case e.failed <- err:
		default: // the first failure ends the server
		}
		// An empty answer would be a success, and clients ask again after this one.
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = io.WriteString(w, `{"__type":"com.amazonaws.dynamodb.v20120810#InternalServerError"}`)
		return
	}
	maps.Copy(w.Header(), a.header)
	w.WriteHeader(a.code)
	_, _ = w.Write(a.body.Bytes()) // a client that is gone learns nothing
}

func (e *emulator) serve(target string, body []byte) (*answer, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.broken != nil {
		return nil, e.broken
	}
	a := e.do(target, body)
	if e.log == nil || a.code != http.StatusOK || !writes(target) {
		return a, nil
	}
	line, err := json.Marshal(logged{target, body})
	if err == nil {
		_, err = e.log.Write(append(line, '\n'))
	}
	if err == nil {
		err = e.log.Sync()
	}
	if err != nil {
		e.broken = fmt.Errorf("write the log of writes: %w", err)
		return nil, e.broken
	}
	return a, nil
}

// writes says whether an operation can change anything.
func writes(target string) bool {
	_, op, _ := strings.Cut(target, ".")
	switch op {
	case "GetItem", "BatchGetItem", "TransactGetItems", "Query", "Scan", "DescribeTable", "ListTables":
		return false
	}
	return true
}

func (e *emulator) close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.log == nil {
		return nil
	}
	return e.log.Close()
}
