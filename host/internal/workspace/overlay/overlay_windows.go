package overlay

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"

	"tidemark.dev/tidemark/host/internal/workspace/mounts"
)

// Untested is what mounts snapshots on Windows, which nobody has tried.
const Untested = "WinFsp"

// top is the directory of a process that serves.
const top = ""

// detached starts a process without a console.
var detached = &syscall.SysProcAttr{CreationFlags: windows.DETACHED_PROCESS | windows.CREATE_NEW_PROCESS_GROUP}

// Mount mounts a directory as its layers say, if no process serves it. Server is the command line of such a process, which gets the
// directory as its last argument. A directory without layers is no error. WinFsp makes the directory of a mount, and removes it when
// its process ends: until it is mounted again, an empty one is in its place.
func Mount(ctx context.Context, server []string, dir string) error {
	if !Is(dir) {
		return nil
	}
	mounting.Lock()
	defer mounting.Unlock()
	s := ServedFor(dir)
	switch {
	case serving(s.Lock) && exists(dir):
		return nil
	case len(server) == 0:
		return errServer
	}
	ended(s.Lock)
	if err := remove(dir); err != nil {
		return errors.Join(err, occupied(dir))
	}
	if err := serve(ctx, server, dir); err != nil {
		return errors.Join(err, os.Mkdir(dir, 0o700))
	}
	return nil
}

// Mounted reports nothing: what is mounted is not listed on Windows.
func Mounted(mounts.Mount) bool { return false }

// beyond is the upper half of the place in a file that is locked, which nobody reads.
const beyond = 1 << 30

// Lock locks the file of a process that serves a directory, until the process ends.
func Lock(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if err := lock(f); err != nil {
		return errors.Join(fmt.Errorf("another process serves it: %w", err), f.Close())
	}
	locked = append(locked, f)
	return nil
}

// locked stay open.
var locked []*os.File

func lock(f *os.File) error {
	return windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &windows.Overlapped{OffsetHigh: beyond})
}

// serving reports whether a process serves what a lock is of.
func serving(path string) bool {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	return lock(f) != nil
}

// asking is the name of the event by which a process is asked to end that serves a directory.
func asking(lock string) (*uint16, error) {
	return windows.UTF16PtrFromString(fmt.Sprintf(`Global\tidemark-%x`, sha256.Sum256([]byte(strings.ToLower(filepath.Clean(lock))))))
}

// Asked returns a channel that gets a value each time the process is asked to end that has a lock. It does so if no program uses the
// mount.
func Asked(lock string) (<-chan struct{}, error) {
	name, err := asking(lock)
	if err != nil {
		return nil, err
	}
	event, err := windows.CreateEvent(nil, 0, 0, name)
	if err != nil && !errors.Is(err, windows.ERROR_ALREADY_EXISTS) {
		return nil, fmt.Errorf("cannot make the event by which a mount is ended: %w", err)
	}
	asked := make(chan struct{})
	go func() {
		for {
			if _, err := windows.WaitForSingleObject(event, windows.INFINITE); err != nil {
				return
			}
			asked <- struct{}{}
		}
	}()
	return asked, nil
}

// end asks the process that serves a directory to end, and waits until it has.
func end(dir string) error {
	lock := ServedFor(dir).Lock
	if !serving(lock) {
		return nil
	}
	name, err := asking(lock)
	if err != nil {
		return err
	}
	event, err := windows.OpenEvent(windows.EVENT_MODIFY_STATE, false, name)
	if err != nil {
		return fmt.Errorf("cannot ask the process to end that serves %s: %w", dir, err)
	}
	err = errors.Join(windows.SetEvent(event), windows.CloseHandle(event))
	if ended(lock); err == nil && serving(lock) {
		return busy(dir)
	}
	return err
}

// Release unmounts what Tidemark mounted on a directory and below it, and removes the layers of the directory. The directories that
// were mounted no longer exist then.
func Release(dir string) error {
	mounting.Lock()
	defer mounting.Unlock()
	err := error(nil)
	if Refused() == nil { // else nothing is mounted
		err = below(dir, func(one string) error { return errors.Join(end(one), empty(one)) })
	}
	if err != nil || !Is(dir) {
		return err
	}
	if err := end(dir); err != nil {
		return err
	}
	return removeLayers(layers(dir))
}

// Detach is [Release]: nothing is detached on Windows.
func Detach(dir string) error { return Release(dir) }

// empty makes the empty directory of a branch that is not mounted.
func empty(dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// below calls a function with each directory below one that has layers. It looks into none of them.
func below(dir string, do func(string) error) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil || !d.IsDir():
			return err
		}
		if name := Of(d.Name()); name != "" {
			if err := do(filepath.Join(filepath.Dir(path), name)); err != nil {
				return err
			}
			return fs.SkipDir
		}
		if path != dir && Is(path) {
			return fs.SkipDir
		}
		return nil
	})
}

// Heal makes the empty directories of what is not mounted below a directory: WinFsp removed them with the mount. [Mount] mounts it
// again.
func Heal(dir string) error {
	mounting.Lock()
	defer mounting.Unlock()
	return below(dir, func(one string) error {
		if serving(ServedFor(one).Lock) {
			return nil
		}
		return empty(one)
	})
}

// Best is [Alone].
func Best() Form { return Alone }

// SetRoot is [ErrKernel]: the root of what is mounted here is the snapshot's.
func SetRoot(string, uint16, int64, map[string][]byte) error { return ErrKernel }

// Refused returns why nothing is mounted here, nil if it seems that it can be.
func Refused() error {
	key, err := registry.OpenKey(registry.LOCAL_MACHINE, `SOFTWARE\WinFsp`, registry.QUERY_VALUE|registry.WOW64_32KEY)
	if err == nil {
		_, _, err = key.GetStringValue("InstallDir")
		_ = key.Close()
	}
	if err != nil {
		return errors.New("WinFsp is not installed. Install it from winfsp.dev or by `winget install WinFsp.WinFsp`.")
	}
	return nil
}
