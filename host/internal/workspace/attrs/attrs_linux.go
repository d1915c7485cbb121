// Package attrs sets what [os.Root] does not set of a file: extended attributes, and times and targets of links.
package attrs

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"tidemark.dev/tidemark/host/internal/workspace/tree"
)

// SetXattrs sets extended attributes. A filesystem that has none is no error.
func SetXattrs(f *os.File, attrs []tree.Xattr) error {
	for _, a := range attrs {
		if err := unix.Fsetxattr(int(f.Fd()), a.Name, a.Value, 0); err != nil && !errors.Is(err, unix.ENOTSUP) {
			return &os.PathError{Op: "setxattr " + a.Name, Path: f.Name(), Err: err}
		}
	}
	return nil
}

// LinkTime sets the time of a symbolic link itself.
func LinkTime(r *os.Root, name string, mtime int64) error {
	d, err := r.Open(filepath.Dir(name))
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }()
	times := []unix.Timespec{{Nsec: unix.UTIME_OMIT}, unix.NsecToTimespec(mtime)}
	return unix.UtimesNanoAt(int(d.Fd()), filepath.Base(name), times, unix.AT_SYMLINK_NOFOLLOW)
}

// MakeLink makes a symbolic link.
func MakeLink(r *os.Root, name, target string) error { return r.Symlink(target, name) }
