package tree

import (
	"errors"
	"io"
	"os"
	"slices"
	"time"
)

// racy reports whether a file with this stat changed so shortly before a moment that a later change could have left it the same
// times. Linux before 6.13 stamps files with the time of the last tick, up to 10 ms old. Filesystems that record whole seconds
// (ext4 with inodes of 128 bytes, HFS+) or every second one (FAT) are known by it.
func racy(at time.Time, st Stat) bool {
	last, window := max(st.Mtime, st.Ctime), 20*time.Millisecond
	if last%int64(time.Second) == 0 {
		window += 2 * time.Second
	}
	return at.Sub(time.Unix(0, last)) < window
}

// readFrom reads a file of which its path has said st. It reports whether to read it again, because it changed since: the
// path may lead elsewhere by now, and what is open may never have been there as it is.
func (w *walk) readFrom(r *root, path string, n *Node, st Stat, try int) (again bool, err error) {
	f, now, err := r.open(path)
	if gone(err) || errors.Is(err, errKind) {
		return try < tries, nil
	}
	if err != nil {
		n.Size, n.Unread = st.Size, reason(err)
		return false, nil
	}
	defer func() { _ = f.Close() }()
	began := w.Clock()
	c, err := w.Read(f, now.Size)
	if store := (errStore{}); errors.As(err, &store) {
		if try > 1 {
			return false, &ChangingError{path, try, now.Size, store.error}
		}
		return false, store.error
	}
	if err != nil {
		n.Size, n.Unread = st.Size, reason(err)
		return false, nil
	}
	n.Xattrs, n.Racy = xattrsOf(f), racy(began, now)
	same := true
	if n.Racy && (w.live == nil || r == w.live) { // a copy does not change
		if same, err = w.readAgain(f, n.Xattrs, c, now.Size); err != nil {
			return false, err
		}
		at, gone := r.stat(path) // it may have been renamed, and changed there
		same = same && gone == nil && at == now
	}
	after, err := statFile(f)
	if err == nil && (now != st || after != now || c.Size != now.Size || !same) {
		if try < tries {
			return true, nil
		}
		n.Unread = changed
	}
	n.Size, n.Content, n.Chunked, n.Sparse = c.Size, c.Content, c.Chunked, c.Sparse
	n.Mode, n.Mtime, n.Ctime, n.Inode = now.Mode, now.Mtime, now.Ctime, now.Inode
	if now.Links > 1 {
		n.Hard = now.Inode
	}
	return false, nil
}

// readAgain reports whether a file reads as it did just before. Then it was what was read at the moment between, also where its
// stat does not show each change. The error is one of the store.
func (w *walk) readAgain(f *os.File, xattrs []Xattr, was Content, size int64) (same bool, err error) {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return false, nil
	}
	c, err := w.Read(f, size)
	if store := (errStore{}); errors.As(err, &store) {
		return false, store.error
	}
	same = err == nil && c.Content == was.Content && c.Chunked == was.Chunked && c.Size == was.Size
	return same && slices.EqualFunc(xattrs, xattrsOf(f), Xattr.same), nil
}
