//go:build !linux || !amd64

package clock

import (
	"context"
	"fmt"
	"runtime"
)

func set(context.Context, int, slot) (Report, error) { return Report{}, supported() }

func read(int) (slot, error) { return slot{}, supported() }

func supported() error {
	return fmt.Errorf("%w: needs Linux on x86-64, this is %s/%s", ErrUnsupported, runtime.GOOS, runtime.GOARCH)
}
