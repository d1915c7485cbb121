package mounts

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// RemoveAll is [os.RemoveAll], except that it enters nothing that is mounted, not even what is mounted meanwhile. That is an error
// and stays, with the directories above it.
func RemoveAll(dir string) error {
	dir = filepath.Clean(dir)
	if err := os.Remove(dir); err == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	above, err := unix.Open(filepath.Dir(dir), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return &fs.PathError{Op: "open", Path: filepath.Dir(dir), Err: err}
	}
	defer func() { _ = unix.Close(above) }()
	err = removeIn(above, filepath.Base(dir), dir)
	if errors.Is(err, unix.ENOSYS) { // a system before Linux 5.6, or a container that forbids the call
		return os.RemoveAll(dir)
	}
	return err
}

// removeIn removes a name in an open directory. Path is where that is.
func removeIn(above int, name, path string) error {
	file := unix.Unlinkat(above, name, 0)
	if file == nil || errors.Is(file, unix.ENOENT) {
		return nil
	}
	err := unix.Unlinkat(above, name, unix.AT_REMOVEDIR)
	switch {
	case err == nil, errors.Is(err, unix.ENOENT):
		return nil
	}
	fd, opened := unix.Openat2(above, name, &unix.OpenHow{
		Flags: unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_XDEV | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_BENEATH,
	})
	switch {
	case errors.Is(opened, unix.ENOENT):
		return nil
	case errors.Is(opened, unix.ENOTDIR), errors.Is(opened, unix.ELOOP):
		return &fs.PathError{Op: "unlinkat", Path: path, Err: file}
	case errors.Is(opened, unix.EXDEV):
		return fmt.Errorf("%s was not removed, because something is mounted on %s. Unmount it first.", path, path)
	case opened != nil:
		return &fs.PathError{Op: "open", Path: path, Err: opened}
	}
	if err := empty(os.NewFile(uintptr(fd), path), path); err != nil { //nolint:gosec // a descriptor is small
		return err
	}
	if err := unix.Unlinkat(above, name, unix.AT_REMOVEDIR); err != nil && !errors.Is(err, unix.ENOENT) {
		return &fs.PathError{Op: "unlinkat", Path: path, Err: err}
	}
	return nil
}

// batch is how many names of a directory are read at a time.
const batch = 1024

// empty removes what is in an open directory, and closes it. What is not removed hides nothing else: the first error is returned.
func empty(dir *os.File, path string) (first error) {
	defer func() { _ = dir.Close() }()
	for removed := 1; removed > 0; { // again while there are names, since removing them may hide others
		removed, first = 0, nil
		if _, err := dir.Seek(0, io.SeekStart); err != nil {
			return err
		}
		for {
			names, err := dir.Readdirnames(batch)
			for _, name := range names {
				if err := removeIn(int(dir.Fd()), name, filepath.Join(path, name)); err == nil { //nolint:gosec // a descriptor is small
					removed++
				} else if first == nil {
					first = err
				}
			}
			if err != nil && !errors.Is(err, io.EOF) {
				return errors.Join(first, err)
			}
			if err != nil {
				break
			}
		}
	}
	return first
}
