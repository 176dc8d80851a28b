package disk

import (
	"errors"
	"io"
	"math"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// unsynced is what it takes to give a file its durable content back.
type unsynced struct {
	file  *os.File // a descriptor of our own, whatever names the file has
	size  int64    // when it was last synced
	pages map[int64][]byte
	// The unsynced writes: how many bytes, the first one, and when the last was.
	bytes int64
	first extent
	last  uint64
}

type extent struct{ offset, length int64 }

// sector is what a disk writes whole or not at all, in bytes.
const sector = 512

// part is how much of a write a disk has written that stopped halfway: whole sectors. 0
// for a write that no sector's end divides, which cannot be torn.
func (e extent) part() int64 {
	end := (e.offset + e.length/2) / sector * sector
	if end <= e.offset {
		end = (e.offset/sector + 1) * sector
	}
	if end >= e.offset+e.length {
		return 0
	}
	return end - e.offset
}

// page is the grain in which the durable content is kept, in bytes.
const page = 4096

// inode is what a file is known by, whatever its names.
func inode(f *os.File) (uint64, error) {
	fi, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return fi.Sys().(*syscall.Stat_t).Ino, nil
}

// lastName is the inode of what a path names, if it has no other name.
func lastName(path string) (ino uint64, last bool) {
	fi, err := os.Lstat(path)
	if err != nil {
		return 0, false
	}
	st := fi.Sys().(*syscall.Stat_t)
	return st.Ino, st.Nlink == 1
}

// touch begins to keep a file's content before it changes; nil for one that has no name
// any more and so none after a loss. j.mu is held.
func (j *journal) touch(f *os.File) (*unsynced, error) {
	fi, err := f.Stat()
	if err != nil {
		return nil, err
	}
	st := fi.Sys().(*syscall.Stat_t)
	if u := j.files[st.Ino]; u != nil {
		return u, nil
	}
	if st.Nlink == 0 {
		return nil, nil
	}
	fd, err := syscall.Dup(int(f.Fd()))
	if err != nil {
		return nil, err
	}
	syscall.CloseOnExec(fd)
	u := &unsynced{file: os.NewFile(uintptr(fd), f.Name()), size: fi.Size(), pages: map[int64][]byte{}}
	j.files[st.Ino] = u
	return u, nil
}

// forget says that a file's content is durable as it is. j.mu is held.
func (j *journal) forget(ino uint64) error {
	u := j.files[ino]
	if u == nil {
		return nil
	}
	delete(j.files, ino)
	return u.file.Close()
}

// keep remembers what is durable of a range before it changes. Databases allocate files of many megabytes that nothing
// was written to yet: such holes are zeros, and are remembered only if something is written there. zeroes says that the
// change leaves zeros in holes, or cuts them off.
func (u *unsynced) keep(offset, length int64, zeroes bool) error {
	if u == nil {
		return nil
	}
	end := min(offset+length, u.size)
	data := int64(-1) // where the next data begin: what is before is a hole
	for p := offset / page; p*page < end; p++ {
		if _, ok := u.pages[p]; ok {
			continue
		}
		if data < p*page {
			var err error
			if data, err = u.nextData(p * page); err != nil {
				return err
			}
		}
		hole := data >= (p+1)*page
		if hole && zeroes {
			p = max(p, min(data, end)/page-1) // the last page that is a hole
			continue
		}
		size := min(page, u.size-p*page)
		if hole {
			u.pages[p] = blank[:size]
			continue
		}
		was := make([]byte, size)
		if n, err := u.file.ReadAt(was, p*page); err != nil && (n < len(was) || !errors.Is(err, io.EOF)) {
			return err
		}
		u.pages[p] = was
	}
	return nil
}

// blank is a page of a hole. It is only read.
var blank = make([]byte, page)

// nextData is where data begin in the file, from an offset on: far behind its end if there are none.
func (u *unsynced) nextData(from int64) (int64, error) {
	at, err := unix.Seek(int(u.file.Fd()), from, unix.SEEK_DATA)
	if errors.Is(err, unix.ENXIO) {
		return math.MaxInt64 - page, nil
	}
	return at, err
}

// restore gives the file its durable content back.
func (u *unsynced) restore() error {
	if err := u.file.Truncate(u.size); err != nil {
		return err
	}
	for p, was := range u.pages {
		if _, err := u.file.WriteAt(was, p*page); err != nil {
			return err
		}
	}
	return nil
}

// write writes to a file that is open for reading and writing.
func (j *journal) write(f *os.File, data []byte, offset int64) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	u, err := j.touch(f)
	if err == nil {
		err = u.keep(offset, int64(len(data)), false)
	}
	if err != nil {
		return 0, err
	}
	n, err := f.WriteAt(data, offset)
	if u != nil && n > 0 {
		j.clock++
		if u.bytes == 0 {
			u.first = extent{offset, int64(n)}
		}
		u.bytes += int64(n)
		u.last = j.clock
	}
	return n, err
}

// truncate gives a file another size.
func (j *journal) truncate(f *os.File, size int64) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	u, err := j.touch(f)
	if err == nil && u != nil {
		err = u.keep(size, u.size-size, true)
	}
	if err != nil {
		return err
	}
	return f.Truncate(size)
}

// change lets how change a range of a file in its own way, which leaves zeros where a hole was.
func (j *journal) change(f *os.File, offset, length int64, how func() error) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	u, err := j.touch(f)
	if err == nil {
		err = u.keep(offset, length, true)
	}
	if err != nil {
		return err
	}
	return how()
}
