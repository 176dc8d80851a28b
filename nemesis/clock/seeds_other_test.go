//go:build !linux || !amd64

package clock

import (
	"context"
	"errors"
	"testing"
	"time"
)

func seeds() [][]byte { return nil }

func TestUnsupportedHere(t *testing.T) {
	_, setErr := Set(context.Background(), 1, Setting{Offset: time.Second}, 0)
	_, readErr := Read(1, 0)
	for _, err := range []error{setErr, readErr, Supported()} {
		if !errors.Is(err, ErrUnsupported) {
			t.Error(err)
		}
	}
}
