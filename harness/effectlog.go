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

// effectLog takes the register's log as it is written and keeps it in memory, by key.
type effectLog struct {
	mu      sync.Mutex
	half    []byte // of a line
	keys    map[string][]history.Effect
	changed chan struct{}
	err     error
}

func newEffectLog() *effectLog {
	return &effectLog{keys: map[string][]history.Effect{}, changed: make(chan struct{})}
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
		l.keys[e.Key] = append(l.keys[e.Key], e)
		l.half = rest
	}
	close(l.changed)
	l.changed = make(chan struct{})
	return len(b), l.err
}

// Close implements io.Closer.
func (l *effectLog) Close() error { return nil }

// logWithin is how long a line of the register's log may be on its way.
const logWithin = 5 * time.Second

// of takes a key's effects, at least so many, for which it waits.
func (l *effectLog) of(ctx context.Context, key string, least int) ([]history.Effect, error) {
	ctx, cancel := context.WithTimeout(ctx, logWithin)
	defer cancel()
	for {
		l.mu.Lock()
		have, changed, err := l.keys[key], l.changed, l.err
		if len(have) >= least {
			clear(l.keys) // nobody asks for what was before
		}
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
