package proc

import (
	"os"
	"os/signal"
	"syscall"
)

// Interrupts are the signals that ask a program to end: those of Ctrl-C, of kill and of a
// terminal that is closed. The last is left out where it is ignored, as under nohup:
// signal.Notify would make it count again.
func Interrupts() []os.Signal {
	out := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		out = append(out, syscall.SIGHUP)
	}
	return out
}
