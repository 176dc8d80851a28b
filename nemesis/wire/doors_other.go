//go:build !linux

package wire

import "context"

// Doors are none: this needs Linux.
type Doors struct{}

// NewDoors are none.
func NewDoors() *Doors { return &Doors{} }

// Order does nothing.
func (*Doors) Order(context.Context, string, Order) (Report, error) { return Report{}, ErrUnsupported }

// Forget does nothing.
func (*Doors) Forget(uint64) func() error { return func() error { return nil } }

// Close does nothing.
func (*Doors) Close() error { return nil }
