package main

import (
	"context"
	"errors"
	"os/signal"
	"syscall"
	"testing"
)

// TestHangUpStaysIgnored: whoever starts picklock with nohup wants it to outlast the terminal.
func TestHangUpStaysIgnored(t *testing.T) {
	signal.Ignore(syscall.SIGHUP)
	defer signal.Reset(syscall.SIGHUP)
	_, stop := withSignals(t.Context())
	defer stop()
	if !signal.Ignored(syscall.SIGHUP) {
		t.Error("SIGHUP is not ignored any more")
	}
}

// TestInterruptedBeforeTheRuntime: a signal that comes before the nodes have their namespaces ends the command. Else only the outer
// process would know of it, which waits for the inner one.
func TestInterruptedBeforeTheRuntime(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := findRuntime(ctx, "local", ""); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
