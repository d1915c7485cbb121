package imagefs

import (
	"fmt"
	"os"
	"strings"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"tidemark.dev/tidemark/host/internal/workspace/union"
)

// detach unmounts at once. Programs that use the mount keep it until they end.
const detach = unix.MNT_DETACH

// readAheadKiB is how much of a file that is read in order the kernel reads ahead, where it may be told.
const readAheadKiB = 4 << 10

// system sets what only Linux's FUSE has.
func system(options *fuse.MountOptions, o Options) {
	options.DirectMount, options.DirectMountFlags = os.Geteuid() == 0, unix.MS_NOSUID|unix.MS_NODEV
	options.ExtraCapabilities = fuse.CAP_NO_OPENDIR_SUPPORT
	if o.Written == "" {
		options.DirectMountFlags |= unix.MS_RDONLY
	} else {
		options.ExtraCapabilities |= fuse.CAP_HANDLE_KILLPRIV_V2
	}
}

// readAhead lets the kernel read more of a file ahead than the 128 KiB that it begins with, so that several requests are under way.
// Only root may; without it the mount is slower, and not otherwise.
func readAhead(dir string) {
	var st unix.Stat_t
	if unix.Stat(dir, &st) != nil {
		return
	}
	path := fmt.Sprintf("/sys/class/bdi/%d:%d/read_ahead_kb", unix.Major(st.Dev), unix.Minor(st.Dev))
	_ = os.WriteFile(path, fmt.Append(nil, readAheadKiB), 0)
}

// missing is the answer for a name that does not exist. The kernel may keep that.
func missing(out *fuse.EntryOut) fuse.Status {
	out.SetEntryTimeout(forever)
	return fuse.OK
}

// born does nothing: FUSE has no time of birth.
func born(*fuse.Attr) {}

// renames are how a name is moved, by the flags of renameat2(2).
var renames = map[uint32]int{0: union.Replace, unix.RENAME_NOREPLACE: union.Keep, unix.RENAME_EXCHANGE: union.Exchange}

// supported reports whether an attribute can be set and read. Those of which only the kernel knows the meaning, as of access control
// lists, cannot.
func supported(attr string) bool { return !strings.HasPrefix(attr, "system.") }

// whole reports whether a value is set as a whole.
func whole(*fuse.SetXAttrIn) bool { return true }

// unopened is for filesystems that open no files. The kernel then keeps what it has read of a file when it is opened again, and
// asks neither for the opening nor for the closing of one.
type unopened struct{ fuse.RawFileSystem }

func (unopened) Open(<-chan struct{}, *fuse.OpenIn, *fuse.OpenOut) fuse.Status { return fuse.ENOSYS }

func (unopened) Flush(<-chan struct{}, *fuse.FlushIn) fuse.Status { return fuse.ENOSYS }

func (f *filesystem) Lseek(_ <-chan struct{}, in *fuse.LseekIn, out *fuse.LseekOut) fuse.Status {
	if in.Whence != unix.SEEK_DATA && in.Whence != unix.SEEK_HOLE {
		return fuse.EINVAL
	}
	to, ok, err := f.image.Seek(in.NodeId, int64(in.Offset), in.Whence == unix.SEEK_HOLE) //nolint:gosec // the kernel's
	switch {
	case err != nil:
		return failed(err)
	case !ok:
		return fuse.Status(unix.ENXIO)
	}
	out.Offset = uint64(to) //nolint:gosec // a size
	return fuse.OK
}

func (f *written) Lseek(_ <-chan struct{}, in *fuse.LseekIn, out *fuse.LseekOut) fuse.Status {
	if in.Whence != unix.SEEK_DATA && in.Whence != unix.SEEK_HOLE {
		return fuse.EINVAL
	}
	to, err := f.union.Seek(in.NodeId, int64(in.Offset), in.Whence == unix.SEEK_HOLE) //nolint:gosec // the kernel's
	out.Offset = uint64(to)                                                           //nolint:gosec // a size
	return status(err)
}

func (f *written) Fallocate(_ <-chan struct{}, in *fuse.FallocateIn) fuse.Status {
	return status(f.union.Allocate(in.NodeId, in.Mode, int64(in.Offset), int64(in.Length), false)) //nolint:gosec // the kernel's
}
