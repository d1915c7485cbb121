package overlay

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"tidemark.dev/tidemark/host/internal/workspace/mounts"
)

// How often, and how long after each other, it is looked whether a program uses a mount: one may just look a path up.
const (
	usingTries = 40
	usingEvery = 5 * time.Millisecond
)

const remount = unix.MS_REMOUNT | unix.MS_NOSUID | unix.MS_NODEV

// still makes a mounted branch read-only, for all that see it. It returns [errors.ErrUnsupported] where only its user mounted it, or
// where the kernel refuses that.
func still(dir string) error {
	if os.Geteuid() != 0 || !mountedOn(dir) {
		return errors.ErrUnsupported
	}
	switch err := unix.Mount("", dir, "", remount|unix.MS_RDONLY, ""); {
	case err == nil:
		return nil
	case errors.Is(err, unix.EBUSY): // a file is open for writing
		return busy(dir)
	default:
		return fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
	}
}

// writable undoes [still], also after a kill.
func writable(dir string) error {
	m, ok := mounts.On(dir)
	if !ok || !ours(m) || os.Geteuid() != 0 || !slices.Contains(strings.Split(m.Options, ","), "ro") {
		return nil
	}
	if err := unix.Mount("", dir, "", remount, ""); err != nil {
		return &fs.PathError{Op: "remount", Path: dir, Err: err}
	}
	return nil
}

// unused returns an error if a program uses a mount, here or in another namespace.
func unused(dir string) error {
	m, ok := mounts.On(dir)
	if !ok {
		return &fs.PathError{Op: "unmount", Path: dir, Err: unix.EINVAL}
	}
	others, err := mounts.Elsewhere(m.Device)
	if err != nil {
		return err
	}
	for _, o := range others {
		if o.At != m.At || o.Private { // else it is unmounted with this one
			return busy(dir)
		}
	}
	for range usingTries {
		if _, err := os.Lstat(dir); err != nil { // removes the mark of an earlier call, which would unmount it
			return err
		}
		switch err := unix.Unmount(dir, unix.MNT_EXPIRE); {
		case errors.Is(err, unix.EAGAIN): // it was marked as unused
			return nil
		case err == nil:
			return &fs.PathError{Op: "unmount", Path: dir, Err: unix.EINVAL}
		case !errors.Is(err, unix.EBUSY):
			return &fs.PathError{Op: "unmount", Path: dir, Err: err}
		}
		time.Sleep(usingEvery)
	}
	return busy(dir)
}

// swap exchanges a directory and one on which something is mounted, in one step. The mount moves with its directory. A mount prevents a
// rename only in namespaces that have it. So a thread with a namespace of its own does it, which ends with that.
func swap(one, mounted string) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() == unix.Getpid() { // this one cannot end
			done <- swap(one, mounted)
			runtime.UnlockOSThread()
			return
		}
		done <- swapApart(one, mounted)
	}()
	return <-done
}

func swapApart(one, mounted string) error {
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return os.NewSyscallError("unshare", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return os.NewSyscallError("mount", err)
	}
	for unix.Unmount(mounted, unix.MNT_DETACH) == nil { // in this namespace alone
	}
	return unix.Renameat2(unix.AT_FDCWD, one, unix.AT_FDCWD, mounted, unix.RENAME_EXCHANGE)
}

// setTime sets the time at which a directory was changed.
func setTime(dir string, at time.Time) error {
	ts, err := unix.TimeToTimespec(at)
	if err == nil {
		err = unix.UtimesNanoAt(unix.AT_FDCWD, dir, []unix.Timespec{{Nsec: unix.UTIME_OMIT}, ts}, 0)
	}
	if err != nil {
		return &fs.PathError{Op: "utimensat", Path: dir, Err: err}
	}
	return nil
}
