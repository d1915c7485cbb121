package tree

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/windows"

	"tidemark.dev/tidemark/host/internal/workspace/winfile"
)

// errNotDir means that a part of a path is not a directory, errKind that a path is not a regular file.
var (
	errNotDir = winfile.ErrNotDir
	errKind   = errors.New("it is not a regular file")
)

// root is a directory below which paths are resolved, without following any link.
type root struct {
	h windows.Handle
	spelling
}

func openRoot(dir string) (*root, error) {
	h, err := winfile.OpenDir(dir)
	if err != nil {
		return nil, err
	}
	return &root{h: h}, nil
}

func (r *root) close() { _ = windows.CloseHandle(r.h) }

// directory is an open directory, with what it lists.
type directory struct {
	h    windows.Handle
	list map[string]winfile.Info
}

func (d *directory) close() { _ = windows.CloseHandle(d.h) }

// list opens a directory and returns the names in it.
func (r *root) list(path string) (*directory, []string, error) {
	h, err := winfile.Sub(r.h, path)
	if err != nil {
		return nil, nil, err
	}
	list, err := winfile.List(h)
	if err != nil {
		_ = windows.CloseHandle(h)
		return nil, nil, err
	}
	d, names := &directory{h, make(map[string]winfile.Info, len(list))}, make([]string, len(list))
	for i, l := range list {
		names[i], d.list[l.Name] = l.Name, l.Info
	}
	return d, names, nil
}

// listed returns what the directory lists of a name; see [Scanner].Listed. Filesystems without identities of files (FAT)
// list none.
func (d *directory) listed(name string) (st Stat, ok bool) {
	st = statOf(d.list[name])
	return st, st.Inode != 0
}

func (d *directory) stat(name string) (Stat, error) {
	info, err := winfile.StatIn(d.h, name)
	return statOf(info), err
}

func statOf(i winfile.Info) Stat {
	s := Stat{Size: i.Size, Mtime: i.Mtime, Ctime: i.Ctime, Inode: i.Inode, Mode: uint16(i.Mode.Perm()), Links: i.Links}
	switch i.Mode & fs.ModeType {
	case 0:
		s.Kind = File
	case fs.ModeDir:
		s.Kind = Dir
	case fs.ModeSymlink:
		s.Kind = Link
	}
	return s
}

// at opens the directory of a path and calls with it and the last name.
func (r *root) at(path string, do func(dir windows.Handle, name string) error) error {
	dir, err := winfile.Sub(r.h, Parent(path))
	if err != nil {
		return err
	}
	defer func() { _ = windows.CloseHandle(dir) }()
	return do(dir, Base(path))
}

func (r *root) stat(path string) (st Stat, err error) {
	err = r.at(path, func(dir windows.Handle, name string) error {
		info, err := winfile.StatIn(dir, name)
		st = statOf(info)
		return err
	})
	if err == nil {
		err = r.spelled(r, path)
	}
	return st, err
}

func (r *root) readlink(path string) (target string, err error) {
	err = r.at(path, func(dir windows.Handle, name string) error {
		target, err = winfile.Readlink(dir, name)
		return err
	})
	return target, err
}

// open opens a regular file for reading. A file that another program has locked cannot be opened.
func (r *root) open(path string) (f *os.File, st Stat, err error) {
	err = r.at(path, func(dir windows.Handle, name string) error {
		h, err := winfile.Open(dir, name, winfile.Read)
		if err != nil {
			return err
		}
		f = winfile.File(h, path)
		return nil
	})
	if err != nil {
		return nil, Stat{}, err
	}
	if st, err = statFile(f); err == nil && st.Kind != File {
		err = errKind
	}
	if err != nil {
		_ = f.Close()
		return nil, Stat{}, err
	}
	return f, st, nil
}

func statFile(f *os.File) (Stat, error) {
	info, err := winfile.Stat(windows.Handle(f.Fd()))
	return statOf(info), err
}

func (*root) xattrs(string) ([]Xattr, error) { return nil, nil }

func xattrsOf(*os.File) []Xattr { return nil }
