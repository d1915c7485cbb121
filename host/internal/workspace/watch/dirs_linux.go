package watch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"tidemark.dev/tidemark/host/internal/workspace/tree"
)

// watchedDir is a directory that is watched.
type watchedDir struct {
	name   string
	parent *watchedDir // nil for the workspace
	wd     int32
	// added is how many calls of Take came before it was watched.
	added int
	// children are the watched directories in it, nil where there are none.
	children map[string]*watchedDir
}

func (d *watchedDir) path() string {
	if d.parent == nil {
		return ""
	}
	return tree.Join(d.parent.path(), d.name)
}

func (d *watchedDir) put(parent *watchedDir, name string) {
	d.parent, d.name = parent, name
	if parent.children == nil {
		parent.children = map[string]*watchedDir{}
	}
	parent.children[name] = d
}

// leave takes a directory out of its parent.
func (d *watchedDir) leave() {
	if p := d.parent; p != nil && p.children[d.name] == d {
		delete(p.children, d.name)
	}
}

// identity tells a directory from another one that took its path.
type identity struct{ device, inode uint64 }

func identityOf(path string) (identity, error) {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return identity{}, &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	return identity{st.Dev, st.Ino}, nil
}

// rewatch watches the whole workspace anew, and keeps the watches that it had. The caller holds the lock.
func (w *inotify) rewatch() {
	before := w.dirs
	w.dirs, w.root, w.limited, w.refused = map[int32]*watchedDir{}, nil, "", ""
	w.anything()
	id, err := identityOf(w.options.Dir)
	if err == nil {
		w.identity = id
		w.addTree(nil, "", "")
	} else {
		w.limit("", err)
	}
	for wd := range before {
		if _, still := w.dirs[wd]; !still {
			w.remove(wd)
		}
	}
}

// tooMany says that the system does not allow more watches.
const tooMany = "the system's limit of watched directories is reached. Raise it with `sudo sysctl fs.inotify.max_user_watches=1048576`."

// limit notes that a path cannot be watched. The caller holds the lock.
func (w *inotify) limit(path string, err error) {
	w.whole, w.refused = true, path
	switch {
	case errors.Is(err, unix.ENOSPC):
		w.limited = tooMany
	case path == "" && (errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR)):
		w.limited = fmt.Sprintf("%s does not exist. It was moved or removed.", w.options.Dir)
	default:
		w.limited = fmt.Sprintf("%s cannot be watched: %v", w.absolute(path), err)
	}
}

// restore tries to end a limit, and notices a workspace that another directory took the place of. The caller holds the lock.
func (w *inotify) restore() {
	id, err := identityOf(w.options.Dir)
	switch {
	case err != nil:
		w.limit("", err)
	case id != w.identity || w.root == nil || w.mounts.changed():
		w.rewatch()
	case w.limited != "":
		wd, err := w.add(w.absolute(w.refused))
		switch {
		case err != nil && !gone(err) && !errors.Is(err, unix.ENAMETOOLONG): // of a path that is too long, nobody knows whether it is there
			return
		case err == nil && w.dirs[wd] == nil:
			w.remove(wd) // it may be elsewhere by now
		}
		w.rewatch()
	}
}

func gone(err error) bool {
	return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP)
}

// add adds a watch of the system's.
func (w *inotify) add(path string) (int32, error) {
	wd, err := unix.InotifyAddWatch(w.fd, path, watched)
	return int32(wd), err //nolint:gosec // the kernel's numbers are of this size
}

func (w *inotify) remove(wd int32) { _, _ = unix.InotifyRmWatch(w.fd, uint32(wd)) } //nolint:gosec // a number of the kernel's

// addTree watches a directory and everything below it. A directory is listed after it is watched, so that nothing that is
// created meanwhile is missed. The caller holds the lock.
func (w *inotify) addTree(parent *watchedDir, name, path string) {
	wd, err := w.add(w.absolute(path))
	switch {
	case err == nil:
	case gone(err) && parent != nil:
		return // its removal is an event of its parent
	case errors.Is(err, unix.EACCES) && parent != nil:
		w.touchAll(path) // nobody sees what is in it: the snapshot says so. A new mode is an event of its parent
		return
	default:
		w.limit(path, err)
		return
	}
	d := w.dirs[wd]
	switch {
	case d == nil:
		d = &watchedDir{wd: wd, added: w.takes}
		w.dirs[wd] = d
	case d.parent != parent || d.name != name:
		d.leave() // it was moved, and its new place is reached first
	}
	if parent == nil {
		w.root = d
	} else {
		if other := parent.children[name]; other != nil && other != d {
			w.forget(other)
		}
		d.put(parent, name)
	}
	w.touchAll(path)
	fd, err := unix.Open(w.absolute(path), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return // it is gone, or cannot be read: the scan says so
	}
	f := os.NewFile(uintptr(fd), path)
	entries, _ := f.ReadDir(-1)
	_ = f.Close()
	for _, e := range entries {
		if e.IsDir() {
			if child := tree.Join(path, e.Name()); !w.options.Skip(child) {
				w.addTree(d, e.Name(), child)
			}
		}
	}
}

// forget stops watching a directory that left its place, and everything below it. The caller holds the lock.
func (w *inotify) forget(d *watchedDir) {
	if d == nil {
		return
	}
	d.leave()
	d.each(func(d *watchedDir) {
		w.remove(d.wd)
		delete(w.dirs, d.wd)
	})
}

func (d *watchedDir) each(do func(*watchedDir)) {
	do(d)
	for _, c := range d.children {
		c.each(do)
	}
}
