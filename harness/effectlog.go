package harness

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/picklock/picklock/history"
)

// effectLog takes the register's log as it is written and keeps in memory what concerns the keys that
// are in use.
type effectLog struct {
	mu      sync.Mutex
	half    []byte                       // of a line
	keys    map[string]*[]history.Effect // of the keys in use; those of one run share theirs
	changed chan struct{}
	err     error
}

func newEffectLog() *effectLog {
	return &effectLog{keys: map[string]*[]history.Effect{}, changed: make(chan struct{})}
}

func (l *effectLog) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.half = append(l.half, b...)
	for {
		line, rest, whole := bytes.Cut(l.half, []byte("\n"))
		if !whole {
			break
		}
		var e history.Effect
		if err := json.Unmarshal(line, &e); err != nil {
			l.err = fmt.Errorf("read the register's log: %w", err)
		}
		if have, used := l.keys[e.Key]; used {
			*have = append(*have, e)
		}
		l.half = rest
	}
	close(l.changed)
	l.changed = make(chan struct{})
	return len(b), l.err
}

// Close implements io.Closer.
func (l *effectLog) Close() error { return nil }

// begin says that a run uses some keys from now on.
func (l *effectLog) begin(keys []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	of := new([]history.Effect)
	for _, k := range keys {
		l.keys[k] = of
	}
}

// drop says that keys are not used any more.
func (l *effectLog) drop(keys []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, k := range keys {
		delete(l.keys, k)
	}
}

// logWithin is how long a line of the register's log may be on its way.
const logWithin = 5 * time.Second

// of is the effects of the run that uses a key, in the register's order: at least so many, for which it waits.
func (l *effectLog) of(ctx context.Context, key string, least int) ([]history.Effect, error) {
	ctx, cancel := context.WithTimeout(ctx, logWithin)
	defer cancel()
	for {
		l.mu.Lock()
		have, changed, err := *l.keys[key], l.changed, l.err
		l.mu.Unlock()
		if err != nil || len(have) >= least {
			return have, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, fmt.Errorf("the register's log has %d of %d lines: %w", len(have), least, ctx.Err())
		}
	}
}
