package disk

import (
	"context"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// handle is a file that a process has open.
type handle struct {
	disk   *Disk
	ino    uint64
	file   *os.File
	writes bool
}

var _ interface {
	fs.FileReader
	fs.FileWriter
	fs.FileFlusher
	fs.FileReleaser
	fs.FileLseeker
	fs.FileAllocater
} = (*handle)(nil)

func (h *handle) Read(_ context.Context, dest []byte, offset int64) (fuse.ReadResult, syscall.Errno) {
	n, err := h.file.ReadAt(dest, offset)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, errno(err)
	}
	return fuse.ReadResultData(dest[:n]), 0
}

func (h *handle) Write(_ context.Context, data []byte, offset int64) (uint32, syscall.Errno) {
	fi, err := h.file.Stat()
	if err != nil {
		return 0, errno(err)
	}
	if e := h.disk.gate.write(offset+int64(len(data)) > fi.Size()); e != 0 {
		return 0, e
	}
	n, err := h.disk.journal.write(h.file, data, offset)
	return uint32(n), errno(err)
}

// Allocate is fallocate: it extends a file, or makes a hole in it.
func (h *handle) Allocate(_ context.Context, offset, size uint64, mode uint32) syscall.Errno {
	const known = unix.FALLOC_FL_KEEP_SIZE | unix.FALLOC_FL_PUNCH_HOLE | unix.FALLOC_FL_ZERO_RANGE
	if mode&^uint32(known) != 0 {
		return syscall.EOPNOTSUPP
	}
	if e := h.disk.gate.write(mode&unix.FALLOC_FL_PUNCH_HOLE == 0); e != 0 {
		return e
	}
	return errno(h.disk.journal.allocate(h.file, int64(offset), int64(size), mode))
}

// allocate allocates a range of a file, or makes a hole in it.
func (j *journal) allocate(f *os.File, offset, length int64, mode uint32) error {
	return j.change(f, offset, length, func() error { return unix.Fallocate(int(f.Fd()), mode, offset, length) })
}

func (h *handle) Lseek(_ context.Context, offset uint64, whence uint32) (uint64, syscall.Errno) {
	n, err := unix.Seek(int(h.file.Fd()), int64(offset), int(whence))
	return uint64(n), errno(err)
}

func (h *handle) Flush(context.Context) syscall.Errno { return 0 }

func (h *handle) Release(context.Context) syscall.Errno {
	h.disk.closed(h)
	return errno(h.file.Close())
}

// dying says whether the process that asks has been killed.
func dying(ctx context.Context) func() bool {
	caller, ok := fuse.FromContext(ctx)
	return func() bool { return ok && killed(int(caller.Pid)) }
}

// killed says whether a thread has SIGKILL waiting for it, or is gone.
func killed(tid int) bool {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(tid) + "/status")
	if err != nil {
		return true
	}
	for line := range strings.Lines(string(text)) {
		name, mask, _ := strings.Cut(line, ":")
		if name != "SigPnd" && name != "ShdPnd" {
			continue
		}
		if bits, err := strconv.ParseUint(strings.TrimSpace(mask), 16, 64); err == nil && bits&(1<<(syscall.SIGKILL-1)) != 0 {
			return true
		}
	}
	return false
}
