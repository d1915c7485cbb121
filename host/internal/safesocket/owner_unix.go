//go:build unix

package safesocket

import (
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
)

// CheckDir checks that a path is a directory of this user and not a link, because another user could have created it
// first below the temporary directory. Setting is the environment variable that names the directory.
func CheckDir(dir, setting string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is not a directory. Remove it or set %s to another directory.", dir, setting)
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) != os.Getuid() {
		return fmt.Errorf("%s belongs to another user (id %d): %w. Set %s to a directory that you own.", dir, st.Uid, fs.ErrPermission, setting)
	}
	return nil
}

// Check checks that the file, directory or socket at a path belongs to this user and has exactly these permissions.
func Check(path string, want fs.FileMode) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) != os.Getuid() {
		return fmt.Errorf("%s belongs to another user (id %d)", path, st.Uid)
	}
	if mode := info.Mode().Perm(); mode != want {
		return fmt.Errorf("%s has mode %o instead of %o", path, mode, want)
	}
	return nil
}

// CheckFile checks that the file of a secret is a regular file that only this user can access.
func CheckFile(path string, info fs.FileInfo) error {
	st, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is not a file", path)
	case ok && int(st.Uid) != os.Getuid():
		return fmt.Errorf("%s belongs to another user (id %d)", path, st.Uid)
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("%s can be read by others (mode %s)", path, info.Mode().Perm())
	}
	return nil
}

// CheckWriters checks that only this user, or root, can write to a file or directory. The error has the command that ensures it.
func CheckWriters(path string, info fs.FileInfo) error {
	if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) != os.Getuid() && st.Uid != 0 {
		return fmt.Errorf("%s belongs to another user (id %d), who can write to it. Run `sudo chown %d %s` if you trust its content.", path, st.Uid, os.Getuid(), quoted(path))
	}
	if mode := info.Mode().Perm(); mode&0o022 != 0 {
		return fmt.Errorf("other users can write to %s (mode %o). Check its content, then run `chmod go-w %s`.", path, mode, quoted(path))
	}
	return nil
}

// quoted returns a path as a shell reads it.
func quoted(path string) string {
	for _, c := range path {
		if c != '/' && c != '.' && c != '-' && c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
		}
	}
	return path
}
