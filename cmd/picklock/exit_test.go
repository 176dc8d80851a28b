package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"testing"
)

func asExit(err error, exit **exec.ExitError) bool { return errors.As(err, exit) }

func TestStatus(t *testing.T) {
	tests := []struct {
		err  error
		want int
	}{
		{nil, exitValid},
		{errors.New("x"), exitFailed},
		{usage(errors.New("x")), exitUsage},
		{&exitError{exitUnknown, nil}, exitUnknown},
		{errors.Join(errors.New("a"), &exitError{exitInvalid, nil}), exitInvalid},
	}
	for _, tt := range tests {
		if got := status(tt.err); got != tt.want {
			t.Errorf("status(%v) = %d, want %d", tt.err, got, tt.want)
		}
	}
}

// Who interrupts picklock reads that, and not what a context was.
func TestInterruptedSaysSo(t *testing.T) {
	ended, end := context.WithCancel(t.Context())
	end()
	canceled := fmt.Errorf("ask a testbed: %w", context.Canceled)
	for _, c := range []struct {
		ctx  context.Context
		err  error
		want string
	}{
		{ended, canceled, "interrupted before there was a result: ask a testbed"},
		{ended, context.Canceled, "interrupted before there was a result"},
		{t.Context(), canceled, "ask a testbed: context canceled"},
		{ended, errors.New("no such lock"), "no such lock"},
	} {
		if got := interrupted(c.ctx, c.err); got.Error() != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	if err := interrupted(ended, nil); err != nil {
		t.Error(err)
	}
}
