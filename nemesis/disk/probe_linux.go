package disk

import (
	"context"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/picklock/picklock/compose"
)

// Probe is the name, in a disk's root, of a file that only meets the disk's faults: what
// is written to it goes nowhere, and a sync of it syncs nothing. No listing shows it.
const Probe = compose.DiskProbe

type probe struct {
	fs.Inode
	disk *Disk
}

var _ interface {
	fs.NodeOpener
	fs.NodeGetattrer
	fs.NodeSetattrer
	fs.NodeWriter
	fs.NodeFsyncer
	fs.NodeFlusher
} = (*probe)(nil)

func (p *probe) Open(context.Context, uint32) (fs.FileHandle, uint32, syscall.Errno) {
	return nil, fuse.FOPEN_DIRECT_IO, 0
}

func (p *probe) Getattr(_ context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	out.Mode = syscall.S_IFREG | 0o600
	return 0
}

func (p *probe) Setattr(ctx context.Context, f fs.FileHandle, _ *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	return p.Getattr(ctx, f, out)
}

func (p *probe) Write(_ context.Context, _ fs.FileHandle, data []byte, _ int64) (uint32, syscall.Errno) {
	return uint32(len(data)), p.disk.gate.write(true)
}

func (p *probe) Fsync(ctx context.Context, _ fs.FileHandle, _ uint32) syscall.Errno {
	return p.disk.gate.sync(ctx.Done(), dying(ctx))
}

func (p *probe) Flush(context.Context, fs.FileHandle) syscall.Errno { return 0 }
