package nemesis

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// tryDisk mounts a disk, and unmounts it before anybody has used it.
func tryDisk() (err error) {
	fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open /dev/fuse: %w (load the module fuse, and let users open the device)", err)
	}
	defer unix.Close(fd)
	at, err := os.MkdirTemp("", "picklock-disk")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.Remove(at)) }()
	options := fmt.Sprintf("fd=%d,rootmode=40000,user_id=%d,group_id=%d,allow_other", fd, os.Geteuid(), os.Getegid())
	if err := unix.Mount("picklock", at, "fuse.picklock", unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
		return fmt.Errorf("mount a FUSE file system: %w", err)
	}
	return unix.Unmount(at, unix.MNT_DETACH)
}
