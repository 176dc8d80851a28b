// Package scratch makes temporary folders that are found again when whoever made them was killed. It knows who
// uses a folder still, and must not know for what.
package scratch

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

const (
	prefix = "picklock-scratch-"
	// marker is a file in each folder. Its maker has it locked for as long as it lives: the kernel ends the lock with the process.
	marker = ".picklock-scratch"
)

// Dir is a folder of this process.
type Dir struct {
	Path string
	mark *os.File
}

// Make makes a folder in the system's folder for temporary files. The caller removes it.
func Make() (*Dir, error) {
	path, err := os.MkdirTemp("", prefix)
	if err != nil {
		return nil, err
	}
	mark, err := os.OpenFile(filepath.Join(path, "making"), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(path))
	}
	err = unix.Flock(int(mark.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		// The mark gets its name when it is locked: nobody finds it before.
		err = os.Rename(mark.Name(), filepath.Join(path, marker))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("mark %s as used: %w", path, err), mark.Close(), os.RemoveAll(path))
	}
	return &Dir{Path: path, mark: mark}, nil
}

// Remove removes the folder with all that is in it.
func (d *Dir) Remove() error {
	return errors.Join(os.RemoveAll(d.Path), d.mark.Close())
}

// Left are the folders whose makers have ended without removing them.
func Left() ([]string, error) {
	all, err := filepath.Glob(filepath.Join(os.TempDir(), prefix+"*"))
	if err != nil {
		return nil, err
	}
	var left []string
	for _, path := range all {
		if mark, err := claim(path); err == nil {
			left = append(left, path)
			mark.Close()
		}
	}
	return left, nil
}

// RemoveLeft removes one of these folders, unless somebody uses it.
func RemoveLeft(path string) error {
	mark, err := claim(path)
	if err != nil {
		return err
	}
	return errors.Join(os.RemoveAll(path), mark.Close())
}

// claim locks the mark of a folder whose maker is gone. A folder that has no mark yet is being made, and a link is no such folder.
func claim(path string) (*os.File, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%s is no folder", path)
	}
	mark, err := os.OpenFile(filepath.Join(path, marker), os.O_RDWR|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(mark.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("%s is in use: %w", path, err), mark.Close())
	}
	return mark, nil
}
