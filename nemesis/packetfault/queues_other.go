//go:build !linux

package packetfault

import "context"

// Queues are none: this needs Linux.
type Queues struct{}

// NewQueues are none.
func NewQueues() *Queues { return &Queues{} }

// Do does nothing.
func (*Queues) Do(context.Context, string, Request) (Report, error) { return Report{}, ErrUnsupported }

// Forget does nothing.
func (*Queues) Forget(uint64) func() error { return func() error { return nil } }

// Close does nothing.
func (*Queues) Close() error { return nil }
