package tree

import (
	"maps"
	"slices"
)

// maxSettled bounds the size in bytes of a file that is read from [Scanner].Live though it changed since it was copied.
const maxSettled = 1 << 20

// openLive opens the directory of which the scanned one is a copy, if it is one.
func (w *walk) openLive() (err error) {
	if w.Live == "" {
		return nil
	}
	if w.live, err = openRoot(w.Live); err != nil {
		w.root.close()
	}
	return err
}

func (w *walk) end() {
	w.root.close()
	if w.live != nil {
		w.live.close()
	}
}

// settle replaces what a copy of the directory has of a file that changed shortly before it was copied, or meanwhile. A
// filesystem that makes such a copy first writes the contents that wait, then copies: what is written in between leaves a file
// with its new time and its old content. The file itself is read, as if there were no copy. Where it keeps changing, or is
// something else by now, its state is not certain.
func (w *walk) settle(path string, n *Node, copied Stat) error {
	for range tries {
		st, err := w.live.stat(path)
		if err != nil || st.Kind != File || st.Links != copied.Links {
			break
		}
		if st.Size > maxSettled && racy(w.Clock(), st) && (st.Ctime != copied.Ctime || st.Inode != copied.Inode) {
			break
		}
		now := &Node{Entry: Entry{Kind: File}}
		again, err := w.readFrom(w.live, path, now, st, 1)
		if err != nil {
			return err
		}
		if again {
			continue
		}
		if now.Unread != "" || !slices.EqualFunc(n.Xattrs, now.Xattrs, Xattr.same) {
			break
		}
		w.differ(path, !n.Same(&now.Entry))
		*n = *now
		return nil
	}
	n.Unread = changed
	return nil
}

// stale reports whether a copy lacks what was changed before it was made: a full filesystem may not write a file's last size and times.
func (w *walk) stale(path string, copied Stat) bool {
	st, err := w.live.stat(path)
	return err == nil && st.Kind == File && !racy(w.Clock(), st) && (st.Size != copied.Size || st.Mtime != copied.Mtime)
}

// differ notes whether what was found of a path differs from the copy.
func (w *walk) differ(path string, is bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if delete(w.differs, path); is {
		w.differs[path] = true
	}
}

// differing returns the paths of which the copy has another content than what was found.
func (w *walk) differing() []string { return slices.Sorted(maps.Keys(w.differs)) }
