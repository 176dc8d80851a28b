package clock

import (
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// What a tracer leaves attached the kernel releases when its thread ends, and the main
// thread never does.
func TestNoTracerIsTheMainThread(t *testing.T) {
	var all sync.WaitGroup
	for range 200 {
		all.Go(func() {
			_ = onTracer(func() error {
				if unix.Gettid() == unix.Getpid() {
					t.Error("a tracer on the main thread")
				}
				return nil
			})
		})
	}
	all.Wait()
}
