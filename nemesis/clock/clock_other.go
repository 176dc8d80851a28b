//go:build !linux || !amd64

package clock

import (
	"context"
	"fmt"
	"runtime"
	"time"
)

func shift(context.Context, int, time.Duration) (Report, error) { return Report{}, supported() }

func read(int) (time.Duration, error) { return 0, supported() }

func supported() error {
	return fmt.Errorf("%w: needs Linux on x86-64, this is %s/%s", ErrUnsupported, runtime.GOOS, runtime.GOARCH)
}
