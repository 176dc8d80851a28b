//go:build !linux

package compose

import "errors"

// punch gives the room of n bytes of a file back.
func punch(string, int64, int64) error { return errors.ErrUnsupported }
