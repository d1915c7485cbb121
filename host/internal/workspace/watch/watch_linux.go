package watch

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"tidemark.dev/tidemark/host/internal/workspace/tree"
)

// watched are the events that may change what a snapshot records.
const watched = unix.IN_MODIFY | unix.IN_ATTRIB | unix.IN_CREATE | unix.IN_DELETE | unix.IN_MOVED_FROM | unix.IN_MOVED_TO | unix.IN_MOVE_SELF |
	unix.IN_ONLYDIR | unix.IN_DONT_FOLLOW | unix.IN_EXCL_UNLINK

// readSize is the room for events that are read at once, in bytes.
const readSize = 256 << 10

// inotify watches each directory by inotify. One goroutine reads the events, in their order.
type inotify struct {
	options Options
	fd      int // [os.File.Fd] would make reads uninterruptible
	file    *os.File
	ended   chan struct{}

	mu sync.Mutex
	// dirs and watches map the numbers of watches to directories and back.
	dirs    map[int32]string
	watches map[string]int32
	dirty   tree.Dirty
	whole   bool
	limited string
	failed  error // why no more events are read
	// cookies are the watch of the directory of cookies, and those that are waited for.
	cookies int32
	waiting map[string]chan struct{}
	next    int
}

// New watches a directory. The first Take reports that anything may have changed.
func New(o Options) (Watcher, error) {
	if o.Skip == nil {
		o.Skip = func(string) bool { return false }
	}
	if err := os.MkdirAll(o.Cookies, 0o700); err != nil {
		return nil, err
	}
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("cannot watch %s: %w", o.Dir, err)
	}
	w := &inotify{
		options: o, fd: fd, file: os.NewFile(uintptr(fd), "inotify"), ended: make(chan struct{}),
		dirs: map[int32]string{}, watches: map[string]int32{}, dirty: tree.Dirty{}, whole: true, waiting: map[string]chan struct{}{},
	}
	cookies, err := unix.InotifyAddWatch(fd, o.Cookies, unix.IN_CREATE|unix.IN_ONLYDIR)
	if err != nil {
		_ = w.file.Close()
		return nil, fmt.Errorf("cannot watch %s: %w", o.Cookies, err)
	}
	w.cookies = int32(cookies) //nolint:gosec // the kernel's numbers are of this size
	w.mu.Lock()
	w.addTree("")
	w.mu.Unlock()
	go w.read()
	return w, nil
}

// addTree watches a directory and everything below it. A directory is listed after it is watched, so that nothing that is
// created meanwhile is missed. The caller holds the lock.
func (w *inotify) addTree(path string) {
	if !w.add(path) {
		return
	}
	w.dirty.AddAll(path)
	entries, err := os.ReadDir(w.absolute(path))
	if err != nil {
		return // it is gone, or cannot be read: the scan says so
	}
	for _, e := range entries {
		if child := tree.Join(path, e.Name()); e.IsDir() && !w.options.Skip(child) {
			w.addTree(child)
		}
	}
}

func (w *inotify) absolute(path string) string {
	return filepath.Join(w.options.Dir, filepath.FromSlash(path))
}

// add watches one directory.
func (w *inotify) add(path string) bool {
	wd, err := unix.InotifyAddWatch(w.fd, w.absolute(path), watched)
	switch {
	case errors.Is(err, unix.ENOSPC):
		w.limited = "the system's limit of watched directories is reached. Raise it with `sudo sysctl fs.inotify.max_user_watches=1048576`."
		return false
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP):
		return false // its removal is an event of its parent
	case err != nil:
		w.limited = fmt.Sprintf("%s cannot be watched: %v", w.absolute(path), err)
		return false
	}
	n := int32(wd) //nolint:gosec // the kernel's numbers are of this size
	if old, ok := w.dirs[n]; ok && old != path {
		delete(w.watches, old) // it was moved, and its new place is reached first
	}
	w.dirs[n], w.watches[path] = path, n
	return true
}

// forget stops watching a directory that left its place, and everything below it. The caller holds the lock.
func (w *inotify) forget(path string) {
	for at, wd := range w.watches {
		if tree.Within(at, path) {
			_, _ = unix.InotifyRmWatch(w.fd, uint32(wd)) //nolint:gosec // a number of the kernel's
			delete(w.watches, at)
			delete(w.dirs, wd)
		}
	}
}

// read takes events until the watcher is closed.
func (w *inotify) read() {
	defer close(w.ended)
	buffer := make([]byte, readSize)
	for {
		n, err := w.file.Read(buffer)
		w.mu.Lock()
		if err != nil {
			w.failed = err
			for name, done := range w.waiting {
				close(done)
				delete(w.waiting, name)
			}
			w.mu.Unlock()
			return
		}
		for b := buffer[:n]; len(b) >= unix.SizeofInotifyEvent; {
			size := int(binary.NativeEndian.Uint32(b[12:]))
			name := strings.TrimRight(string(b[unix.SizeofInotifyEvent:unix.SizeofInotifyEvent+size]), "\x00")
			w.event(int32(binary.NativeEndian.Uint32(b)), binary.NativeEndian.Uint32(b[4:]), name) //nolint:gosec // as the kernel wrote it
			b = b[unix.SizeofInotifyEvent+size:]
		}
		w.mu.Unlock()
	}
}

// event takes an event. The caller holds the lock.
func (w *inotify) event(wd int32, mask uint32, name string) {
	if mask&unix.IN_Q_OVERFLOW != 0 {
		w.whole = true
		w.addTree("") // directories may have been created unseen
		return
	}
	if wd == w.cookies {
		if done, ok := w.waiting[name]; ok {
			close(done)
			delete(w.waiting, name)
		}
		return
	}
	dir, known := w.dirs[wd]
	if !known {
		return // of a directory that has left its place: its parent's events say so
	}
	switch {
	case mask&unix.IN_IGNORED != 0:
		delete(w.dirs, wd)
		if w.watches[dir] == wd {
			delete(w.watches, dir)
		}
		if dir == "" {
			w.whole, w.limited = true, "the directory was removed or replaced"
		}
		return
	case mask&unix.IN_UNMOUNT != 0, mask&unix.IN_MOVE_SELF != 0 && dir == "":
		w.whole, w.limited = true, "the directory was moved or unmounted"
		return
	case name == "":
		if dir != "" {
			w.dirty.Add(tree.Parent(dir), tree.Base(dir))
		} else {
			w.dirty.AddAll("")
		}
		return
	}
	path := tree.Join(dir, name)
	if w.options.Skip(path) {
		return
	}
	w.dirty.Add(dir, name)
	if mask&unix.IN_ISDIR == 0 {
		return
	}
	if mask&(unix.IN_MOVED_FROM|unix.IN_DELETE) != 0 {
		w.forget(path)
	}
	if mask&(unix.IN_MOVED_TO|unix.IN_CREATE) != 0 {
		w.forget(path)
		w.addTree(path)
	}
}

// Take waits until every event of before the call was read: a file is created in the directory of cookies, and its event
// comes after them, because one queue has the events of all watches.
func (w *inotify) Take(ctx context.Context) (tree.Dirty, bool, error) {
	w.mu.Lock()
	w.next++
	name := strconv.Itoa(w.next)
	done := make(chan struct{})
	failed := w.failed
	if failed == nil {
		w.waiting[name] = done
	}
	w.mu.Unlock()
	if failed != nil {
		return nil, true, fmt.Errorf("the watch of %s ended: %w", w.options.Dir, failed)
	}
	path := filepath.Join(w.options.Cookies, name)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		err = f.Close()
	}
	defer func() { _ = os.Remove(path) }()
	if err == nil {
		select {
		case <-done:
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.waiting, name)
	if err == nil {
		err = w.failed
	}
	if err != nil {
		return nil, true, fmt.Errorf("cannot learn what changed in %s: %w", w.options.Dir, err)
	}
	dirty, whole := w.dirty, w.whole || w.limited != ""
	w.dirty, w.whole = tree.Dirty{}, false
	return dirty, whole, nil
}

// Return takes back what could not be used.
func (w *inotify) Return(dirty tree.Dirty, whole bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.whole = w.whole || whole
	merge(w.dirty, dirty)
}

// Limited returns why the whole directory has to be compared each time.
func (w *inotify) Limited() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.limited
}

// Close ends the watcher.
func (w *inotify) Close() error {
	err := w.file.Close()
	<-w.ended
	return err
}
