package disk

import (
	"context"
	"errors"
	"os"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// node is a file or folder as the kernel knows it.
type node struct {
	fs.Inode
	disk *Disk
}

var _ interface {
	fs.NodeLookuper
	fs.NodeGetattrer
	fs.NodeSetattrer
	fs.NodeCreater
	fs.NodeOpener
	fs.NodeReaddirer
	fs.NodeMkdirer
	fs.NodeMknoder
	fs.NodeSymlinker
	fs.NodeReadlinker
	fs.NodeLinker
	fs.NodeUnlinker
	fs.NodeRmdirer
	fs.NodeRenamer
	fs.NodeStatfser
	fs.NodeFsyncer
} = (*node)(nil)

// errno is the kernel's number of an error.
func errno(err error) syscall.Errno {
	var e syscall.Errno
	switch {
	case err == nil:
		return 0
	case errors.As(err, &e):
		return e
	}
	return fs.ToErrno(err)
}

// name is the node's path below the disk's root.
func (n *node) name() string { return n.Path(n.Root()) }

func (n *node) below(name string) string {
	if n.IsRoot() {
		return name
	}
	return n.name() + "/" + name
}

// child is the node of something that is on the disk.
func (n *node) child(ctx context.Context, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	var st syscall.Stat_t
	if err := syscall.Lstat(n.disk.journal.path(n.below(name)), &st); err != nil {
		return nil, errno(err)
	}
	out.FromStat(&st)
	return n.NewInode(ctx, &node{disk: n.disk}, fs.StableAttr{Mode: st.Mode & syscall.S_IFMT, Ino: st.Ino}), 0
}

func (n *node) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	if name == Probe && n.IsRoot() {
		out.Mode = syscall.S_IFREG | 0o600
		return n.NewInode(ctx, &probe{disk: n.disk}, fs.StableAttr{Mode: syscall.S_IFREG}), 0
	}
	n.disk.journal.mu.RLock()
	defer n.disk.journal.mu.RUnlock()
	return n.child(ctx, name, out)
}

func (n *node) Getattr(_ context.Context, f fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	h, ok := f.(*handle)
	if !ok {
		h = n.disk.open(n.StableAttr().Ino) // it may have no name any more
	}
	if h != nil {
		if fi, err := h.file.Stat(); err == nil { // not so if it is being closed
			out.FromStat(fi.Sys().(*syscall.Stat_t))
			return 0
		}
	}
	n.disk.journal.mu.RLock()
	defer n.disk.journal.mu.RUnlock()
	var st syscall.Stat_t
	err := syscall.Lstat(n.disk.journal.path(n.name()), &st)
	if err == nil {
		out.FromStat(&st)
	}
	return errno(err)
}

func (n *node) Setattr(ctx context.Context, f fs.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	if size, ok := in.GetSize(); ok {
		if err := n.resize(f, int64(size)); err != 0 {
			return err
		}
	}
	path := n.disk.journal.path(n.name())
	if mode, ok := in.GetMode(); ok {
		if err := syscall.Chmod(path, mode); err != nil {
			return errno(err)
		}
	}
	uid, uok := in.GetUID()
	gid, gok := in.GetGID()
	if uok || gok {
		u, g := -1, -1
		if uok {
			u = int(uid)
		}
		if gok {
			g = int(gid)
		}
		if err := syscall.Lchown(path, u, g); err != nil {
			return errno(err)
		}
	}
	mtime, mok := in.GetMTime()
	atime, aok := in.GetATime()
	if mok || aok {
		times := []unix.Timespec{{Nsec: unix.UTIME_OMIT}, {Nsec: unix.UTIME_OMIT}}
		if aok {
			times[0] = unix.NsecToTimespec(atime.UnixNano())
		}
		if mok {
			times[1] = unix.NsecToTimespec(mtime.UnixNano())
		}
		if err := unix.UtimesNanoAt(unix.AT_FDCWD, path, times, unix.AT_SYMLINK_NOFOLLOW); err != nil && !errors.Is(err, unix.ENOENT) {
			return errno(err)
		}
	}
	return n.Getattr(ctx, f, out)
}

// resize truncates or extends the file, by an open handle where there is one.
func (n *node) resize(f fs.FileHandle, size int64) syscall.Errno {
	var file *os.File
	if h, ok := f.(*handle); ok && h.writes {
		file = h.file
	} else {
		opened, err := os.OpenFile(n.disk.journal.path(n.name()), os.O_RDWR, 0)
		if err != nil {
			return errno(err)
		}
		defer opened.Close()
		file = opened
	}
	fi, err := file.Stat()
	if err != nil {
		return errno(err)
	}
	if e := n.disk.gate.write(size > fi.Size()); e != 0 {
		return e
	}
	return errno(n.disk.journal.truncate(file, size))
}

func (n *node) Create(ctx context.Context, name string, flags uint32, mode uint32, out *fuse.EntryOut) (*fs.Inode, fs.FileHandle, uint32, syscall.Errno) {
	if e := n.disk.gate.write(true); e != 0 {
		return nil, nil, 0, e
	}
	f, made, err := n.disk.journal.create(n.below(name), os.FileMode(mode&0o7777))
	if err != nil {
		return nil, nil, 0, errno(err)
	}
	if !made && flags&syscall.O_EXCL != 0 {
		f.Close()
		return nil, nil, 0, syscall.EEXIST
	}
	if !made && flags&syscall.O_TRUNC != 0 {
		if err := n.disk.journal.truncate(f, 0); err != nil {
			f.Close()
			return nil, nil, 0, errno(err)
		}
	}
	child, e := n.child(ctx, name, out)
	if e != 0 {
		f.Close()
		return nil, nil, 0, e
	}
	return child, n.disk.opened(child.StableAttr().Ino, f, true), fuse.FOPEN_KEEP_CACHE, 0
}

func (n *node) Open(_ context.Context, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	writes := flags&syscall.O_ACCMODE != syscall.O_RDONLY
	how := os.O_RDONLY
	if writes {
		how = os.O_RDWR // what is overwritten has to be read first
	}
	n.disk.journal.mu.RLock()
	f, err := os.OpenFile(n.disk.journal.path(n.name()), how, 0)
	n.disk.journal.mu.RUnlock()
	if err != nil {
		return nil, 0, errno(err)
	}
	if writes && flags&syscall.O_TRUNC != 0 {
		if err := n.disk.journal.truncate(f, 0); err != nil {
			f.Close()
			return nil, 0, errno(err)
		}
	}
	return n.disk.opened(n.StableAttr().Ino, f, writes), fuse.FOPEN_KEEP_CACHE, 0
}

func (n *node) Readdir(context.Context) (fs.DirStream, syscall.Errno) {
	return fs.NewLoopbackDirStream(n.disk.journal.path(n.name()))
}

// Fsync is that of a folder: files have handles.
func (n *node) Fsync(ctx context.Context, f fs.FileHandle, _ uint32) syscall.Errno {
	if e := n.disk.gate.sync(ctx.Done(), dying(ctx)); e != 0 {
		return e
	}
	if h, ok := f.(*handle); ok {
		return errno(n.disk.journal.sync(h.file))
	}
	return errno(n.disk.journal.sync(nil))
}

// add makes something of that name in the folder.
func (n *node) add(ctx context.Context, name string, out *fuse.EntryOut, how func(path string) error) (*fs.Inode, syscall.Errno) {
	if e := n.disk.gate.write(true); e != 0 {
		return nil, e
	}
	if err := n.disk.journal.add(n.below(name), how); err != nil {
		return nil, errno(err)
	}
	return n.child(ctx, name, out)
}

func (n *node) Mkdir(ctx context.Context, name string, mode uint32, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	return n.add(ctx, name, out, func(path string) error {
		if err := syscall.Mkdir(path, 0o700); err != nil {
			return err
		}
		return syscall.Chmod(path, mode&0o7777)
	})
}

func (n *node) Mknod(ctx context.Context, name string, mode, dev uint32, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	return n.add(ctx, name, out, func(path string) error { return syscall.Mknod(path, mode, int(dev)) })
}

func (n *node) Symlink(ctx context.Context, target, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	return n.add(ctx, name, out, func(path string) error { return os.Symlink(target, path) })
}

func (n *node) Readlink(context.Context) ([]byte, syscall.Errno) {
	to, err := os.Readlink(n.disk.journal.path(n.name()))
	return []byte(to), errno(err)
}

func (n *node) Link(ctx context.Context, target fs.InodeEmbedder, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	old := target.EmbeddedInode()
	return n.add(ctx, name, out, func(path string) error {
		return os.Link(n.disk.journal.path(old.Path(old.Root())), path)
	})
}

func (n *node) Unlink(_ context.Context, name string) syscall.Errno {
	if e := n.disk.gate.write(false); e != 0 {
		return e
	}
	return errno(n.disk.journal.remove(n.below(name), false))
}

func (n *node) Rmdir(_ context.Context, name string) syscall.Errno {
	if e := n.disk.gate.write(false); e != 0 {
		return e
	}
	return errno(n.disk.journal.remove(n.below(name), true))
}

func (n *node) Rename(_ context.Context, name string, parent fs.InodeEmbedder, to string, flags uint32) syscall.Errno {
	p, ok := parent.(*node)
	if !ok {
		return syscall.EXDEV
	}
	if flags&^unix.RENAME_NOREPLACE != 0 {
		return syscall.EINVAL // as file systems say that cannot exchange
	}
	if e := n.disk.gate.write(false); e != 0 {
		return e
	}
	return errno(n.disk.journal.rename(n.below(name), p.below(to), flags&unix.RENAME_NOREPLACE != 0))
}

func (n *node) Statfs(_ context.Context, out *fuse.StatfsOut) syscall.Errno {
	var st syscall.Statfs_t
	if err := syscall.Statfs(n.disk.journal.root, &st); err != nil {
		return errno(err)
	}
	out.FromStatfsT(&st)
	return 0
}
