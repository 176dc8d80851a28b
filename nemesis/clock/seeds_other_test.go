//go:build !linux || !amd64

package clock

import (
	"context"
	"errors"
	"testing"
)

func seeds() [][]byte { return nil }

func TestUnsupportedHere(t *testing.T) {
	_, shiftErr := shift(context.Background(), 1, 1)
	_, readErr := Read(1)
	for _, err := range []error{shiftErr, readErr, Supported()} {
		if !errors.Is(err, ErrUnsupported) {
			t.Error(err)
		}
	}
}
