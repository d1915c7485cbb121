package safefile

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// Place is where a file is, or will be, in a directory that stays open. What is read from it and written to it is in that
// directory, whatever its path leads to meanwhile.
type Place struct {
	dir  *os.Root
	path string
}

// Resolve returns a path without links. What does not exist yet is kept as it is. A link to a file that does not exist is an
// error.
func Resolve(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return real, err
	}
	if _, err := os.Lstat(path); err == nil {
		return "", fmt.Errorf("%s is a link to a file that does not exist; create that file or remove the link", path)
	}
	parent := filepath.Dir(path)
	if parent == path {
		return path, nil
	}
	parent, err = Resolve(parent)
	return filepath.Join(parent, filepath.Base(path)), err
}

// OpenPlace opens the directory of a path of [Resolve]. It creates missing directories with mode 0700. If one of them has become
// a link since, it fails.
func OpenPlace(real string) (*Place, error) {
	dir := filepath.Dir(real)
	there := dir
	for {
		if _, err := os.Lstat(there); !errors.Is(err, fs.ErrNotExist) || there == filepath.Dir(there) {
			break
		}
		there = filepath.Dir(there)
	}
	root, err := openDir(there)
	if err != nil || there == dir {
		return &Place{root, real}, err
	}
	defer func() { _ = root.Close() }()
	rest, err := filepath.Rel(there, dir)
	if err != nil {
		return nil, err
	}
	if err := root.MkdirAll(rest, 0o700); err != nil {
		return nil, err
	}
	made, err := root.OpenRoot(rest)
	return &Place{made, real}, err
}

// errLink is the error of a directory that has become a link.
var errLink = errors.New("it has become a link in the meantime; run this again")

// openDir opens a directory, none of whose names is a link. A directory on the way that may not be read is not looked at: only
// its owner can change what is in it. On Windows, where a volume can be a directory, the last one alone is opened.
func openDir(dir string) (*os.Root, error) {
	if runtime.GOOS == "windows" || !filepath.IsAbs(dir) {
		return os.OpenRoot(dir)
	}
	path := "/"
	at, err := os.OpenRoot(path)
	for _, name := range strings.FieldsFunc(dir, func(r rune) bool { return r == '/' }) {
		path = filepath.Join(path, name)
		at, err = openIn(at, path, name)
		if err != nil && !errors.Is(err, fs.ErrPermission) {
			return nil, err
		}
	}
	return at, err
}

// openIn opens a directory by its name in another one, which it closes, or by its path if that is nil.
func openIn(in *os.Root, path, name string) (*os.Root, error) {
	if in == nil {
		return os.OpenRoot(path)
	}
	defer func() { _ = in.Close() }()
	next, err := in.OpenRoot(name)
	named, nerr := in.Lstat(name)
	if nerr != nil || named.Mode()&fs.ModeSymlink != 0 {
		err = errors.Join(&fs.PathError{Op: "open", Path: path, Err: errLink}, nerr)
	}
	if err == nil {
		var opened fs.FileInfo
		if opened, err = next.Stat("."); err == nil && !os.SameFile(opened, named) {
			err = &fs.PathError{Op: "open", Path: path, Err: errLink}
		}
	}
	if err != nil && next != nil {
		_ = next.Close()
		next = nil
	}
	return next, err
}

// Close closes the directory.
func (p *Place) Close() error { return p.dir.Close() }

// ReadInfo is [ReadInfo] of the file, which is not a link.
func (p *Place) ReadInfo(limit int64) ([]byte, fs.FileInfo, error) {
	name := filepath.Base(p.path)
	info, err := p.dir.Lstat(name)
	if err != nil {
		return nil, nil, err
	}
	if err := check(p.path, info, limit); err != nil { // a device is not opened
		return nil, nil, err
	}
	f, err := p.dir.OpenFile(name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, nil, err
	}
	return readAll(f, p.path, limit)
}

// Remove removes the file.
func (p *Place) Remove() error { return p.dir.Remove(filepath.Base(p.path)) }

// Write is [Write] in the directory.
func (p *Place) Write(data []byte, mode os.FileMode) (err error) {
	name := filepath.Base(p.path)
	var tmp string
	var f *os.File
	for f == nil {
		tmp = "." + name + "." + strconv.FormatUint(uint64(rand.Uint32()), 10)
		if f, err = p.dir.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.dir.Remove(tmp))
		}
	}()
	_, err = f.Write(data)
	if err == nil {
		err = f.Chmod(mode)
	}
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	return patiently(func() error { return p.dir.Rename(tmp, name) })
}
