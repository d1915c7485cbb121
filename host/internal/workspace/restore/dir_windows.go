package restore

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/windows"

	"tidemark.dev/tidemark/host/internal/workspace/tree"
	"tidemark.dev/tidemark/host/internal/workspace/winfile"
)

var (
	errNotDir           = winfile.ErrNotDir
	errOtherMount error = windows.ERROR_NOT_SAME_DEVICE
	errNoSyncAll        = errors.New("the system cannot sync a whole filesystem")
)

// dir is an open directory. Names are resolved in it, whatever becomes of its path. No link is followed.
type dir struct{ h windows.Handle }

// openDir opens a directory by its path.
func openDir(path string) (*dir, error) {
	h, err := winfile.OpenDir(path)
	if err != nil {
		return nil, err
	}
	return &dir{h}, nil
}

func (d *dir) close() { _ = windows.CloseHandle(d.h) }

// sub opens a directory below. A part of the path that is a link is an error.
func (d *dir) sub(path string) (*dir, error) {
	h, err := winfile.Sub(d.h, path)
	if err != nil {
		return nil, err
	}
	return &dir{h}, nil
}

// self returns the name by which package winfile knows the directory itself.
func self(name string) string {
	if name == "." {
		return ""
	}
	return name
}

// stat returns the stamp of a name, or of the directory itself for ".".
func (d *dir) stat(name string) (stamp, error) {
	i, err := winfile.StatIn(d.h, self(name))
	if err != nil {
		return stamp{}, err
	}
	s := stamp{Mode: uint16(i.Mode.Perm()), Size: i.Size, Mtime: i.Mtime, Ctime: i.Ctime, Inode: i.Inode, device: uint64(i.Volume), links: int(i.Links)}
	switch i.Mode & fs.ModeType {
	case 0:
		s.Kind = tree.File
	case fs.ModeDir:
		s.Kind = tree.Dir
	case fs.ModeSymlink:
		s.Kind = tree.Link
	}
	return s, nil
}

// mount returns what two directories have in common between which files can be renamed: the volume.
func (d *dir) mount() (m [2]uint64, err error) {
	s, err := d.stat(".")
	return [2]uint64{s.device}, err
}

// open opens a regular file for reading.
func (d *dir) open(name string) (*os.File, error) {
	h, err := winfile.Open(d.h, name, winfile.Read)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	i, err := winfile.Stat(h)
	if err == nil && !i.Mode.IsRegular() {
		err = fs.ErrInvalid
	}
	if err != nil {
		_ = windows.CloseHandle(h)
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return winfile.File(h, name), nil
}

func (d *dir) names() ([]string, error)             { return winfile.Names(d.h) }
func (d *dir) readlink(name string) (string, error) { return winfile.Readlink(d.h, name) }
func (d *dir) mkdir(name string) error              { return winfile.Mkdir(d.h, name) }

// unlink removes a name; rmdir removes an empty directory.
func (d *dir) unlink(name string) error { return winfile.Remove(d.h, name) }
func (d *dir) rmdir(name string) error  { return winfile.Remove(d.h, name) }

// move renames a name into another directory, in which the new name must not exist.
func move(from *dir, name string, to *dir, as string) error {
	return winfile.Rename(from.h, name, to.h, as)
}

// busy reports whether an error means that another program keeps a file where it is.
func busy(err error) bool {
	return errors.Is(err, windows.ERROR_SHARING_VIOLATION) || errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_USER_MAPPED_FILE)
}

func exchange(*dir, string, *dir, string) error { return errNoExchange }

// link makes a hard link.
func link(from *dir, name string, to *dir, as string) error {
	return winfile.Link(from.h, name, to.h, as)
}

// chmod sets what a mode has here: whether a file may only be read.
func (d *dir) chmod(name string, mode uint16) error {
	return winfile.SetReadOnly(d.h, self(name), mode&0o200 == 0)
}

// setTime sets the time of the last change of the content, in nanoseconds since 1970.
func (d *dir) setTime(name string, mtime int64) error { return winfile.SetTime(d.h, self(name), mtime) }

// setXattrs does nothing: snapshots of Windows have no extended attributes.
func (d *dir) setXattrs(string, []tree.Xattr, []tree.Xattr) error { return nil }

// access and owns report that everything is allowed: nobody knows it before it is tried.
func (d *dir) access(string, uint32) error { return nil }
func (d *dir) owns(string, stamp) bool     { return true }

func (d *dir) chown(string, stamp) error { return nil }

// sync does nothing: NTFS keeps names in its own log.
func (d *dir) sync() error { return nil }

func (d *dir) syncAll() error { return errNoSyncAll }

// syncFile makes the content of a file survive a loss of power.
func (d *dir) syncFile(name string) error { return winfile.Flush(d.h, name) }
