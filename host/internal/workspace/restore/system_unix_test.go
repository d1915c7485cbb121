//go:build unix

package restore_test

import (
	"os"
	"syscall"
)

func symlink(target, path string) error { return os.Symlink(target, path) }

func mkfifo(path string) error { return syscall.Mkfifo(path, 0o600) }

func (w *world) inode(path string) uint64 {
	w.t.Helper()
	info, err := os.Lstat(w.path(path))
	if err != nil {
		w.t.Fatal(err)
	}
	return info.Sys().(*syscall.Stat_t).Ino
}
