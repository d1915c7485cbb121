package overlay

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"tidemark.dev/tidemark/host/internal/workspace/mounts"
)

// Untested is what mounts snapshots on macOS, which nobody has tried.
const Untested = "macFUSE"

// mountPrograms are what mounts FUSE, the newest first. Go-fuse starts the first that exists.
var mountPrograms = []string{
	"/Library/Filesystems/macfuse.fs/Contents/Resources/mount_macfuse",
	"/Library/Filesystems/osxfuse.fs/Contents/Resources/mount_osxfuse",
}

// ours reports whether Tidemark mounted something.
func ours(m mounts.Mount) bool { return m.Source == Source && strings.Contains(m.Type, "fuse") }

func mountKernel(string, string) error { return ErrKernel }

// SetRoot is [ErrKernel]: the root of what is mounted here is the snapshot's.
func SetRoot(string, uint16, int64, map[string][]byte) error { return ErrKernel }

// unmountAt unmounts a directory. With force, programs that use it get errors: macOS detaches nothing.
func unmountAt(dir string, force bool) error {
	flags := 0
	if force {
		flags = unix.MNT_FORCE
	}
	return unix.Unmount(dir, flags)
}

// syncAll writes what is on all filesystems to their disks.
func syncAll(string) error { return unix.Sync() }

// still, unused and swap are for a system on which the copy of a branch can take the place of what is mounted.
func still(string) error { return errors.ErrUnsupported }

func unused(string) error { return errors.ErrUnsupported }

func swap(string, string) error { return errors.ErrUnsupported }

func setTime(string, time.Time) error { return nil }

func writable(string) error { return nil }

// timesOf returns when a file was changed, and anything of it, in nanoseconds.
func timesOf(st *syscall.Stat_t) (mtime, ctime int64) {
	return st.Mtimespec.Nano(), st.Ctimespec.Nano()
}

// Best is [Alone].
func Best() Form { return Alone }

// Refused returns why nothing is mounted here, nil if it seems that it can be.
func Refused() error {
	for _, program := range mountPrograms {
		if _, err := os.Stat(program); err == nil {
			return nil
		}
	}
	return errors.New("macFUSE is not installed. Install it from macfuse.io or by `brew install --cask macfuse`, and allow its system extension in System Settings.")
}
