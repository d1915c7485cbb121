//go:build linux || darwin

package overlay

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"tidemark.dev/tidemark/host/internal/workspace/mounts"
	"tidemark.dev/tidemark/installer/safefile"
)

// Mount mounts a directory as its layers say, if it is not mounted or the process that served it has ended. Server is the
// command line of such a process, which gets the directory as its last argument. A directory without layers is no error.
func Mount(ctx context.Context, server []string, dir string) error {
	if !Is(dir) {
		return nil
	}
	mounting.Lock()
	defer mounting.Unlock()
	return mountLocked(ctx, server, dir)
}

// mountLocked is [Mount]. The caller holds mounting.
func mountLocked(ctx context.Context, server []string, dir string) error {
	if err := settlePlain(dir); err != nil || !Is(dir) {
		return err
	}
	s := ServedFor(dir)
	overlaid := s.At != dir
	if serving(s.Lock) && !mountedOn(s.At) { // its process is about to end
		if ended(s.Lock); serving(s.Lock) {
			return fmt.Errorf("programs still use what was mounted in %s. End them and try again.", dir)
		}
	}
	if serving(s.Lock) && mountedOn(s.At) && (!overlaid || mountedOn(dir)) {
		if s.Sealed {
			return nil
		}
		return writable(dir) // a copy was interrupted
	}
	if len(server) == 0 {
		return errServer
	}
	if !serving(s.Lock) {
		if err := errors.Join(detach(dir), detach(s.At)); err != nil {
			return err
		}
	}
	if !s.Sealed && !mountedOn(dir) {
		if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
			return errors.Join(err, occupied(dir))
		}
	}
	if !serving(s.Lock) {
		if err := serveOn(ctx, server, dir, !s.Sealed && !overlaid); err != nil {
			return err
		}
	}
	if !overlaid || mountedOn(dir) {
		return nil
	}
	return mountKernel(dir, s.At)
}

// serveOn starts the process that serves a directory. With guarded, nobody but root writes into the directory below the mount, when it is
// unmounted.
func serveOn(ctx context.Context, server []string, dir string, guarded bool) error {
	if !guarded {
		return serve(ctx, server, dir)
	}
	below, err := os.Open(dir) //nolint:forbidigo // a directory of ours
	if err != nil {
		return err
	}
	err = below.Chmod(0o700) // fusermount refuses others
	if err == nil {
		err = serve(ctx, server, dir)
	}
	return errors.Join(err, below.Chmod(0o500), below.Close())
}

// Lock locks the file of a process that serves a directory, until the process ends.
func Lock(path string) error {
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_CREAT|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return &fs.PathError{Op: "open", Path: path, Err: err}
	}
	if err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return fmt.Errorf("another process serves it: %w", err)
	}
	return nil // it stays open
}

// serving reports whether a process serves what a lock is of. It does not touch what is mounted: that could wait.
func serving(lock string) bool {
	fd, err := unix.Open(lock, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer func() { _ = unix.Close(fd) }()
	return unix.Flock(fd, unix.LOCK_SH|unix.LOCK_NB) != nil
}

// Mounted reports whether Tidemark mounted something, as a view or a branch.
func Mounted(m mounts.Mount) bool { return ours(m) }

// mountedOn reports whether Tidemark mounted something on a directory.
func mountedOn(dir string) bool {
	m, ok := mounts.On(dir)
	return ok && ours(m)
}

// unmount unmounts what Tidemark mounted on a directory, with force whoever uses it. What else is mounted in it is not detached with it.
func unmount(dir string, force bool) error {
	if !mountedOn(dir) {
		return nil
	}
	if at := foreign(dir); at != "" {
		return fmt.Errorf("%s was not unmounted, because something is mounted on %s. Unmount it first.", dir, at)
	}
	err := unmountAt(dir, force)
	if errors.Is(err, unix.EBUSY) {
		return busy(dir)
	}
	if err != nil {
		return &fs.PathError{Op: "unmount", Path: dir, Err: err}
	}
	return nil
}

// detach unmounts what can no longer be read, used or not.
func detach(dir string) error { return unmount(dir, true) }

// Release unmounts what Tidemark mounted on a directory and below it, and removes the layers of the directory and of those below
// it that are no longer mounted. The directories stay. Where anything else is mounted there, it changes nothing.
func Release(dir string) error { return release(dir, false) }

// Detach is [Release] of a directory that programs may use. They keep their files, as if these were deleted: the layers are removed when
// no program uses them any more.
func Detach(dir string) error { return release(dir, true) }

func release(dir string, used bool) error {
	if collect(dir); !Is(dir) && !holds(dir) {
		return nil
	}
	mounting.Lock()
	defer mounting.Unlock()
	if err := settlePlain(dir); err != nil {
		return err
	}
	list, err := mounts.Within(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // what it is in does not exist
	}
	if err != nil {
		return err
	}
	for _, m := range list {
		if used && !ours(m) { // it would be detached, too
			return within(dir, m.At)
		}
	}
	var unmounted []string
	for i := len(list) - 1; i >= 0; i-- { // the last one is the uppermost
		if !ours(list[i]) {
			continue
		}
		if err := end(list[i].At, used); err != nil {
			return err
		}
		unmounted = append(unmounted, owner(list[i].At))
	}
	for _, one := range unmounted {
		if s := ServedFor(one); !mountedOn(s.At) && !used {
			ended(s.Lock)
		}
	}
	if !Is(dir) {
		return nil
	}
	s := ServedFor(dir)
	if err := end(s.At, used); err != nil {
		return err
	}
	ended(s.Lock)
	if left, err := mounts.Within(layers(dir)); err != nil || len(left) > 0 {
		return errors.Join(err, fmt.Errorf("%s was not removed, because something is mounted in it", layers(dir)))
	}
	if serving(s.Lock) { // programs have files open, here or in another namespace
		return spend(dir)
	}
	return removeLayers(layers(dir))
}

// end unmounts what is mounted on a directory: at once if its process has ended, and whoever uses it if it is used.
func end(at string, used bool) error {
	err := unmount(at, !serving(layer(owner(at), lockName)))
	if used && errors.Is(err, unix.EBUSY) {
		return detach(at)
	}
	return err
}

// collecting is how often it is looked whether programs still use layers.
const collecting = time.Second

// spend marks layers that programs use and that are of no directory any more, and removes them when nobody uses them.
func spend(dir string) error {
	f, err := safefile.Own(layer(dir, spentName), os.O_WRONLY|os.O_CREATE)
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	go collectLater(dir)
	return nil
}

func collectLater(dir string) {
	for !collect(dir) {
		time.Sleep(collecting)
	}
}

// collect removes layers that were spent. It reports whether none are left.
func collect(dir string) bool {
	if !exists(layer(dir, spentName)) {
		return true
	}
	mounting.Lock()
	defer mounting.Unlock()
	if serving(ServedFor(dir).Lock) {
		return false
	}
	gone := layers(dir) + goneSuffix // without the mark they would be those of a branch
	if err := errors.Join(removeLayers(gone), os.Rename(layers(dir), gone)); err != nil {
		return false
	}
	_ = removeLayers(gone) // else the next start does
	return true
}

// collectIn removes what a daemon that has ended left in a directory and in those in it: spent layers, and copies of branches that did
// not become plain files. Those that did, it puts in their place.
func collectIn(below string) (err error) {
	for _, pattern := range []string{layersPrefix + "*", "*/" + layersPrefix + "*"} {
		list, _ := fs.Glob(os.DirFS(below), pattern)
		for _, name := range list {
			at := filepath.Join(below, filepath.FromSlash(name))
			dir := filepath.Join(filepath.Dir(at), Of(filepath.Base(at)))
			if strings.HasSuffix(at, goneSuffix) {
				_ = removeLayers(at)
				continue
			}
			if !collect(dir) {
				go collectLater(dir)
			}
			err = errors.Join(err, collectPlain(dir))
		}
	}
	return err
}

func collectPlain(dir string) error {
	mounting.Lock()
	err := settlePlain(dir)
	mounting.Unlock()
	return errors.Join(err, discardCopy(dir))
}

// owner returns the directory of which something is mounted: the one beside the layers, if it is one of them.
func owner(at string) string {
	above := filepath.Dir(at)
	if name := Of(filepath.Base(above)); name != "" && (filepath.Base(at) == baseName || filepath.Base(at) == copyName) {
		return filepath.Join(filepath.Dir(above), name)
	}
	return at
}

// holds reports whether Tidemark mounted something on a directory or below it.
func holds(dir string) bool {
	list, _ := mounts.Within(dir) // a directory that does not exist has none
	for _, m := range list {
		if ours(m) {
			return true
		}
	}
	return false
}

// foreign returns where something is mounted in a directory that Tidemark did not mount, "" if nothing is.
func foreign(dir string) string {
	list, _ := mounts.Below(dir) // the caller found the directory in the same table
	for _, m := range list {
		if !ours(m) {
			return m.At
		}
	}
	return ""
}

// Heal detaches what Tidemark mounted below a directory and whose process has ended: reading it would fail. [Mount] mounts it
// again. What something else is mounted in stays, and is an error.
func Heal(below string) error {
	left := collectIn(below)
	mounting.Lock()
	defer mounting.Unlock()
	list, err := mounts.Below(below)
	if errors.Is(err, fs.ErrNotExist) {
		return left
	}
	err = errors.Join(left, err)
	for i := len(list) - 1; i >= 0; i-- {
		if !ours(list[i]) {
			continue
		}
		if !serving(layer(owner(list[i].At), lockName)) {
			err = errors.Join(err, detach(list[i].At))
		}
	}
	return err
}
