//go:build linux || darwin

package imagefs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"tidemark.dev/tidemark/host/internal/workspace/image"
	"tidemark.dev/tidemark/host/internal/workspace/tree"
	"tidemark.dev/tidemark/host/internal/workspace/union"
)

// forever is how long the kernel may keep what it was told.
const forever = 10 * 365 * 24 * time.Hour

// maxRead is how much the kernel reads at once, in bytes.
const maxRead = 1 << 20

// Serve mounts an image and serves it until it is unmounted, or until the context ends: then it unmounts it, at once or when no
// program uses it any more.
func Serve(ctx context.Context, o Options) error {
	m, err := image.Open(o.Image)
	if err != nil {
		return err
	}
	uid, gid := uint32(os.Getuid()), uint32(os.Getgid()) //nolint:gosec // they have 32 bits
	options := &fuse.MountOptions{
		Name: Name, FsName: o.Source, Options: []string{"nosuid", "nodev", "default_permissions"},
		MaxWrite: maxRead, MaxBackground: 64, EnableSymlinkCaching: true, ExplicitDataCacheControl: true,
		Logger: log.New(io.Discard, "", 0),
	}
	system(options, o)
	if o.Written == "" {
		f := &filesystem{unopened: unopened{fuse.NewDefaultRawFileSystem()}, image: m, sealed: o.Sealed, uid: uid, gid: gid}
		options.Options = append(options.Options, "ro")
		return errors.Join(serve(ctx, o, f, options), m.Close())
	}
	u, err := union.Open(union.Options{Lower: m, Dir: o.Written, UID: uid, GID: gid, Clock: time.Now})
	if err != nil {
		return errors.Join(err, m.Close())
	}
	options.AllowOther = os.Geteuid() == 0 // as files that are copied
	f := &written{unopened: unopened{fuse.NewDefaultRawFileSystem()}, union: u, dir: o.Written}
	return errors.Join(serve(ctx, o, f, options), u.Close(), m.Close())
}

func serve(ctx context.Context, o Options, f fuse.RawFileSystem, options *fuse.MountOptions) error {
	server, err := fuse.NewServer(f, o.Dir, options)
	if err != nil {
		return fmt.Errorf("cannot mount a snapshot on %s: %w", o.Dir, err)
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		server.Serve()
	}()
	if err := server.WaitMount(); err != nil {
		return errors.Join(err, server.Unmount())
	}
	readAhead(o.Dir)
	if o.Ready != nil {
		o.Ready()
	}
	select {
	case <-served:
	case <-ctx.Done():
		if err := unix.Unmount(o.Dir, detach); err != nil {
			if err := server.Unmount(); err != nil {
				return err
			}
		}
		<-served
	}
	return nil
}

// filesystem serves the requests of the kernel. What it does not implement is not supported: the kernel then does without.
type filesystem struct {
	unopened
	image    *image.Image
	sealed   bool
	uid, gid uint32
}

func (f *filesystem) String() string { return Name }

// modes are the types of files.
var modes = map[tree.Kind]uint32{tree.File: unix.S_IFREG, tree.Dir: unix.S_IFDIR, tree.Link: unix.S_IFLNK}

// fill describes a node.
func (f *filesystem) fill(number uint64, out *fuse.Attr) fuse.Status {
	a, ok, err := f.image.Attr(number)
	if err != nil {
		return failed(err)
	}
	if !ok {
		return fuse.ENOENT
	}
	mode := uint32(a.Mode)
	switch {
	case a.Kind == tree.Link:
		mode = 0o777
	case !f.sealed:
	case a.Kind == tree.Dir:
		mode = mode&^0o222 | 0o500 // it can be listed, whatever the directory allowed
	case a.Unread:
		mode &^= 0o666 // the kernel refuses to open it, but for root, which then cannot read it
	default:
		mode &^= 0o222
	}
	size := a.Size
	if a.Kind == tree.Dir {
		size = image.BlockSize
	}
	const unit = 512
	blocks := (f.image.Allocated(number) + unit - 1) / unit
	ctime := a.Ctime
	if a.Inode == 0 {
		ctime = a.Mtime
	}
	*out = fuse.Attr{
		Ino: inode(number, a), Size: uint64(size), Blocks: uint64(blocks), Mode: modes[a.Kind] | mode, Nlink: a.Links, Blksize: image.BlockSize, //nolint:gosec // sizes
		Owner: fuse.Owner{Uid: f.uid, Gid: f.gid},
	}
	out.Mtime, out.Mtimensec = split(a.Mtime)
	out.Atime, out.Atimensec = out.Mtime, out.Mtimensec
	out.Ctime, out.Ctimensec = split(ctime)
	born(out)
	return fuse.OK
}

// ownInodes begins the inodes of nodes of which the store knows none: those of the original are smaller.
const ownInodes = 1 << 62

// split returns the seconds and nanoseconds of a time. One before 1970 wraps around, as the kernel has it.
func split(at int64) (sec uint64, nsec uint32) {
	t := time.Unix(0, at)
	return uint64(t.Unix()), uint32(t.Nanosecond()) //nolint:gosec // see above
}

// inode returns the inode that a node has for programs.
func inode(number uint64, a image.Attr) uint64 {
	if a.Inode != 0 {
		return a.Inode
	}
	return ownInodes | number
}

func (f *filesystem) entry(number uint64, out *fuse.EntryOut) fuse.Status {
	status := f.fill(number, &out.Attr)
	if status == fuse.OK {
		out.NodeId = number
		out.SetEntryTimeout(forever)
		out.SetAttrTimeout(forever)
	}
	return status
}

// failed is the status of an error of the image. Errors of a damaged store may have a number too, such as that of a missing file.
func failed(err error) fuse.Status {
	if err == error(syscall.EACCES) { //nolint:errorlint // see above
		return fuse.EACCES
	}
	return fuse.EIO
}

// sound returns a status, or that of an error: what was found in a damaged index may be wrong.
func sound(err error, found fuse.Status) fuse.Status {
	if err != nil {
		return failed(err)
	}
	return found
}

func (f *filesystem) Lookup(_ <-chan struct{}, header *fuse.InHeader, name string, out *fuse.EntryOut) fuse.Status {
	number, ok, err := f.image.Lookup(header.NodeId, name)
	if err != nil {
		return failed(err)
	}
	if !ok {
		return missing(out)
	}
	return f.entry(number, out)
}

func (f *filesystem) Forget(uint64, uint64) {}

func (f *filesystem) GetAttr(_ <-chan struct{}, in *fuse.GetAttrIn, out *fuse.AttrOut) fuse.Status {
	status := f.fill(in.NodeId, &out.Attr)
	if status == fuse.OK {
		out.SetTimeout(forever)
	}
	return status
}

func (f *filesystem) Readlink(_ <-chan struct{}, header *fuse.InHeader) ([]byte, fuse.Status) {
	target, err := f.image.Target(header.NodeId)
	return target, sound(err, fuse.OK)
}

func (f *filesystem) GetXAttr(_ <-chan struct{}, header *fuse.InHeader, attr string, to []byte) (uint32, fuse.Status) {
	list, err := f.image.Xattrs(header.NodeId)
	if err != nil {
		return 0, failed(err)
	}
	return xattr(list, attr, to)
}

// xattr gives the value of an extended attribute.
func xattr(list []tree.Xattr, name string, to []byte) (uint32, fuse.Status) {
	for _, x := range list {
		if x.Name == name {
			return give(to, x.Value)
		}
	}
	return 0, fuse.ENOATTR
}

func (f *filesystem) ListXAttr(_ <-chan struct{}, header *fuse.InHeader, to []byte) (uint32, fuse.Status) {
	list, err := f.image.Xattrs(header.NodeId)
	if err != nil {
		return 0, failed(err)
	}
	return xattrNames(list, to)
}

func xattrNames(list []tree.Xattr, to []byte) (uint32, fuse.Status) {
	var names []byte
	for _, x := range list {
		names = append(append(names, x.Name...), 0)
	}
	return give(to, names)
}

// give copies a value if there is room, and returns its size.
func give(to, value []byte) (uint32, fuse.Status) {
	size := uint32(len(value)) //nolint:gosec // at most 64 KiB
	if len(to) < len(value) {
		return size, fuse.ERANGE
	}
	copy(to, value)
	return size, fuse.OK
}

func (f *filesystem) Read(_ <-chan struct{}, in *fuse.ReadIn, buffer []byte) (fuse.ReadResult, fuse.Status) {
	buffer = buffer[:min(len(buffer), int(in.Size))]
	part, err := f.image.Part(in.NodeId, buffer, int64(in.Offset)) //nolint:gosec // the kernel's
	if err != nil {
		return nil, failed(err)
	}
	return fuse.ReadResultData(part), fuse.OK
}

// dots are before the entries of each directory.
const dots = 2

// listed returns an entry of a directory by its place, with "." and "..", and its node. The status is ENOENT behind the last one.
func (f *filesystem) listed(dir, place uint64) (e fuse.DirEntry, node uint64, status fuse.Status) {
	if place < dots {
		a, _, err := f.image.Attr(dir)
		name, of := ".", dir
		if place == 1 && err == nil {
			name, of = "..", a.Parent
			a, _, err = f.image.Attr(of)
		}
		return fuse.DirEntry{Name: name, Ino: inode(of, a), Mode: unix.S_IFDIR, Off: place + 1}, 0, sound(err, fuse.OK)
	}
	name, number, ok, err := f.image.Entry(dir, int(place-dots)) //nolint:gosec // the kernel's
	if err != nil || !ok {
		return e, 0, sound(err, fuse.ENOENT)
	}
	a, _, _ := f.image.Attr(number) // what is damaged has a name, and fails when it is looked up
	return fuse.DirEntry{Name: name, Ino: inode(number, a), Mode: modes[a.Kind], Off: place + 1}, number, fuse.OK
}

func (f *filesystem) ReadDir(_ <-chan struct{}, in *fuse.ReadIn, out *fuse.DirEntryList) fuse.Status {
	for place := in.Offset; ; place++ {
		e, _, status := f.listed(in.NodeId, place)
		if status != fuse.OK {
			return ended(status, place, in.Offset)
		}
		if !out.AddDirEntry(e) {
			return fuse.OK
		}
	}
}

// ended is the status of a list that ended at a place. A damage is an error where nothing precedes it: the next list begins there.
func ended(status fuse.Status, place, begin uint64) fuse.Status {
	if status == fuse.ENOENT || place > begin {
		return fuse.OK
	}
	return status
}

func (f *filesystem) ReadDirPlus(_ <-chan struct{}, in *fuse.ReadIn, out *fuse.DirEntryList) fuse.Status {
	for place := in.Offset; ; place++ {
		e, number, status := f.listed(in.NodeId, place)
		if status != fuse.OK {
			return ended(status, place, in.Offset)
		}
		o := out.AddDirLookupEntry(e)
		if o == nil {
			return fuse.OK
		}
		if place >= dots { // the kernel looks up neither "." nor ".."
			f.entry(number, o)
		}
	}
}

func (f *filesystem) StatFs(_ <-chan struct{}, _ *fuse.InHeader, out *fuse.StatfsOut) fuse.Status {
	u := f.image.Usage()
	*out = fuse.StatfsOut{Blocks: u.Blocks, Bsize: image.BlockSize, Frsize: image.BlockSize, NameLen: 255, Files: u.Nodes}
	return fuse.OK
}
