//go:build unix

package daemon

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// checkOwner makes sure that a directory is one, this user's, and not a link to somewhere else: below the
// directory for temporary files anybody could have made it before.
func checkOwner(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is no directory; remove it, or set %s to another directory", dir, HomeEnv)
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) != os.Getuid() {
		return fmt.Errorf("%s belongs to another user (id %d): %w; set %s to a directory of your own", dir, st.Uid, fs.ErrPermission, HomeEnv)
	}
	return nil
}

// checkSecretFile makes sure that a file is its user's alone.
func checkSecretFile(path string, info fs.FileInfo) error {
	st, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is no file", path)
	case ok && int(st.Uid) != os.Getuid():
		return fmt.Errorf("%s belongs to another user (id %d)", path, st.Uid)
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("%s can be read by others (mode %s)", path, info.Mode().Perm())
	}
	return nil
}

// CheckSockets makes sure that the sockets of the daemon that runs, and their directory, are their user's
// alone.
func (h Home) CheckSockets() error {
	dir := filepath.Dir(h.Socket(MCPSocket))
	if err := checkOwner(dir); err != nil {
		return err
	}
	for path, want := range map[string]fs.FileMode{
		dir: 0o700, h.Socket(MCPSocket): 0o600, h.Socket(RelaySocket): 0o600, h.Socket(ControlSocket): 0o600,
	} {
		info, err := os.Lstat(path)
		if err != nil {
			return err
		}
		if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) != os.Getuid() {
			return fmt.Errorf("%s belongs to another user (id %d)", path, st.Uid)
		}
		if mode := info.Mode().Perm(); mode != want {
			return fmt.Errorf("%s has mode %o and not %o", path, mode, want)
		}
	}
	return nil
}
