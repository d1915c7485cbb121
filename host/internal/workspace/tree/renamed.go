package tree

import (
	"errors"
	"maps"
	"slices"
)

// rounds bounds how often a scan looks again for what was renamed while it ran.
const rounds = 10

// renaming is why it is not certain that everything in a directory is known.
const renaming = "names in it changed each time it was read: a file that was renamed may be missing"

// errWhole means that some paths were compared, and anything may have changed meanwhile.
var errWhole = errors.New("anything may have changed")

// listing are the times of a directory before it was listed. Racy means that they may hide a later change.
type listing struct {
	mtime, ctime int64
	racy         bool
}

func (w *walk) listing(st Stat) listing { return listing{st.Mtime, st.Ctime, racy(w.Clock(), st)} }

// list returns the names in a directory, of which its path has said st.
func (w *walk) list(path string, st Stat) (*directory, []string, error) {
	d, names, err := w.root.list(path)
	if w.live != nil {
		return d, names, err // a copy does not change
	}
	l := w.listing(st)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.listings[path] = l
	delete(w.vanished, path)
	if err != nil && gone(err) {
		w.vanished[path] = true
	}
	return d, names, err
}

// complete reports whether the scan has everything that was there while it ran. A file that is renamed from a directory that is
// not yet read to one that was already read is in neither of them. What complete finds of these becomes suspect and is read, and
// the caller asks again: more may have been renamed meanwhile.
func (w *walk) complete(t *Tree, round int) (bool, error) {
	if w.live != nil || w.idle {
		return true, nil
	}
	dirty, moving, err := w.later()
	if err != nil || len(dirty) == 0 {
		return true, err
	}
	before := w.suspects
	w.suspects = nil
	w.missed(&recorded{t: t, suspects: before, vanished: maps.Clone(w.vanished), dirs: map[string]bool{}}, dirty, moving)
	w.pending.Wait()
	if w.err != nil {
		return true, w.err
	}
	w.sort()
	if err := w.inspectAll(w.suspects); err != nil {
		return true, err
	}
	fresh := make(map[string]bool, len(w.suspects))
	for _, s := range w.suspects {
		if fresh[s.path] = true; s.node == nil && !s.old.is() {
			moving[Parent(s.path)] = true
		}
	}
	w.suspects = append(w.suspects, slices.DeleteFunc(before, func(s suspect) bool { return fresh[s.path] })...)
	w.sort()
	if len(fresh) == 0 && len(moving) == 0 {
		return true, nil
	}
	if round < rounds {
		return false, nil
	}
	w.moving = slices.Sorted(maps.Keys(moving))
	return true, nil
}

// later returns the names that may have changed since the last call, or since the scan began. Moving are directories in which
// names changed, where only their times tell of it.
func (w *walk) later() (dirty Dirty, moving map[string]bool, err error) {
	w.root.forget()
	dirty, moving = Dirty{}, map[string]bool{}
	if w.Since != nil {
		reported, whole, err := w.Since(w.ctx)
		switch {
		case err != nil || !whole:
			return reported, moving, err
		case w.some:
			return nil, nil, errWhole
		}
	}
	for path, was := range w.listings {
		st, err := w.root.stat(path)
		if err != nil {
			continue // the time of its own directory has changed
		}
		now := w.listing(st)
		differs := now.mtime != was.mtime || now.ctime != was.ctime
		if differs {
			moving[path] = true
		}
		if differs || was.racy {
			w.listings[path] = now
			dirty.AddAll(path)
		}
	}
	return dirty, moving, nil
}

// missed makes suspects of what is at these names and is not recorded. It adds the directories from which a name is gone to
// moving: it may be another one by now.
func (w *walk) missed(r *recorded, dirty Dirty, moving map[string]bool) {
	for _, dir := range slices.Sorted(maps.Keys(dirty)) {
		if !r.dir(dir) {
			continue // its own name is among these, or it is gone
		}
		names := slices.Collect(maps.Keys(dirty[dir]))
		if dirty[dir] == nil {
			d, list, err := w.root.list(dir)
			if err != nil {
				if !gone(err) {
					w.mu.Lock()
					w.unlisted[dir] = err
					w.mu.Unlock()
					w.suspect(dir, r.t.find(dir))
				}
				continue
			}
			d.close()
			names = list
		}
		found := false
		for _, name := range names {
			path := Join(dir, name)
			if w.Skip(path) {
				continue
			}
			st, err := w.root.stat(path)
			switch {
			case err != nil && gone(err):
				moving[dir] = true
			case err == nil && (st.Kind == 0 || r.has(path, st)):
			default:
				found = true
				w.again(r, path, st)
			}
		}
		if found {
			w.suspect(dir, r.t.find(dir)) // for its time
		}
	}
}

// again makes a suspect of what is at a path, with everything in it.
func (w *walk) again(r *recorded, path string, st Stat) {
	old := r.t.find(path)
	w.suspect(path, old)
	if st.Kind != Dir {
		return
	}
	for i, _ := r.index(path); i < len(r.suspects) && Within(r.suspects[i].path, path); i++ {
		w.suspect(r.suspects[i].path, r.suspects[i].old)
	}
	w.visit(path, old, st, true)
}

// recorded is what a scan has so far: a tree, with suspects that were read.
type recorded struct {
	t        *Tree
	suspects []suspect
	vanished map[string]bool // [walk].vanished
	dirs     map[string]bool // see dir
}

func (r *recorded) index(path string) (int, bool) {
	return slices.BinarySearchFunc(r.suspects, path, func(s suspect, path string) int { return order(s.path, path) })
}

// dir reports whether a path is a directory that was read.
func (r *recorded) dir(path string) bool {
	is, known := r.dirs[path]
	if !known {
		n := r.node(path)
		is = n != nil && n.Kind == Dir && !r.vanished[path] && (path == "" || r.dir(Parent(path)))
		r.dirs[path] = is
	}
	return is
}

func (r *recorded) node(path string) *Node {
	if i, ok := r.index(path); ok {
		return r.suspects[i].node
	}
	return r.t.find(path).node()
}

// has reports whether the scan has what is at a path in a directory that was read: later changes of it need not be in it.
func (r *recorded) has(path string, st Stat) bool {
	n := r.node(path)
	return n != nil && n.Kind == st.Kind && n.Inode == st.Inode && !r.vanished[path]
}
