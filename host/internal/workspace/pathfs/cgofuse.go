//go:build (windows && !cgo) || cgofuse

package pathfs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/winfsp/cgofuse/fuse"

	"tidemark.dev/tidemark/host/internal/workspace/image"
	"tidemark.dev/tidemark/host/internal/workspace/objects"
	"tidemark.dev/tidemark/host/internal/workspace/tree"
	"tidemark.dev/tidemark/host/internal/workspace/union"
)

// windows is true where requests are those of WinFsp.
const windows = runtime.GOOS == "windows"

// Serve mounts an image and serves it until it is unmounted, or until the context ends: then it unmounts it.
func Serve(ctx context.Context, o Options) (err error) {
	m, err := image.Open(o.Image)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	u, err := union.Open(union.Options{Lower: m, Dir: o.Written, UID: uint32(max(os.Getuid(), 0)), GID: uint32(max(os.Getgid(), 0)), Clock: time.Now}) //nolint:gosec // they have 32 bits
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, u.Close()) }()
	f := newServed(u, m, o)
	if !windows {
		f.context = fuse.Getcontext
	}
	host := fuse.NewFileSystemHost(f)
	host.SetCapCaseInsensitive(o.Fold)
	host.SetCapReaddirPlus(windows)
	host.SetUseIno(true)
	end := make(chan struct{})
	defer close(end)
	go func() {
		for {
			select {
			case <-o.Asked:
				if f.used() {
					continue
				}
			case <-ctx.Done():
			case <-end:
				return
			}
			host.Unmount()
		}
	}()
	return mount(host, o)
}

// mount serves until it is unmounted. Cgofuse panics where WinFsp is missing.
func mount(host *fuse.FileSystemHost, o Options) (err error) {
	defer func() {
		if why := recover(); why != nil {
			err = fmt.Errorf("cannot mount a snapshot on %s: %v", o.Dir, why)
		}
	}()
	if !host.Mount(o.Dir, mountOptions(o)) {
		return fmt.Errorf("cannot mount a snapshot on %s", o.Dir)
	}
	return nil
}

// mountOptions are those of FUSE. On Windows, the user owns the files, and nobody else may read them.
func mountOptions(o Options) []string {
	list := []string{"uid=-1", "gid=-1", "umask=077", "FileSystemName=" + o.Name, "volname=" + o.Name} // WinFsp has no "ro"
	if !windows {
		list = []string{"fsname=" + o.Source, "subtype=" + o.Name, "default_permissions", "nosuid", "nodev", "attr_timeout=0", "entry_timeout=0", "negative_timeout=0"}
		if os.Geteuid() == 0 {
			list = append(list, "allow_other")
		}
		if o.Written == "" {
			list = append(list, "ro")
		}
	}
	return []string{"-o", strings.Join(list, ",")}
}

// served answers the requests of cgofuse. What it does not implement is not supported.
type served struct {
	fuse.FileSystemBase
	*files
	usage image.Usage
	dir   string
	ready func()
	// context is who makes a request.
	context func() (uid, gid uint32, pid int)
}

var (
	_ fuse.FileSystemInterface = (*served)(nil)
	_ fuse.FileSystemGetpath   = (*served)(nil)
	_ fuse.FileSystemChflags   = (*served)(nil)
	_ fuse.FileSystemChmod3    = (*served)(nil)
	_ fuse.FileSystemChown3    = (*served)(nil)
	_ fuse.FileSystemUtimens3  = (*served)(nil)
	_ fuse.FileSystemRename3   = (*served)(nil)
)

func newServed(u *union.Union, m *image.Image, o Options) *served {
	s := &served{files: newFiles(u, o), dir: o.Dir, ready: o.Ready}
	if m != nil {
		s.usage = m.Usage()
	}
	return s
}

// errnos are the numbers of errors as cgofuse has them: on Windows they are not the system's.
var errnos = []struct {
	from syscall.Errno
	to   int
}{
	{syscall.ENOENT, fuse.ENOENT},
	{syscall.EEXIST, fuse.EEXIST},
	{syscall.ENOTDIR, fuse.ENOTDIR},
	{syscall.EISDIR, fuse.EISDIR},
	{syscall.ENOTEMPTY, fuse.ENOTEMPTY},
	{syscall.EINVAL, fuse.EINVAL},
	{syscall.EROFS, fuse.EROFS},
	{syscall.EPERM, fuse.EPERM},
	{syscall.EACCES, fuse.EACCES},
	{syscall.EBUSY, fuse.EBUSY},
	{syscall.ENAMETOOLONG, fuse.ENAMETOOLONG},
	{syscall.ERANGE, fuse.ERANGE},
	{syscall.E2BIG, fuse.E2BIG},
	{syscall.ENOSPC, fuse.ENOSPC},
	{syscall.EFBIG, fuse.EFBIG},
	{syscall.ENOTSUP, fuse.ENOTSUP},
}

// status is the answer to a request that may have failed.
func status(err error) int {
	switch {
	case err == nil:
		return 0
	case objects.NoRoom(err):
		return -fuse.ENOSPC
	case union.NoXattr(err):
		return -fuse.ENOATTR
	}
	for _, e := range errnos {
		if errors.Is(err, e.from) {
			return -e.to
		}
	}
	return -fuse.EIO
}

func timespec(at int64) fuse.Timespec { return fuse.NewTimespec(time.Unix(0, at)) }

// fill describes a node.
func (s *served) fill(a union.Attr, out *fuse.Stat_t) {
	*out = fuse.Stat_t{
		Ino: a.Inode, Mode: s.mode(a.Mode), Nlink: a.Links, Uid: a.UID, Gid: a.GID, Rdev: uint64(a.Rdev), Size: a.Size, Blksize: image.BlockSize, Blocks: a.Blocks,
		Atim: timespec(a.Atime), Mtim: timespec(a.Mtime), Ctim: timespec(a.Ctime),
	}
	if !windows {
		return
	}
	out.Birthtim = out.Mtim // of when it was made only that is known
	const mayWrite = 0o200
	if a.Mode&union.TypeMask == union.File && out.Mode&mayWrite == 0 { // Windows has an attribute for it, which its owner can change
		out.Flags |= fuse.UF_READONLY
		out.Mode |= mayWrite
	}
}

// owner is who makes a file. On Windows, all of them belong to the user.
func (s *served) owner(m union.Made) union.Made {
	if s.context != nil {
		m.UID, m.GID, _ = s.context()
	}
	return m
}

// Init is called when requests can be answered. On Windows it is not mounted then.
func (s *served) Init() {
	if s.ready == nil {
		return
	}
	go func() {
		for at := s.dir; windows; time.Sleep(5 * time.Millisecond) {
			if _, err := os.Lstat(at); err == nil {
				break
			}
		}
		s.ready()
	}()
}

func (s *served) Statfs(_ string, out *fuse.Statfs_t) int {
	*out = fuse.Statfs_t{Bsize: image.BlockSize, Frsize: image.BlockSize, Blocks: s.usage.Blocks, Files: s.usage.Nodes, Namemax: 255}
	if s.readOnly {
		return 0
	}
	total, free, err := union.Room(s.Union)
	const block = image.BlockSize
	out.Blocks, out.Bfree, out.Bavail = total/block, free/block, free/block
	return status(err)
}

func (s *served) Mknod(path string, mode uint32, dev uint64) int {
	_, err := s.make(path, s.owner(union.Made{Mode: mode, Rdev: uint32(dev)}), false) //nolint:gosec // it has 32 bits
	return status(err)
}

func (s *served) Mkdir(path string, mode uint32) int {
	_, err := s.make(path, s.owner(union.Made{Mode: union.Dir | mode&^union.TypeMask}), false)
	return status(err)
}

func (s *served) Symlink(target, path string) int {
	_, err := s.make(path, s.owner(union.Made{Mode: union.Link | 0o777, Target: target}), false)
	return status(err)
}

func (s *served) Create(path string, _ int, mode uint32) (int, uint64) {
	handle, err := s.make(path, s.owner(union.Made{Mode: union.File | mode&^union.TypeMask}), true)
	return status(err), handle
}

func (s *served) Link(path, to string) int { return status(s.link(path, to)) }

func (s *served) Unlink(path string) int { return status(s.remove(path, false)) }

func (s *served) Rmdir(path string) int { return status(s.remove(path, true)) }

func (s *served) Rename(path, to string) int { return status(s.rename(path, to, union.Replace)) }

// Rename3 is Rename with the flags of renameat2(2).
func (s *served) Rename3(path, to string, flags uint32) int {
	switch flags {
	case 0:
		return s.Rename(path, to)
	case fuse.RENAME_NOREPLACE:
		return status(s.rename(path, to, union.Keep))
	case fuse.RENAME_EXCHANGE:
		return status(s.rename(path, to, union.Exchange))
	}
	return -fuse.EINVAL
}

func (s *served) Readlink(path string) (int, string) {
	a, _, err := s.find(path)
	if err != nil {
		return status(err), ""
	}
	target, err := s.Target(a.Number)
	if windows {
		return status(err), strings.ReplaceAll(string(target), `\`, "/")
	}
	return status(err), string(target)
}

// Getpath returns a path as the directories have it.
func (s *served) Getpath(path string, _ uint64) (int, string) {
	_, as, err := s.find(path)
	if as == "" {
		as = "/"
	}
	return status(err), as
}

func (s *served) Chmod(path string, mode uint32) int { return s.Chmod3(path, mode, noHandle) }

// Chmod3 is Chmod of what a handle has open.
func (s *served) Chmod3(path string, mode uint32, handle uint64) int {
	return status(s.set(path, handle, union.Set{Mode: &mode}))
}

func (s *served) Chown(path string, uid, gid uint32) int { return s.Chown3(path, uid, gid, noHandle) }

// Chown3 is Chown of what a handle has open.
func (s *served) Chown3(path string, uid, gid uint32, handle uint64) int {
	const keep = ^uint32(0)
	set := union.Set{Unprivileged: true}
	if uid != keep {
		set.UID = &uid
	}
	if gid != keep {
		set.GID = &gid
	}
	return status(s.set(path, handle, set))
}

func (s *served) Utimens(path string, times []fuse.Timespec) int {
	return s.Utimens3(path, times, noHandle)
}

// Utimens3 is Utimens of what a handle has open.
func (s *served) Utimens3(path string, times []fuse.Timespec, handle uint64) int {
	now := time.Now().UnixNano()
	set := union.Set{Atime: &now, Mtime: &now}
	for i, to := range []**int64{&set.Atime, &set.Mtime} {
		if i >= len(times) {
			break
		}
		switch times[i].Nsec {
		case fuse.UTIME_NOW:
		case fuse.UTIME_OMIT:
			*to = nil
		default:
			at := tree.Nanoseconds(times[i].Time().Unix(), int64(times[i].Time().Nanosecond()))
			*to = &at
		}
	}
	return status(s.set(path, handle, set))
}

// Chflags sets the attributes that Windows has, of which one is kept: whether a file can be written.
func (s *served) Chflags(path string, flags uint32) int {
	a, _, err := s.find(path)
	if err != nil {
		return status(err)
	}
	if a.Mode&union.TypeMask != union.File {
		return 0
	}
	mode := a.Mode | 0o200
	if flags&fuse.UF_READONLY != 0 {
		mode = a.Mode &^ 0o222
	}
	return s.Chmod(path, mode)
}

func (s *served) Open(path string, _ int) (int, uint64) {
	handle, err := s.openPath(path)
	return status(err), handle
}

func (s *served) Opendir(path string) (int, uint64) { return s.Open(path, 0) }

func (s *served) Release(_ string, handle uint64) int {
	s.release(handle)
	return 0
}

func (s *served) Releasedir(path string, handle uint64) int { return s.Release(path, handle) }

func (s *served) Getattr(path string, out *fuse.Stat_t, handle uint64) int {
	number, err := s.at(path, handle)
	if err != nil {
		return status(err)
	}
	a, err := s.Attr(number)
	s.fill(a, out)
	return status(err)
}

func (s *served) Truncate(path string, size int64, handle uint64) int {
	return status(s.set(path, handle, union.Set{Size: &size}))
}

func (s *served) Read(path string, buffer []byte, at int64, handle uint64) int {
	number, err := s.at(path, handle)
	if err != nil {
		return status(err)
	}
	n := 0
	for n < len(buffer) { // less than was asked for is the end of the file
		part, err := s.Part(number, buffer[n:], at+int64(n))
		if err != nil {
			return status(err)
		}
		if len(part) == 0 {
			break
		}
		n += copy(buffer[n:], part)
	}
	return n
}

func (s *served) Write(path string, data []byte, at int64, handle uint64) int {
	if s.readOnly {
		return -fuse.EROFS
	}
	number, err := s.at(path, handle)
	if err != nil {
		return status(err)
	}
	n, err := s.files.Write(number, data, at, false)
	if err != nil {
		return status(err)
	}
	return n
}

func (s *served) Flush(string, uint64) int { return 0 }

func (s *served) Fsync(path string, _ bool, handle uint64) int {
	if s.readOnly {
		return 0
	}
	number, err := s.at(path, handle)
	if err == nil {
		err = s.Sync(number)
	}
	return status(err)
}

func (s *served) Fsyncdir(path string, only bool, handle uint64) int {
	return s.Fsync(path, only, handle)
}

// dots are before the entries of each directory.
const dots = 2

func (s *served) Readdir(path string, fill func(name string, out *fuse.Stat_t, next int64) bool, from int64, handle uint64) int {
	dir, err := s.at(path, handle)
	if err != nil {
		return status(err)
	}
	add := func(name string, number uint64, next int64) (bool, error) {
		a, err := s.Attr(number)
		if err != nil {
			return fill(name, nil, next), nil // what is damaged has a name, and fails when it is looked at
		}
		var out fuse.Stat_t
		s.fill(a, &out)
		return fill(name, &out, next), err
	}
	for more := true; more && from < dots; from++ {
		name, of := ".", dir
		if from == 1 {
			name = ".."
			if of, err = s.Parent(dir); err != nil {
				return status(err)
			}
		}
		if more, err = add(name, of, from+1); err != nil || !more {
			return status(err)
		}
	}
	for {
		l, err := s.List(dir, uint64(from-dots)) //nolint:gosec // it is not negative
		if errors.Is(err, syscall.ENOENT) {
			return 0
		}
		if err != nil {
			return status(err)
		}
		from = int64(l.Next) + dots //nolint:gosec // it is small
		if more, err := add(l.Name, l.Number, from); err != nil || !more {
			return status(err)
		}
	}
}

// unsupported begins the names of attributes of which only the kernel knows the meaning.
const unsupported = "system."

func (s *served) Setxattr(path, name string, value []byte, flags int) int {
	if strings.HasPrefix(name, unsupported) {
		return -fuse.ENOTSUP
	}
	if s.readOnly {
		return -fuse.EROFS
	}
	a, _, err := s.find(path)
	if err == nil {
		err = s.SetXattr(a.Number, name, value, flags)
	}
	return status(err)
}

func (s *served) Getxattr(path, name string) (int, []byte) {
	if strings.HasPrefix(name, unsupported) {
		return -fuse.ENOTSUP, nil
	}
	a, _, err := s.find(path)
	if err != nil {
		return status(err), nil
	}
	list, err := s.Xattrs(a.Number)
	for _, x := range list {
		if x.Name == name {
			return 0, x.Value
		}
	}
	if err == nil {
		return -fuse.ENOATTR, nil
	}
	return status(err), nil
}

func (s *served) Removexattr(path, name string) int {
	if s.readOnly {
		return -fuse.EROFS
	}
	a, _, err := s.find(path)
	if err == nil {
		err = s.RemoveXattr(a.Number, name)
	}
	return status(err)
}

func (s *served) Listxattr(path string, fill func(name string) bool) int {
	a, _, err := s.find(path)
	if err != nil {
		return status(err)
	}
	list, err := s.Xattrs(a.Number)
	for _, x := range list {
		if !fill(x.Name) {
			return -fuse.ERANGE
		}
	}
	return status(err)
}
