package proc

import (
	"errors"

	"golang.org/x/sys/unix"
)

// AwaitEnd returns when a child has ended, which is then still to be waited for. Waiting
// alone takes the stops of a child that this process traces for its end. The error says
// that this kernel cannot tell.
func AwaitEnd(pid int) error {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	for {
		_, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, -1)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
