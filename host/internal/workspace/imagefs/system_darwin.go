package imagefs

import (
	"path/filepath"
	"strings"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"tidemark.dev/tidemark/host/internal/workspace/union"
)

// detach unmounts at once. Programs that use the mount get errors from then on: macOS detaches no mount.
const detach = unix.MNT_FORCE

// system sets what only macFUSE has. There is no option against AppleDouble files (`._name`): macOS makes none where attributes can be
// set, and a snapshot may have some.
func system(options *fuse.MountOptions, o Options) {
	name := strings.ReplaceAll(filepath.Base(o.Dir), ",", " ")
	options.Options = append(options.Options, "nobrowse", "volname="+name) // Finder does not list it, Spotlight does not read it
	options.ExtraCapabilities = fuse.CAP_RENAME_SWAP | fuse.CAP_RENAME_EXCL
}

// readAhead does nothing: macFUSE reads ahead by itself.
func readAhead(string) {}

// missing is the answer for a name that does not exist.
func missing(*fuse.EntryOut) fuse.Status { return fuse.ENOENT }

// born sets when a file was made, of which only its last change is known.
func born(out *fuse.Attr) { out.Crtime_, out.Crtimensec_ = out.Mtime, out.Mtimensec }

// renames are how a name is moved, by the flags of renamex_np(2).
var renames = map[uint32]int{0: union.Replace, unix.RENAME_EXCL: union.Keep, unix.RENAME_SWAP: union.Exchange}

// supported reports whether an attribute can be set and read.
func supported(string) bool { return true }

// whole reports whether a value is set as a whole. A resource fork may be written in parts.
func whole(in *fuse.SetXAttrIn) bool { return in.Position == 0 }

// unopened is for filesystems that open no files. macFUSE asks for each opening. It keeps what it has read of a file.
type unopened struct{ fuse.RawFileSystem }

func (unopened) Open(_ <-chan struct{}, _ *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	out.OpenFlags = fuse.FOPEN_KEEP_CACHE
	return fuse.OK
}

func (unopened) OpenDir(<-chan struct{}, *fuse.OpenIn, *fuse.OpenOut) fuse.Status { return fuse.OK }

func (unopened) Flush(<-chan struct{}, *fuse.FlushIn) fuse.Status { return fuse.OK }
