package compose

import (
	"os"

	"golang.org/x/sys/unix"
)

// punch gives the room of n bytes of a file back, which are zeros from then on.
func punch(path string, from, n int64) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	return unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, from, n)
}
