//go:build !linux && !windows

package tree

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

// errNotDir means that a part of a path is not a directory, errKind that a path is not a regular file.
var (
	errNotDir error = syscall.ENOTDIR
	errKind         = errors.New("it is not a regular file")
)

// root is a directory below which paths are resolved. [os.Root] keeps them inside. It follows links that stay inside, so
// that every directory on the way is checked.
type root struct {
	in *os.Root
	spelling
}

func openRoot(dir string) (*root, error) {
	in, err := OpenDir(dir)
	if err != nil {
		return nil, err
	}
	return &root{in: in}, nil
}

// OpenDir opens a directory, which must not be a link: it may have become one.
func OpenDir(dir string) (*os.Root, error) {
	named, err := os.Lstat(dir)
	if err != nil {
		return nil, err
	}
	in, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	if opened, err := in.Stat("."); err != nil || !os.SameFile(opened, named) {
		_ = in.Close()
		return nil, &os.PathError{Op: "open", Path: dir, Err: errNotDir}
	}
	return in, nil
}

func (r *root) close() { _ = r.in.Close() }

// local returns a path for the system, and an error if a directory on the way is none.
func (r *root) local(path string) (string, error) {
	if path == "" {
		return ".", nil
	}
	for dir := Parent(path); dir != ""; dir = Parent(dir) {
		info, err := r.in.Lstat(filepath.FromSlash(dir))
		if err != nil {
			return "", err
		}
		if !info.IsDir() {
			return "", errNotDir
		}
	}
	return filepath.FromSlash(path), nil
}

// directory is an open directory.
type directory struct {
	r    *root
	path string
}

func (*directory) close() {}

// list opens a directory and returns the names in it.
func (r *root) list(path string) (*directory, []string, error) {
	name, err := r.local(path)
	if err != nil {
		return nil, nil, err
	}
	f, err := r.in.Open(name)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = f.Close() }()
	names, err := f.Readdirnames(-1)
	if err != nil {
		return nil, nil, err
	}
	return &directory{r, path}, names, nil
}

// listed returns nothing: directories list names alone.
func (*directory) listed(string) (st Stat, ok bool) { return st, false }

func (d *directory) stat(name string) (Stat, error) {
	info, err := d.r.in.Lstat(filepath.FromSlash(Join(d.path, name)))
	if err != nil {
		return Stat{}, err
	}
	return statOf(info), nil
}

func statOf(info os.FileInfo) Stat {
	s := Stat{Size: info.Size(), Mtime: Nanoseconds(info.ModTime().Unix(), int64(info.ModTime().Nanosecond())), Mode: uint16(info.Mode().Perm())}
	switch mode := info.Mode(); {
	case mode.IsRegular():
		s.Kind = File
	case mode.IsDir():
		s.Kind = Dir
	case mode&os.ModeSymlink != 0:
		s.Kind = Link
	}
	fill(&s, info)
	return s
}

func (r *root) stat(path string) (Stat, error) {
	name, err := r.local(path)
	if err != nil {
		return Stat{}, err
	}
	info, err := r.in.Lstat(name)
	if err == nil {
		err = r.spelled(r, path)
	}
	if err != nil {
		return Stat{}, err
	}
	return statOf(info), nil
}

func (r *root) readlink(path string) (string, error) {
	name, err := r.local(path)
	if err != nil {
		return "", err
	}
	return r.in.Readlink(name)
}

// open opens a regular file for reading.
func (r *root) open(path string) (*os.File, Stat, error) {
	st, err := r.stat(path)
	if err != nil {
		return nil, st, err
	}
	if st.Kind != File {
		return nil, st, errKind
	}
	f, err := r.in.Open(filepath.FromSlash(path))
	if err != nil {
		return nil, st, err
	}
	if st, err = statFile(f); err == nil && st.Kind != File {
		err = errKind
	}
	if err != nil {
		_ = f.Close()
		return nil, st, err
	}
	return f, st, nil
}

func statFile(f *os.File) (Stat, error) {
	info, err := f.Stat()
	if err != nil {
		return Stat{}, err
	}
	return statOf(info), nil
}

func (*root) xattrs(string) ([]Xattr, error) { return nil, nil }

func xattrsOf(*os.File) []Xattr { return nil }
