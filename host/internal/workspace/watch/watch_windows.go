package watch

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"unsafe"

	"golang.org/x/sys/windows"

	"tidemark.dev/tidemark/host/internal/workspace/tree"
	"tidemark.dev/tidemark/host/internal/workspace/winfile"
)

// changes are the events that may change what a snapshot records.
const changes = windows.FILE_NOTIFY_CHANGE_FILE_NAME | windows.FILE_NOTIFY_CHANGE_DIR_NAME | windows.FILE_NOTIFY_CHANGE_ATTRIBUTES |
	windows.FILE_NOTIFY_CHANGE_SIZE | windows.FILE_NOTIFY_CHANGE_LAST_WRITE | windows.FILE_NOTIFY_CHANGE_CREATION | windows.FILE_NOTIFY_CHANGE_SECURITY

// readSize is the room for changes between two reads, in bytes. The system keeps as much beside it. Network drives take no
// more.
const readSize = 64 << 10

// Keys of what the port delivers.
const (
	read = iota + 1
	mark
	end
)

// directory watches a directory with everything below it by ReadDirectoryChangesW. One goroutine reads the changes.
//
// The system notes a change in the handle of the directory before the call that makes it returns, and a port delivers in
// order. A mark that is posted after a change is therefore delivered after it, unless no read was waiting when the change
// was made. The next read takes it then, and a second mark, which is posted after that read has begun, is delivered after
// it. No file is needed to mark a position.
type directory struct {
	options Options
	handle  windows.Handle
	port    windows.Handle
	ended   chan struct{}
	// id is what the directory is. Who puts another one in its place sees no error.
	id winfile.Info
	// overlapped and buffer belong to the system while a read waits.
	overlapped windows.Overlapped
	buffer     *[readSize]byte

	mu      sync.Mutex
	dirty   tree.Dirty
	whole   bool
	limited string
	failed  error // why no more changes are read
	// waiting are the marks that have been posted, by their numbers.
	waiting map[uint32]chan struct{}
	next    uint32
	closed  bool
}

// New watches a directory. The first Take reports that anything may have changed.
func New(o Options) (Watcher, error) {
	if o.Skip == nil {
		o.Skip = func(string) bool { return false }
	}
	fail := func(err error) (Watcher, error) { return nil, fmt.Errorf("cannot watch %s: %w", o.Dir, err) }
	top, err := winfile.OpenDir(o.Dir)
	if err != nil {
		return fail(err)
	}
	defer func() { _ = windows.CloseHandle(top) }()
	w := &directory{options: o, ended: make(chan struct{}), buffer: new([readSize]byte), dirty: tree.Dirty{}, whole: true, waiting: map[uint32]chan struct{}{}}
	if w.id, err = winfile.Stat(top); err != nil {
		return fail(err)
	}
	if w.handle, err = winfile.OpenWatched(top); err != nil {
		return fail(err)
	}
	if w.port, err = windows.CreateIoCompletionPort(w.handle, 0, read, 1); err != nil {
		_ = windows.CloseHandle(w.handle)
		return fail(err)
	}
	if err := w.begin(); err != nil {
		_ = windows.CloseHandle(w.handle)
		_ = windows.CloseHandle(w.port)
		return fail(err)
	}
	go w.read()
	return w, nil
}

// begin begins a read.
func (w *directory) begin() error {
	return windows.ReadDirectoryChanges(w.handle, &w.buffer[0], readSize, true, changes, nil, &w.overlapped, 0)
}

// read takes what the port delivers until the watcher is closed.
func (w *directory) read() {
	defer close(w.ended)
	reading := true
	for {
		var n uint32
		var key uintptr
		var o *windows.Overlapped
		err := windows.GetQueuedCompletionStatus(w.port, &n, &key, &o, windows.INFINITE)
		w.mu.Lock()
		switch {
		case o != nil:
			reading = false
			if err == nil {
				w.take(n)
			} else if !w.closed {
				w.lose(err)
			}
			if !w.closed && w.failed == nil {
				if err := w.begin(); err != nil {
					w.lose(err)
				} else {
					reading = true
				}
			}
		case err != nil:
			w.lose(err)
			w.mu.Unlock()
			return
		case key == mark:
			w.marked(n)
		}
		done := w.closed && !reading
		w.mu.Unlock()
		if done {
			return
		}
	}
}

// lose notes that changes can be missing from now on. The caller holds the lock.
func (w *directory) lose(err error) {
	w.whole = true
	if errors.Is(err, windows.ERROR_NOTIFY_ENUM_DIR) {
		return // more changes than there is room for: the next read works
	}
	w.failed = err
	w.limited = fmt.Sprintf("the system reports no changes of %s any more: %v", w.options.Dir, err)
	for n, done := range w.waiting {
		close(done)
		delete(w.waiting, n)
	}
}

// Marks have an even number when they are posted for the first time, the next one for the second time.

// marked takes a mark. The caller holds the lock.
func (w *directory) marked(n uint32) {
	if n%2 == 0 {
		if err := windows.PostQueuedCompletionStatus(w.port, n+1, mark, nil); err != nil {
			w.lose(err)
		}
		return
	}
	if done := w.waiting[n-1]; done != nil {
		close(done)
		delete(w.waiting, n-1)
	}
}

// take takes the changes of a read, of a length in bytes. The caller holds the lock.
func (w *directory) take(n uint32) {
	if n == 0 { // there were more than there is room for
		w.whole = true
		return
	}
	const head = uint32(unsafe.Offsetof(windows.FileNotifyInformation{}.FileName))
	for at := uint32(0); ; {
		if at+head > n {
			w.whole = true
			return
		}
		info := (*windows.FileNotifyInformation)(unsafe.Pointer(&w.buffer[at]))
		if at+head+info.FileNameLength > n {
			w.whole = true
			return
		}
		name := windows.UTF16ToString(unsafe.Slice(&info.FileName, info.FileNameLength/2))
		w.note(filepath.ToSlash(name))
		if info.NextEntryOffset == 0 {
			return
		}
		at += info.NextEntryOffset
	}
}

// note notes a path. The caller holds the lock.
func (w *directory) note(path string) {
	for at := path; at != ""; at = tree.Parent(at) {
		if w.options.Skip(at) {
			return
		}
	}
	w.dirty.Path(path)
}

// Take waits until every change of before the call was read.
func (w *directory) Take(ctx context.Context) (tree.Dirty, bool, error) {
	w.mu.Lock()
	n := w.next
	w.next += 2
	done := make(chan struct{})
	err := w.failed
	if w.closed {
		err = errClosed
	}
	if err == nil {
		if err = windows.PostQueuedCompletionStatus(w.port, n, mark, nil); err == nil {
			w.waiting[n] = done
		}
	}
	w.mu.Unlock()
	if err == nil {
		select {
		case <-done:
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	moved := w.moved()
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.waiting, n)
	if err == nil {
		err = w.failed
	}
	if err != nil {
		return nil, true, fmt.Errorf("cannot learn what changed in %s: %w", w.options.Dir, err)
	}
	if moved {
		w.limited = "the directory was moved, removed or replaced"
	}
	dirty, whole := w.dirty, w.whole || w.limited != ""
	w.dirty, w.whole = tree.Dirty{}, false
	return dirty, whole, nil
}

// errClosed is the answer of a watcher that was closed.
var errClosed = errors.New("the watcher is closed")

// moved reports whether the path is not the directory that is watched.
func (w *directory) moved() bool {
	h, err := winfile.OpenDir(w.options.Dir)
	if err != nil {
		return true
	}
	defer func() { _ = windows.CloseHandle(h) }()
	now, err := winfile.Stat(h)
	return err != nil || now.Inode != w.id.Inode || now.Volume != w.id.Volume
}

// Return takes back what could not be used.
func (w *directory) Return(dirty tree.Dirty, whole bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.whole = w.whole || whole
	merge(w.dirty, dirty)
}

// Limited returns why the whole directory has to be compared each time.
func (w *directory) Limited() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.limited
}

// Close ends the watcher.
func (w *directory) Close() error {
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return nil
	}
	w.closed = true
	w.mu.Unlock()
	// The buffer is the system's until the read that waits has ended.
	err := windows.CancelIoEx(w.handle, &w.overlapped)
	if errors.Is(err, windows.ERROR_NOT_FOUND) {
		err = nil // it ended by itself
	}
	err = errors.Join(err, windows.PostQueuedCompletionStatus(w.port, 0, end, nil))
	<-w.ended
	return errors.Join(err, windows.CloseHandle(w.handle), windows.CloseHandle(w.port))
}

// merge adds what a snapshot that failed has taken.
func merge(into, dirty tree.Dirty) {
	for dir, names := range dirty {
		if names == nil {
			into.AddAll(dir)
		}
		for name := range names {
			into.Add(dir, name)
		}
	}
}
