//go:build !linux && !windows

package restore

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tidemark.dev/tidemark/host/internal/workspace/tree"
)

var errNoSyncAll = errors.New("the system cannot sync a whole filesystem")

// dir is an open directory. [os.Root] resolves names in it and keeps them inside. It would follow links that stay inside,
// so that every directory on the way is compared with what its name is.
type dir struct {
	in *os.Root
	at string
}

// openDir opens a directory by its path. One that is a link, or has become one, is an error.
func openDir(path string) (*dir, error) {
	in, err := tree.OpenDir(path)
	if err != nil {
		return nil, err
	}
	return &dir{in, path}, nil
}

func (d *dir) close() { _ = d.in.Close() }

// sub opens a directory below. A part of the path that is a symbolic link is an error.
func (d *dir) sub(path string) (*dir, error) {
	in, err := d.in.OpenRoot(".")
	if err != nil || path == "" {
		return &dir{in, d.at}, err
	}
	for name := range strings.SplitSeq(path, "/") {
		next, err := step(in, name)
		_ = in.Close()
		if err != nil {
			return nil, err
		}
		in = next
	}
	return &dir{in, filepath.Join(d.at, filepath.FromSlash(path))}, nil
}

func step(in *os.Root, name string) (*os.Root, error) {
	before, err := in.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !before.IsDir() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: errNotDir}
	}
	next, err := in.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	if after, err := next.Stat("."); err != nil || !os.SameFile(before, after) {
		_ = next.Close()
		return nil, &fs.PathError{Op: "open", Path: name, Err: errNotDir}
	}
	return next, nil
}

// stat returns the stamp of a name, or of the directory itself for ".".
func (d *dir) stat(name string) (stamp, error) {
	info, err := d.in.Lstat(name)
	if err != nil {
		return stamp{}, err
	}
	s := stamp{Size: info.Size(), Mtime: tree.Nanoseconds(info.ModTime().Unix(), int64(info.ModTime().Nanosecond())), Mode: uint16(info.Mode().Perm())}
	switch mode := info.Mode(); {
	case mode.IsRegular():
		s.Kind = tree.File
	case mode.IsDir():
		s.Kind = tree.Dir
	case mode&os.ModeSymlink != 0:
		s.Kind = tree.Link
	}
	s.fill(info)
	return s, nil
}

// open opens a regular file for reading.
func (d *dir) open(name string) (*os.File, error) {
	if s, err := d.stat(name); err != nil || s.Kind != tree.File {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	return d.in.Open(name)
}

func (d *dir) names() ([]string, error) {
	f, err := d.in.Open(".")
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return f.Readdirnames(-1)
}

func (d *dir) readlink(name string) (string, error) { return d.in.Readlink(name) }
func (d *dir) mkdir(name string) error              { return d.in.Mkdir(name, 0o700) }

// unlink removes a name; rmdir removes an empty directory.
func (d *dir) unlink(name string) error { return d.in.Remove(name) }
func (d *dir) rmdir(name string) error  { return d.in.Remove(name) }

func (d *dir) chmod(name string, mode uint16) error {
	m := os.FileMode(mode & 0o777)
	for _, b := range []struct {
		bit  uint16
		flag os.FileMode
	}{{0o4000, os.ModeSetuid}, {0o2000, os.ModeSetgid}, {0o1000, os.ModeSticky}} {
		if mode&b.bit != 0 {
			m |= b.flag
		}
	}
	return d.in.Chmod(name, m)
}

// setTime sets the time of the last change of the content, in nanoseconds since 1970.
func (d *dir) setTime(name string, mtime int64) error {
	if s, err := d.stat(name); err != nil || s.Kind == tree.Link {
		return err // the target's would be set
	}
	return d.in.Chtimes(name, time.Time{}, time.Unix(0, mtime))
}

// setXattrs does nothing: snapshots of these systems have no extended attributes.
func (d *dir) setXattrs(string, []tree.Xattr, []tree.Xattr) error { return nil }

// path returns the path of a name for calls that know no open directories.
func (d *dir) path(name string) string { return filepath.Join(d.at, name) }

// syncFile makes the content of a file survive a loss of power, if its mode allows to read it.
func (d *dir) syncFile(name string) error {
	f, err := d.open(name)
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	return f.Sync()
}

// busy reports whether an error means that another program keeps a file where it is, which none does here.
func busy(error) bool { return false }
