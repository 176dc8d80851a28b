package main

import (
	"errors"
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
