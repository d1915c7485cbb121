//go:build linux || darwin

package imagefs

import (
	"errors"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"tidemark.dev/tidemark/host/internal/workspace/image"
	"tidemark.dev/tidemark/host/internal/workspace/tree"
	"tidemark.dev/tidemark/host/internal/workspace/union"
)

// written serves a union. As in [filesystem], what is not implemented is not supported. Locks are the
// kernel's own.
type written struct {
	unopened
	union *union.Union
	dir   string
}

func (f *written) String() string { return Name }

// status returns the number of an error, EIO for one that has none.
func status(err error) fuse.Status {
	var number syscall.Errno
	switch {
	case err == nil:
		return fuse.OK
	case errors.As(err, &number):
		return fuse.Status(number)
	}
	return fuse.EIO
}

func fill(a union.Attr, out *fuse.Attr) {
	*out = fuse.Attr{
		Ino: a.Inode, Size: uint64(a.Size), Blocks: uint64(a.Blocks), Mode: a.Mode, Nlink: a.Links, Rdev: a.Rdev, Blksize: image.BlockSize, //nolint:gosec // sizes
		Owner: fuse.Owner{Uid: a.UID, Gid: a.GID},
	}
	out.Atime, out.Atimensec = split(a.Atime)
	out.Mtime, out.Mtimensec = split(a.Mtime)
	out.Ctime, out.Ctimensec = split(a.Ctime)
	born(out)
}

// entry gives a node to the kernel, which forgets it later.
func (f *written) entry(a union.Attr, err error, out *fuse.EntryOut) fuse.Status {
	if err != nil {
		return status(err)
	}
	fill(a, &out.Attr)
	out.NodeId = a.Number
	out.SetEntryTimeout(forever)
	out.SetAttrTimeout(forever)
	f.union.Hold(a.Number)
	return fuse.OK
}

func (f *written) Lookup(_ <-chan struct{}, header *fuse.InHeader, name string, out *fuse.EntryOut) fuse.Status {
	a, err := f.union.Lookup(header.NodeId, name)
	if errors.Is(err, syscall.ENOENT) {
		return missing(out)
	}
	return f.entry(a, err, out)
}

func (f *written) Forget(number, times uint64) { f.union.Forget(number, times) }

func (f *written) GetAttr(_ <-chan struct{}, in *fuse.GetAttrIn, out *fuse.AttrOut) fuse.Status {
	a, err := f.union.Attr(in.NodeId)
	if err != nil {
		return status(err)
	}
	fill(a, &out.Attr)
	out.SetTimeout(forever)
	return fuse.OK
}

// killPrivileges is the bit of a request whose program may not keep set-user-ID, of those in [fuse.SetAttrIn].
const killPrivileges = fuse.FATTR_KILL_SUIDGID

func (f *written) SetAttr(cancel <-chan struct{}, in *fuse.SetAttrIn, out *fuse.AttrOut) fuse.Status {
	set := union.Set{Unprivileged: in.Valid&killPrivileges != 0 || in.Valid&(fuse.FATTR_UID|fuse.FATTR_GID) != 0 && in.Valid&fuse.FATTR_MODE == 0}
	if in.Valid&fuse.FATTR_MODE != 0 {
		set.Mode = &in.Mode
	}
	if in.Valid&fuse.FATTR_UID != 0 {
		set.UID = &in.Uid
	}
	if in.Valid&fuse.FATTR_GID != 0 {
		set.GID = &in.Gid
	}
	if in.Valid&fuse.FATTR_SIZE != 0 {
		size := int64(in.Size) //nolint:gosec // the kernel's
		set.Size = &size
	}
	now := time.Now().UnixNano()
	at := func(sec uint64, nsec uint32, set, isNow uint32) *int64 {
		t := tree.Nanoseconds(int64(sec), int64(nsec)) //nolint:gosec // a time before 1970 wraps around, as the kernel has it
		switch {
		case in.Valid&isNow != 0:
			return &now
		case in.Valid&set != 0:
			return &t
		}
		return nil
	}
	set.Atime = at(in.Atime, in.Atimensec, fuse.FATTR_ATIME, fuse.FATTR_ATIME_NOW)
	set.Mtime = at(in.Mtime, in.Mtimensec, fuse.FATTR_MTIME, fuse.FATTR_MTIME_NOW)
	if err := f.union.Set(in.NodeId, set); err != nil {
		return status(err)
	}
	return f.GetAttr(cancel, &fuse.GetAttrIn{InHeader: in.InHeader}, out)
}

func (f *written) make(header *fuse.InHeader, name string, m union.Made, out *fuse.EntryOut) fuse.Status {
	m.UID, m.GID = header.Uid, header.Gid
	a, err := f.union.Make(header.NodeId, name, m)
	return f.entry(a, err, out)
}

func (f *written) Mknod(_ <-chan struct{}, in *fuse.MknodIn, name string, out *fuse.EntryOut) fuse.Status {
	return f.make(&in.InHeader, name, union.Made{Mode: in.Mode, Rdev: in.Rdev}, out)
}

func (f *written) Tmpfile(_ <-chan struct{}, in *fuse.CreateIn, out *fuse.CreateOut) fuse.Status {
	a, err := f.union.MakeUnnamed(union.Made{Mode: union.File | in.Mode&^union.TypeMask, UID: in.Uid, GID: in.Gid})
	if err != nil {
		return status(err)
	}
	fill(a, &out.Attr)
	out.NodeId = a.Number
	out.SetAttrTimeout(forever)
	out.OpenFlags = fuse.FOPEN_KEEP_CACHE
	return fuse.OK
}

func (f *written) Mkdir(_ <-chan struct{}, in *fuse.MkdirIn, name string, out *fuse.EntryOut) fuse.Status {
	return f.make(&in.InHeader, name, union.Made{Mode: union.Dir | in.Mode&^union.TypeMask}, out)
}

func (f *written) Symlink(_ <-chan struct{}, header *fuse.InHeader, target, name string, out *fuse.EntryOut) fuse.Status {
	return f.make(header, name, union.Made{Mode: union.Link | 0o777, Target: target}, out)
}

func (f *written) Link(_ <-chan struct{}, in *fuse.LinkIn, name string, out *fuse.EntryOut) fuse.Status {
	a, err := f.union.Link(in.Oldnodeid, in.NodeId, name)
	return f.entry(a, err, out)
}

func (f *written) Unlink(_ <-chan struct{}, header *fuse.InHeader, name string) fuse.Status {
	return status(f.union.Remove(header.NodeId, name, false))
}

func (f *written) Rmdir(_ <-chan struct{}, header *fuse.InHeader, name string) fuse.Status {
	return status(f.union.Remove(header.NodeId, name, true))
}

func (f *written) Rename(_ <-chan struct{}, in *fuse.RenameIn, name, toName string) fuse.Status {
	how, ok := renames[in.Flags]
	if !ok {
		return fuse.EINVAL
	}
	return status(f.union.Rename(in.NodeId, name, in.Newdir, toName, how))
}

func (f *written) Readlink(_ <-chan struct{}, header *fuse.InHeader) ([]byte, fuse.Status) {
	target, err := f.union.Target(header.NodeId)
	return target, status(err)
}

func (f *written) GetXAttr(_ <-chan struct{}, header *fuse.InHeader, name string, to []byte) (uint32, fuse.Status) {
	if !supported(name) {
		return 0, fuse.Status(unix.ENOTSUP)
	}
	list, err := f.union.Xattrs(header.NodeId)
	if err != nil {
		return 0, status(err)
	}
	return xattr(list, name, to)
}

func (f *written) ListXAttr(_ <-chan struct{}, header *fuse.InHeader, to []byte) (uint32, fuse.Status) {
	list, err := f.union.Xattrs(header.NodeId)
	if err != nil {
		return 0, status(err)
	}
	return xattrNames(list, to)
}

func (f *written) SetXAttr(_ <-chan struct{}, in *fuse.SetXAttrIn, name string, value []byte) fuse.Status {
	switch {
	case !supported(name):
		return fuse.Status(unix.ENOTSUP)
	case !whole(in):
		return fuse.EINVAL
	}
	return status(f.union.SetXattr(in.NodeId, name, value, int(in.Flags)))
}

func (f *written) RemoveXAttr(_ <-chan struct{}, header *fuse.InHeader, name string) fuse.Status {
	return status(f.union.RemoveXattr(header.NodeId, name))
}

func (f *written) Read(_ <-chan struct{}, in *fuse.ReadIn, buffer []byte) (fuse.ReadResult, fuse.Status) {
	buffer = buffer[:min(len(buffer), int(in.Size))]
	part, err := f.union.Part(in.NodeId, buffer, int64(in.Offset)) //nolint:gosec // the kernel's
	if err != nil {
		return nil, status(err)
	}
	return fuse.ReadResultData(part), fuse.OK
}

func (f *written) Write(_ <-chan struct{}, in *fuse.WriteIn, data []byte) (uint32, fuse.Status) {
	n, err := f.union.Write(in.NodeId, data, int64(in.Offset), in.WriteFlags&fuse.WRITE_KILL_SUIDGID != 0) //nolint:gosec // the kernel's
	return uint32(n), status(err)                                                                          //nolint:gosec // at most 1 MiB
}

func (f *written) Fsync(_ <-chan struct{}, in *fuse.FsyncIn) fuse.Status {
	return status(f.union.Sync(in.NodeId))
}

func (f *written) FsyncDir(_ <-chan struct{}, in *fuse.FsyncIn) fuse.Status {
	return status(f.union.Sync(in.NodeId))
}

// listed returns an entry of a directory at or after a place, with "." and "..".
func (f *written) listed(dir, place uint64) (e fuse.DirEntry, a union.Attr, err error) {
	if place < dots {
		name, of := ".", dir
		if place == 1 {
			name = ".."
			if of, err = f.union.Parent(dir); err != nil {
				return e, a, err
			}
		}
		a, err = f.union.Attr(of)
		return fuse.DirEntry{Name: name, Ino: a.Inode, Mode: unix.S_IFDIR, Off: place + 1}, a, err
	}
	l, err := f.union.List(dir, place-dots)
	if err != nil {
		return e, a, err
	}
	a, err = f.union.Attr(l.Number)
	if err != nil { // what is damaged has a name, and fails when it is looked up
		a = union.Attr{Inode: l.Number}
	}
	return fuse.DirEntry{Name: l.Name, Ino: a.Inode, Mode: a.Mode & union.TypeMask, Off: l.Next + dots}, a, nil
}

func (f *written) ReadDir(_ <-chan struct{}, in *fuse.ReadIn, out *fuse.DirEntryList) fuse.Status {
	for place := in.Offset; ; {
		e, _, err := f.listed(in.NodeId, place)
		if err != nil {
			return ended(status(err), place, in.Offset)
		}
		if !out.AddDirEntry(e) {
			return fuse.OK
		}
		place = e.Off
	}
}

func (f *written) ReadDirPlus(_ <-chan struct{}, in *fuse.ReadIn, out *fuse.DirEntryList) fuse.Status {
	for place := in.Offset; ; {
		e, a, err := f.listed(in.NodeId, place)
		if err != nil {
			return ended(status(err), place, in.Offset)
		}
		o := out.AddDirLookupEntry(e)
		if o == nil {
			return fuse.OK
		}
		if place >= dots && a.Number != 0 { // the kernel looks up neither "." nor ".."
			f.entry(a, nil, o)
		}
		place = e.Off
	}
}

func (f *written) StatFs(_ <-chan struct{}, _ *fuse.InHeader, out *fuse.StatfsOut) fuse.Status {
	var st syscall.Statfs_t
	if err := syscall.Statfs(f.dir, &st); err != nil {
		return status(err)
	}
	out.FromStatfsT(&st)
	out.NameLen = 255
	return fuse.OK
}
