package attrs

import (
	"os"
	"path/filepath"

	"golang.org/x/sys/windows"

	"tidemark.dev/tidemark/host/internal/workspace/tree"
	"tidemark.dev/tidemark/host/internal/workspace/winfile"
)

// SetXattrs does nothing: they are not recorded here.
func SetXattrs(*os.File, []tree.Xattr) error { return nil }

// in calls with the open directory of a name.
func in(r *os.Root, name string, do func(dir windows.Handle, name string) error) error {
	d, err := r.Open(filepath.Dir(name))
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }()
	return do(windows.Handle(d.Fd()), filepath.Base(name))
}

// LinkTime sets the time of a link itself.
func LinkTime(r *os.Root, name string, mtime int64) error {
	return in(r, name, func(dir windows.Handle, name string) error { return winfile.SetTime(dir, name, mtime) })
}

// MakeLink creates a symbolic link or a junction.
func MakeLink(r *os.Root, name, target string) error {
	if !winfile.IsJunction(target) {
		return r.Symlink(target, name)
	}
	return in(r, name, func(dir windows.Handle, name string) error { return winfile.MakeJunction(dir, name, target) })
}
