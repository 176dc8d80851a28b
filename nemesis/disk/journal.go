package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"

	"github.com/picklock/picklock/compose"
)

// journal does to a folder what a file system's users ask for, and keeps what it takes
// to undo everything since it was last synced. The folder always holds what a reader
// must see, so that killing a process alone loses nothing.
//
// Names are one log, as with a journalling file system: a sync of any file or folder
// makes every name durable that was made, moved or removed before. Data is durable file
// by file.
type journal struct {
	root  string // of the files
	trash string // of removed files that may come back

	mu    sync.RWMutex
	files map[uint64]*unsynced // by inode
	names []change             // oldest first
	bin   int                  // the next name in the trash
	clock uint64               // counts writes
}

// change is one change of names.
type change struct {
	back func() error
	gone string // what it left in the trash, "" for nothing
}

// newJournal takes over a folder: what is below files is durable. What trash holds is
// thrown away.
func newJournal(files, trash string) (*journal, error) {
	if err := os.RemoveAll(trash); err != nil {
		return nil, err
	}
	for _, dir := range []string{files, trash} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
	}
	return &journal{root: files, trash: trash, files: map[uint64]*unsynced{}}, nil
}

func (j *journal) path(name string) string { return filepath.Join(j.root, name) }

func (j *journal) did(back func() error) { j.names = append(j.names, change{back: back}) }

// create makes a file of a name and opens it; made is false if it was there.
func (j *journal) create(name string, mode os.FileMode) (f *os.File, made bool, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	path := j.path(name)
	f, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		f, err = os.OpenFile(path, os.O_RDWR, 0)
		return f, false, err
	}
	if err != nil {
		return nil, false, err
	}
	if err := syscall.Chmod(path, uint32(mode)); err != nil { // past our own umask
		return nil, false, errors.Join(err, f.Close(), os.Remove(path))
	}
	j.did(func() error { return os.Remove(path) })
	return f, true, nil
}

// add makes a name by anything that can be undone by removing it.
func (j *journal) add(name string, how func(path string) error) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	path := j.path(name)
	if err := how(path); err != nil {
		return err
	}
	j.did(func() error { return os.Remove(path) })
	return nil
}

// remove takes a name away: of a file, or of a folder that is empty.
func (j *journal) remove(name string, dir bool) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	path := j.path(name)
	if err := removable(path, dir); err != nil {
		return err
	}
	return j.discard(path)
}

// removable says what unlink or rmdir would say.
func removable(path string, dir bool) error {
	fi, err := os.Lstat(path)
	switch {
	case err != nil:
		return err
	case dir != fi.IsDir() && dir:
		return syscall.ENOTDIR
	case dir != fi.IsDir():
		return syscall.EISDIR
	case !dir:
		return nil
	}
	inside, err := os.ReadDir(path)
	if err == nil && len(inside) > 0 {
		err = syscall.ENOTEMPTY
	}
	return err
}

// discard moves what a path names into the trash.
func (j *journal) discard(path string) error {
	bin := filepath.Join(j.trash, strconv.Itoa(j.bin))
	if err := os.Rename(path, bin); err != nil {
		return err
	}
	j.bin++
	j.names = append(j.names, change{func() error { return os.Rename(bin, path) }, bin})
	return nil
}

// rename gives what has one name another, over what had that.
func (j *journal) rename(from, to string, keep bool) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	old, target := j.path(from), j.path(to)
	fi, err := os.Lstat(old)
	if err != nil {
		return err
	}
	had, err := os.Lstat(target)
	if errors.Is(err, fs.ErrNotExist) {
		if err := os.Rename(old, target); err != nil {
			return err
		}
		j.did(func() error { return os.Rename(target, old) })
		return nil
	}
	switch {
	case err != nil:
		return err
	case keep:
		return syscall.EEXIST
	case os.SameFile(fi, had):
		return nil
	}
	if err := removable(target, fi.IsDir()); err != nil {
		return err
	}
	if err := j.discard(target); err != nil {
		return err
	}
	if err := os.Rename(old, target); err != nil {
		last := len(j.names) - 1
		back := j.names[last]
		j.names = j.names[:last]
		return errors.Join(err, back.back())
	}
	j.did(func() error { return os.Rename(target, old) })
	return nil
}

// sync makes every name durable, and of f, which may be nil, the data.
func (j *journal) sync(f *os.File) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.syncNames(); err != nil || f == nil {
		return err
	}
	ino, err := inode(f)
	if err != nil {
		return err
	}
	return j.forget(ino)
}

// freeze lets nothing change until the function that it returns is called, once, which
// makes everything durable as it is.
func (j *journal) freeze() (syncAll func() error) {
	j.mu.Lock()
	return func() error {
		defer j.mu.Unlock()
		err := j.syncNames()
		for ino := range j.files {
			err = errors.Join(err, j.forget(ino))
		}
		return err
	}
}

func (j *journal) syncNames() error {
	names := j.names
	j.names = nil
	for _, c := range names {
		if c.gone == "" {
			continue
		}
		// A file whose last name this was will not be read again after a loss.
		if ino, last := lastName(c.gone); last {
			if err := j.forget(ino); err != nil {
				return err
			}
		}
		if err := os.RemoveAll(c.gone); err != nil {
			return fmt.Errorf("remove for good: %w", err)
		}
	}
	return nil
}

// lose takes back all that was not synced. With tear, of the file that was written last the
// first write stays in part, if there is one that can be torn.
func (j *journal) lose(tear bool) (compose.PowerLost, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	lost := compose.PowerLost{Names: len(j.names)}
	var torn *unsynced
	var left []byte
	var errs []error
	for _, u := range j.files {
		if u.bytes > 0 {
			lost.Files++
			lost.Bytes += u.bytes
			if tear && u.first.part() > 0 && (torn == nil || u.last > torn.last) {
				torn = u
			}
		}
	}
	if torn != nil {
		left = make([]byte, torn.first.part())
		n, err := torn.file.ReadAt(left, torn.first.offset)
		if left = left[:n]; n == 0 && err != nil {
			torn = nil // it was cut off since
		}
	}
	for _, u := range j.files {
		errs = append(errs, u.restore())
	}
	for _, c := range slices.Backward(j.names) {
		errs = append(errs, c.back())
	}
	if torn != nil {
		n, err := torn.file.WriteAt(left, torn.first.offset)
		lost.Torn = int64(n)
		errs = append(errs, err)
	}
	j.names = nil
	for ino := range j.files {
		errs = append(errs, j.forget(ino))
	}
	return lost, errors.Join(errs...)
}

// pending says how much is not durable.
func (j *journal) pending() compose.PowerLost {
	j.mu.RLock()
	defer j.mu.RUnlock()
	p := compose.PowerLost{Names: len(j.names)}
	for _, u := range j.files {
		p.Bytes += u.bytes
		p.Files++
	}
	return p
}
