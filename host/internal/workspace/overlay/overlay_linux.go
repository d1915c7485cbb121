package overlay

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"tidemark.dev/tidemark/host/internal/workspace/mounts"
)

// Untested is empty: what mounts snapshots on Linux is tested.
const Untested = ""

// ours reports whether Tidemark mounted something.
func ours(m mounts.Mount) bool {
	return m.Source == Source && (m.Type == "fuse.tidemark" || m.Type == "overlay")
}

// mountKernel mounts an overlay of the kernel on a directory, above a mounted snapshot.
func mountKernel(dir, lower string) error {
	options := "redirect_dir=on,lowerdir=" + escape(lower) + ",upperdir=" + escape(layer(dir, upperName)) + ",workdir=" + escape(layer(dir, workName))
	if err := unix.Mount(Source, dir, "overlay", unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
		return fmt.Errorf("%w: %w", ErrKernel, err)
	}
	return nil
}

// escape writes a path into the options of an overlay.
var escape = strings.NewReplacer(`\`, `\\`, `,`, `\,`, `:`, `\:`).Replace

// SetRoot sets what a branch has as its root, which is that of the upper layer.
func SetRoot(dir string, mode uint16, mtime int64, xattrs map[string][]byte) error {
	upper := layer(dir, upperName)
	var errs []error
	for name, value := range xattrs {
		errs = append(errs, unix.Setxattr(upper, name, value, 0))
	}
	errs = append(errs, unix.Chmod(upper, uint32(mode)), os.Chtimes(upper, time.Time{}, time.Unix(0, mtime)))
	return errors.Join(errs...)
}

// unmountAt unmounts a directory. With force it is detached, used or not.
func unmountAt(dir string, force bool) error {
	flags, args := 0, []string{"-u", dir}
	if force {
		flags, args = unix.MNT_DETACH, []string{"-u", "-z", dir}
	}
	err := unix.Unmount(dir, flags)
	if !errors.Is(err, unix.EPERM) {
		return err
	}
	for _, program := range []string{"fusermount3", "fusermount"} { // a user's
		out, failed := exec.Command(program, args...).CombinedOutput() //nolint:gosec // a path of ours
		switch {
		case failed == nil:
			return nil
		case errors.Is(failed, exec.ErrNotFound):
		case strings.Contains(string(out), "busy"):
			return unix.EBUSY
		default:
			return fmt.Errorf("%s: %s", program, strings.TrimSpace(string(out)))
		}
	}
	return err
}

// syncAll writes what is on the filesystem of a directory to its disk.
func syncAll(dir string) error {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err == nil {
		err = errors.Join(unix.Syncfs(fd), unix.Close(fd))
	}
	if err != nil {
		return &fs.PathError{Op: "syncfs", Path: dir, Err: err}
	}
	return nil
}

// timesOf returns when a file was changed, and anything of it, in nanoseconds.
func timesOf(st *syscall.Stat_t) (mtime, ctime int64) { return st.Mtim.Nano(), st.Ctim.Nano() }

// Best returns the form that a branch is tried in first. Only root can mount an overlay of the kernel where other programs see it.
func Best() Form {
	if os.Geteuid() == 0 {
		return Kernel
	}
	return Alone
}

// Refused returns why nothing is mounted here, nil if it seems that it can be.
func Refused() error {
	if _, err := os.Stat("/dev/fuse"); err != nil {
		return errors.New("the system has no /dev/fuse")
	}
	if os.Geteuid() == 0 {
		return nil
	}
	if unix.Access("/dev/fuse", unix.R_OK|unix.W_OK) != nil {
		return errors.New("you may not open /dev/fuse")
	}
	for _, program := range []string{"fusermount3", "fusermount"} {
		if _, err := exec.LookPath(program); err == nil {
			return nil
		}
	}
	return errors.New("without root, a mount needs the program fusermount3, which is not installed (on Debian, the package fuse3 has it)")
}
