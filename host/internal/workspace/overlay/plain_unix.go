//go:build linux || darwin

package overlay

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"tidemark.dev/tidemark/host/internal/workspace/mounts"
)

// Plain makes a mounted branch a directory of plain files, at the same path. Copy copies a directory with everything in it into a new
// one. A directory without layers is no error. A branch that a program uses, or writes in, stays as it is. A kill at any instant leaves
// it mounted, or a copy that [Mount], [Release] and [Heal] put in its place.
func Plain(ctx context.Context, server []string, dir string, copy func(ctx context.Context, from, to string) error) error {
	if err := Mount(ctx, server, dir); err != nil || !Is(dir) {
		return err
	}
	if FormOf(dir) == View {
		return fmt.Errorf("%s is a view, not a branch", dir)
	}
	if err := alone(dir); err != nil {
		return err
	}
	copied := layer(dir, copyName)
	if err := removeLayers(copied); err != nil { // of one that was interrupted
		return err
	}
	before, err := settledStamp(ctx, dir)
	if err == nil {
		err = copy(ctx, dir, copied)
	}
	if err == nil {
		err = syncAll(copied)
	}
	if err == nil {
		err = exchange(ctx, server, dir, before)
	}
	if err != nil {
		return errors.Join(err, discardCopy(dir))
	}
	return nil
}

// alone returns an error where something else is mounted in a branch.
func alone(dir string) error {
	list, err := mounts.Below(dir)
	if err != nil || len(list) == 0 {
		return err
	}
	return within(dir, list[0].At)
}

// exchange puts the copy of a branch in its place, if nothing was written since a stamp.
func exchange(ctx context.Context, server []string, dir string, before stamp) error {
	mounting.Lock()
	defer mounting.Unlock()
	if !Is(dir) {
		return &fs.PathError{Op: "unmount", Path: dir, Err: fs.ErrNotExist}
	}
	if err := alone(dir); err != nil {
		return err
	}
	err := still(dir)
	if errors.Is(err, errors.ErrUnsupported) {
		return exchangeUnmounted(ctx, server, dir, before)
	}
	if err == nil {
		if err = errors.Join(unchanged(dir, before), unused(dir)); err == nil {
			err = markPlain(dir)
		}
	}
	if err != nil {
		return errors.Join(err, writable(dir))
	}
	return settlePlain(dir)
}

// exchangeUnmounted is [exchange] where the copy cannot take the place of what is mounted: the branch is first unmounted.
func exchangeUnmounted(ctx context.Context, server []string, dir string, before stamp) error {
	if err := unmount(dir, false); err != nil {
		return err // it is still mounted
	}
	err := free(dir, before)
	if err == nil {
		err = setAside(dir)
	}
	if err == nil {
		err = markPlain(dir)
	}
	if err != nil {
		return errors.Join(err, setAside(dir), mountLocked(context.WithoutCancel(ctx), server, dir))
	}
	return settlePlain(dir)
}

// setAside moves what was written into the directory of a branch that is not mounted beside it. That is an error, which says where it is.
func setAside(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) == 0 {
		return err
	}
	aside := dir + asideName + rand.Text()[:6]
	if err := os.Rename(dir, aside); err != nil {
		return errors.Join(occupied(dir), err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	return fmt.Errorf("%s is still mounted: while it was being unmounted, a program wrote %s, which is in %s now. Copy it from there and try again: %w",
		dir, entries[0].Name(), aside, errWrittenBelow)
}

// free returns an error unless a branch that was just unmounted is as a stamp has it, and nobody uses it elsewhere.
func free(dir string, before stamp) error {
	s := ServedFor(dir)
	if err := unmount(s.At, false); err != nil {
		return err
	}
	if ended(s.Lock); serving(s.Lock) { // in another namespace
		return busy(dir)
	}
	return unchanged(dir, before)
}

// unchanged returns an error unless a branch in which nothing can be written is as a stamp has it.
func unchanged(dir string, before stamp) error {
	if err := syncAll(layers(dir)); err != nil {
		return err
	}
	after, _, err := stampOf(dir)
	if err != nil {
		return err
	}
	if !before.same(after, FormOf(dir)) {
		return fmt.Errorf("%s is still mounted: %w", dir, ErrWritten)
	}
	return nil
}

// markPlain makes the copy of a branch the branch. It is on disk before the mark is.
func markPlain(dir string) error {
	copied := layer(dir, copyName)
	info, err := os.Lstat(copied)
	if err != nil {
		return err
	}
	st := info.Sys().(*syscall.Stat_t) //nolint:forcetypeassert // of this system
	if err := os.Chmod(copied, info.Mode()|0o300); err != nil {
		return err // without these, its user does not rename it
	}
	return errors.Join(os.Symlink(fmt.Sprintf("%o %d %d %d", st.Mode&0o7777, st.Ino, info.ModTime().Unix(), info.ModTime().Nanosecond()), layer(dir, plainName)), syncAll(layers(dir)))
}

// settlePlain puts the copy in the place of a branch that was marked, and removes the layers. Without a mark it does nothing.
func settlePlain(dir string) error {
	text, err := os.Readlink(layer(dir, plainName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var mode uint32
	var inode uint64
	var sec, nsec int64
	if _, err := fmt.Sscanf(text, "%o %d %d %d", &mode, &inode, &sec, &nsec); err != nil {
		return fmt.Errorf("cannot read the mode of %s from its mark: %w", dir, err)
	}
	copied := layer(dir, copyName)
	if exists(copied) && !swapped(dir, inode) {
		switch err := place(copied, dir); {
		case errors.Is(err, unix.ENOTEMPTY), errors.Is(err, unix.EEXIST):
			return occupied(dir)
		case err != nil:
			return &os.LinkError{Op: "rename", Old: copied, New: dir, Err: err}
		}
	}
	if err := unix.Chmod(dir, mode); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return &fs.PathError{Op: "chmod", Path: dir, Err: err}
	}
	if err := setTime(dir, time.Unix(sec, nsec)); err != nil && !errors.Is(err, fs.ErrNotExist) { // XFS changes it in an exchange
		return err
	}
	if err := syncAll(filepath.Dir(dir)); err != nil {
		return err
	}
	s := ServedFor(dir)
	for _, at := range []string{copied, s.At} {
		if at == dir {
			continue
		}
		if err := end(at, true); err != nil {
			return err
		}
	}
	if ended(s.Lock); serving(s.Lock) { // a program began to use it in the last moment, and keeps what it has open
		return errors.Join(spend(dir), remove(layer(dir, plainName)))
	}
	gone := layers(dir) + goneSuffix // without the mark they would be those of a branch
	if err := errors.Join(removeLayers(gone), os.Rename(layers(dir), gone)); err != nil {
		return err
	}
	_ = removeLayers(gone) // else the next start does
	return nil
}

// swapped reports whether the copy of a branch, whose inode it has, is in its place.
func swapped(dir string, inode uint64) bool {
	if mountedOn(dir) {
		return false
	}
	info, err := os.Lstat(dir)
	return err == nil && info.Sys().(*syscall.Stat_t).Ino == inode //nolint:forcetypeassert // of this system
}

// place puts the copy of a branch in its place. What is mounted there is where the copy was then. Where that is refused, it is detached.
func place(copied, dir string) error {
	if mountedOn(dir) {
		if err := swap(copied, dir); err == nil {
			return nil
		}
		if err := detach(dir); err != nil {
			return err
		}
	}
	return unix.Rename(copied, dir) // os.Rename replaces no empty directory
}

// discardCopy removes the copy of a branch that did not become plain files.
func discardCopy(dir string) error {
	mounting.Lock()
	defer mounting.Unlock()
	if exists(layer(dir, plainName)) {
		return nil
	}
	return errors.Join(writable(dir), removeLayers(layer(dir, copyName)))
}

// Settling is the longest time in which a filesystem may give two changes of a file the same time. A stamp with a change that is not
// older is taken again, so many times.
const (
	settling      = 50 * time.Millisecond
	settlingTries = 100
)

// settledStamp returns a stamp from which that of any later state differs.
func settledStamp(ctx context.Context, dir string) (stamp, error) {
	for range settlingTries {
		if err := syncAll(layers(dir)); err != nil { // from then on, writing to a file that is mapped changes its time
			return nil, err
		}
		began := time.Now()
		s, newest, err := stampOf(dir)
		age := began.Sub(newest)
		if err != nil || age > settling || age < -time.Minute { // the clock was set back
			return s, err
		}
		select {
		case <-time.After(settling):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return nil, fmt.Errorf("%s is still mounted: %w", dir, ErrWritten)
}

// stamp is what was written in a branch: inodes, times and the like, by paths in the layers.
type stamp map[string]string

// same reports whether nothing was written in a branch of a form between two stamps. By FUSE alone, what was removed is first removed
// from the log, and its content at any time after that.
func (before stamp) same(after stamp, form Form) bool {
	if form == Kernel {
		return maps.Equal(before, after)
	}
	for path, is := range after {
		if before[path] != is {
			return false
		}
	}
	return true
}

// stampOf returns the stamp of a branch, and the time of the newest change.
func stampOf(dir string) (s stamp, newest time.Time, err error) {
	form := FormOf(dir)
	r, err := os.OpenRoot(Written(dir, form))
	if err != nil {
		return nil, newest, err
	}
	defer func() { _ = r.Close() }()
	t := stamper{stamp: stamp{}, dirs: form == Kernel}
	err = t.dir(r, ".")
	return t.stamp, time.Unix(0, t.newest), err
}

// stamper is a stamp that is being taken. By FUSE alone, directories say nothing.
type stamper struct {
	stamp  stamp
	dirs   bool
	newest int64
}

// add adds a file, or a directory without what is in it. The kernel changes some of its own attributes of a directory when it is read,
// and with them the time of its last change, which says nothing then.
func (s *stamper) add(path string, info fs.FileInfo, xattrs string) {
	st := info.Sys().(*syscall.Stat_t) //nolint:forcetypeassert // of this system
	mtime, ctime := timesOf(st)
	s.newest = max(s.newest, ctime)
	is := fmt.Sprintf("%d %o %d %d %d %d", st.Ino, st.Mode, st.Nlink, st.Uid, st.Gid, mtime)
	if info.IsDir() {
		is += xattrs
	} else {
		is += fmt.Sprintf(" %d %d", st.Size, ctime)
	}
	s.stamp[path] = is
}

func (s *stamper) dir(r *os.Root, at string) error {
	d, err := r.Open(".")
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }()
	if s.dirs {
		info, err := d.Stat()
		if err != nil {
			return err
		}
		xattrs, err := xattrsOf(d)
		if err != nil {
			return err
		}
		s.add(at, info, xattrs)
	}
	entries, err := d.ReadDir(-1)
	if err != nil {
		return err
	}
	for _, e := range entries {
		path := filepath.Join(at, e.Name())
		if !e.IsDir() {
			info, err := r.Lstat(e.Name())
			if err == nil {
				s.add(path, info, "")
			} else if !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			continue
		}
		in, err := r.OpenRoot(e.Name())
		if err != nil {
			return err
		}
		if err := errors.Join(s.dir(in, path), in.Close()); err != nil {
			return err
		}
	}
	return nil
}

// maxXattrs is the most that Linux lists, or returns as a value.
const maxXattrs = 64 << 10

// xattrsOf returns the extended attributes of a directory but the kernel's own ones that say nothing, as a text.
func xattrsOf(d *os.File) (text string, err error) {
	fd := int(d.Fd())
	if n, err := unix.Flistxattr(fd, nil); errors.Is(err, unix.ENOTSUP) || err == nil && n == 0 {
		return "", nil
	}
	list, value := make([]byte, maxXattrs), make([]byte, maxXattrs)
	n, err := unix.Flistxattr(fd, list)
	if err != nil {
		return "", &fs.PathError{Op: "listxattr", Path: d.Name(), Err: err}
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(list[:n]), "\x00"), "\x00") {
		if strings.HasPrefix(name, "trusted.overlay.") && name != "trusted.overlay.opaque" && name != "trusted.overlay.redirect" {
			continue
		}
		n, err := unix.Fgetxattr(fd, name, value)
		if err != nil {
			return "", &fs.PathError{Op: "getxattr " + name, Path: d.Name(), Err: err}
		}
		text += fmt.Sprintf(" %q %q", name, value[:n])
	}
	return text, nil
}
