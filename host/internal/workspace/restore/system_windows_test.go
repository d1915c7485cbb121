package restore_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/windows"

	"tidemark.dev/tidemark/host/internal/workspace/winfile"
)

var sayOnce sync.Once

// symlink makes a symbolic link. Where the user, or Wine, makes none, a file stands for it.
func symlink(target, path string) error {
	err := os.Symlink(target, path)
	if err == nil {
		_, err = os.Lstat(path) // Wine 8 says that it made one
		if err == nil {
			return nil
		}
	} else if errors.Is(err, os.ErrExist) {
		return err
	}
	sayOnce.Do(func() { fmt.Fprintf(os.Stderr, "files stand for symbolic links, which cannot be made here: %v\n", err) })
	return os.WriteFile(path, []byte("link to "+target), 0o600)
}

func mkfifo(string) error { return errors.ErrUnsupported }

func (w *world) inode(path string) uint64 {
	w.t.Helper()
	d, err := winfile.OpenDir(filepath.Dir(w.path(path)))
	w.must(err)
	defer func() { _ = windows.CloseHandle(d) }()
	i, err := winfile.StatIn(d, filepath.Base(w.path(path)))
	w.must(err)
	return i.Inode
}
