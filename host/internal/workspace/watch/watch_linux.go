package watch

import (
	"context"
	"crypto/rand"
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

// watched are the events that may change what a snapshot records. A file that was written through a memory map is noticed
// when it is closed.
const watched = unix.IN_MODIFY | unix.IN_ATTRIB | unix.IN_CLOSE_WRITE | unix.IN_CREATE | unix.IN_DELETE | unix.IN_MOVED_FROM | unix.IN_MOVED_TO | unix.IN_MOVE_SELF |
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
	// dirs are the watched directories by their watches, root is the workspace.
	dirs     map[int32]*watchedDir
	root     *watchedDir
	identity identity
	// dirty may have changed, in whole anything. names counts those in dirty, about. told are those before, which Since returned.
	dirty, told tree.Dirty
	names       int
	whole       bool
	given       names
	// takes counts the calls of Take.
	takes int
	// limited is why something is not watched, "" where everything is. refused is one of the paths.
	limited, refused string
	failed           error // why no more events are read
	// cookies is the watch of the directory of cookies, -1 if it cannot be watched. waiting are those that are waited for.
	cookies int32
	waiting map[string]chan struct{}
	next    int
	// prefix begins the names of this watcher's cookies: that of a process that was killed may still be there, and creating
	// it again would be no event.
	prefix string
	mounts *mounts
}

// maxDirty bounds the names that are remembered. With more of them it is cheaper to compare everything.
const maxDirty = 1 << 17

// Unsupported returns why this system has no watcher, nil where it has one.
func Unsupported() error { return nil }

// New watches a directory. The first Take reports that anything may have changed.
func New(o Options) (Watcher, error) {
	if o.Skip == nil {
		o.Skip = func(string) bool { return false }
	}
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if errors.Is(err, unix.EMFILE) {
		err = errors.New("the limit of watchers or of open files is reached. Raise the first with `sudo sysctl fs.inotify.max_user_instances=1024`")
	}
	if err != nil {
		return nil, fmt.Errorf("cannot watch %s: %w", o.Dir, err)
	}
	w := &inotify{
		options: o, fd: fd, file: os.NewFile(uintptr(fd), "inotify"), ended: make(chan struct{}),
		waiting: map[string]chan struct{}{}, prefix: rand.Text() + "-", mounts: openMounts(o.Dir),
	}
	left, _ := os.ReadDir(o.Cookies) // by a process that was killed
	for _, cookie := range left {
		_ = os.Remove(filepath.Join(o.Cookies, cookie.Name()))
	}
	if err := w.watchCookies(); err != nil && !errors.Is(err, unix.ENOSPC) {
		w.mounts.close()
		_ = w.file.Close()
		return nil, err
	}
	w.mu.Lock()
	w.rewatch()
	w.mu.Unlock()
	go w.read()
	return w, nil
}

// watchCookies watches the directory of cookies, and creates it.
func (w *inotify) watchCookies() error {
	if err := os.MkdirAll(w.options.Cookies, 0o700); err != nil {
		return err
	}
	wd, err := unix.InotifyAddWatch(w.fd, w.options.Cookies, unix.IN_CREATE|unix.IN_ONLYDIR)
	if err != nil {
		w.cookies = -1
		return fmt.Errorf("cannot watch %s: %w", w.options.Cookies, err)
	}
	w.cookies = int32(wd) //nolint:gosec // the kernel's numbers are of this size
	return nil
}

func (w *inotify) absolute(path string) string {
	return filepath.Join(w.options.Dir, filepath.FromSlash(path))
}

// touch notes that a name may have changed, touchAll all names in a directory. The caller holds the lock.
func (w *inotify) touch(dir, name string) {
	if w.whole {
		return
	}
	w.dirty.Add(dir, name)
	w.count()
}

func (w *inotify) touchAll(dir string) {
	if w.whole {
		return
	}
	w.dirty.AddAll(dir)
	w.count()
}

func (w *inotify) count() {
	if w.names++; w.names < maxDirty {
		return
	}
	w.names = 0
	for _, names := range w.dirty {
		w.names += 1 + len(names)
	}
	if w.names > maxDirty/2 {
		w.anything()
	}
}

// anything notes that anything may have changed. The caller holds the lock.
func (w *inotify) anything() { w.whole, w.dirty, w.told, w.names = true, tree.Dirty{}, tree.Dirty{}, 0 }

// read takes events until the watcher is closed.
func (w *inotify) read() {
	defer close(w.ended)
	buffer := make([]byte, readSize)
	for {
		n, err := w.file.Read(buffer)
		w.mu.Lock()
		if err != nil {
			w.failed = fmt.Errorf("the watch ended: %w", err)
			w.arrived()
			w.mu.Unlock()
			return
		}
		for b := buffer[:n]; len(b) >= unix.SizeofInotifyEvent; {
			size := int(binary.NativeEndian.Uint32(b[12:]))
			name := strings.TrimRight(string(b[unix.SizeofInotifyEvent:unix.SizeofInotifyEvent+size]), "\x00")
			w.event(int32(binary.NativeEndian.Uint32(b)), binary.NativeEndian.Uint32(b[4:]), binary.NativeEndian.Uint32(b[8:]), name) //nolint:gosec // as the kernel wrote it
			b = b[unix.SizeofInotifyEvent+size:]
		}
		w.mu.Unlock()
	}
}

// event takes an event. The caller holds the lock.
func (w *inotify) event(wd int32, mask, cookie uint32, base string) {
	if mask&unix.IN_Q_OVERFLOW != 0 {
		w.rewatch() // directories may have been created, moved and removed unseen
		w.arrived() // their cookies may be lost, and everything is compared now
		return
	}
	if wd == w.cookies {
		if done, ok := w.waiting[base]; ok {
			close(done)
			delete(w.waiting, base)
		}
		return
	}
	d := w.dirs[wd]
	if d == nil {
		return // of a directory that has left its place: its parent's events say so
	}
	switch {
	case mask&(unix.IN_IGNORED|unix.IN_UNMOUNT) != 0:
		delete(w.dirs, wd)
		d.leave()
		if d == w.root {
			w.root = nil
		}
		if mask&unix.IN_UNMOUNT != 0 || d.parent == nil {
			w.whole = true // what was mounted over appears. The next Take watches it
			w.limited = fmt.Sprintf("%s was removed, replaced or unmounted", w.absolute(d.path()))
			w.refused = d.path()
		}
		return
	case base == "" && d.parent == nil:
		w.touchAll("")
		return
	case base == "":
		w.touch(d.parent.path(), d.name)
		return
	}
	dir := d.path()
	path := tree.Join(dir, base)
	if w.options.Skip(path) {
		return
	}
	w.touch(dir, base)
	if mask&unix.IN_ISDIR == 0 {
		switch key := (name{d, base}); {
		case mask&(unix.IN_CREATE|unix.IN_MOVED_TO) != 0:
			w.given.give(key, w.absolute(path), cookie)
		case mask&unix.IN_MOVED_FROM != 0:
			w.given.move(key, cookie)
		case mask&unix.IN_DELETE == 0:
			w.given.change(key, w.absolute(path), w.takes-d.added < 2)
		}
		return
	}
	switch child := d.children[base]; {
	case mask&(unix.IN_MOVED_FROM|unix.IN_DELETE) != 0:
		w.forget(child)
	case mask&(unix.IN_MOVED_TO|unix.IN_CREATE) != 0:
		w.forget(child)
		w.addTree(d, base, path)
	case child == nil: // its mode may allow now to watch it
		w.addTree(d, base, path)
	}
}

// arrived ends the wait for all cookies. The caller holds the lock.
func (w *inotify) arrived() {
	for name, done := range w.waiting {
		close(done)
		delete(w.waiting, name)
	}
}

// Take waits until every event of before the call was read: a file is created in the directory of cookies, and its event
// comes after them, because one queue has the events of all watches.
func (w *inotify) Take(ctx context.Context) (tree.Dirty, bool, error) {
	if err := w.wait(ctx); err != nil {
		return nil, true, fmt.Errorf("cannot learn what changed in %s: %w", w.options.Dir, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.restore()
	w.told.AddDirty(w.dirty)
	dirty, whole := w.told, w.given.doubt() || w.whole || w.limited != ""
	w.takes++
	w.dirty, w.told, w.whole, w.names = tree.Dirty{}, tree.Dirty{}, false, 0
	return dirty, whole, nil
}

// Since is Take for a snapshot that is being taken: what it returns stays for the next one.
func (w *inotify) Since(ctx context.Context) (tree.Dirty, bool, error) {
	if err := w.wait(ctx); err != nil {
		return nil, true, fmt.Errorf("cannot learn what changed in %s: %w", w.options.Dir, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	dirty := w.dirty
	w.told.AddDirty(dirty)
	w.dirty = tree.Dirty{}
	return dirty, w.whole || w.limited != "", nil
}

func (w *inotify) wait(ctx context.Context) error {
	w.mu.Lock()
	if w.failed != nil {
		defer w.mu.Unlock()
		return w.failed
	}
	if w.cookies < 0 {
		if err := w.watchCookies(); err != nil {
			defer w.mu.Unlock()
			w.limit("", err) // everything is compared, without a wait
			return nil
		}
	}
	w.next++
	name := w.prefix + strconv.Itoa(w.next)
	done := make(chan struct{})
	w.waiting[name] = done
	w.mu.Unlock()
	path := filepath.Join(w.options.Cookies, name)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		w.mu.Lock()
		err = w.watchCookies() // they were removed
		w.mu.Unlock()
		if err == nil {
			f, err = os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
		}
	}
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
	return err
}

// Return takes back what could not be used.
func (w *inotify) Return(dirty tree.Dirty, whole bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if whole {
		w.anything()
		return
	}
	for dir, names := range dirty {
		if names == nil {
			w.touchAll(dir)
		}
		for name := range names {
			w.touch(dir, name)
		}
	}
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
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mounts.close()
	return err
}
