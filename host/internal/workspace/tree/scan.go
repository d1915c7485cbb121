package tree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"
)

// Content is what reading a file returns.
type Content struct {
	Entry // Content, Chunked and Sparse of it
	// Size is how many bytes were read.
	Size int64
}

// Scanner finds what changed in a directory since a tree was read.
type Scanner struct {
	// Dir is the directory. It may be a copy of Live, which the filesystem made: then Clock returns when, or a time shortly
	// before. Live is "" where Dir is no copy.
	Dir, Live string
	// Skip reports whether a path is left out, with everything below it.
	Skip func(path string) bool
	// Read reads and stores a file's content. It may be called from several goroutines.
	Read func(f *os.File, size int64) (Content, error)
	// Clock returns the time of the filesystem. It is called from several goroutines.
	Clock func() time.Time
	// Since returns the names that may have changed since the scan began, or since the last call. Whole means that anything may
	// have. Nil has the times of directories tell of it.
	Since func(ctx context.Context) (dirty Dirty, whole bool, err error)
	// Progress counts what the scan has done. Nil counts nothing.
	Progress *Progress
	// Listed lets a scan believe what a directory lists of a file that has not changed for [settled], where directories
	// list more than names (Windows). That is much faster than to open each file. A change to a file is not listed before
	// the program that made it closes the file, or if it was made by another name of the file.
	Listed bool
}

// settled is since when a file has not changed of which [Scanner].Listed lets a scan believe what is listed.
const settled = time.Hour

// Problem is a path whose state is not certain.
type Problem struct {
	Path, Reason string
	// Unread is true where what is there could not be read, of what a copy lacks.
	Unread bool
}

// maxLines bounds the problems that [Lines] lists.
const maxLines = 100

// Lines returns problems as "path: reason", sorted.
func Lines(problems []Problem) []string {
	var lines []string
	for _, problem := range problems {
		lines = append(lines, cmp.Or(problem.Path, ".")+": "+problem.Reason)
	}
	slices.Sort(lines)
	if more := len(lines) - maxLines; more > 0 {
		lines = append(lines[:maxLines], fmt.Sprintf("and %d more", more))
	}
	return lines
}

// tries is how often a file is read that changes while it is read.
const tries = 4

// changed is why the state of a path is not certain that changed each time it was read.
const changed = "it changed while it was read"

// suspect is a path whose stat differs from the tree's.
type suspect struct {
	path string
	old  ref
	node *Node // what it is now, nil if it is no longer there
}

// Full compares the whole directory with the tree. Apply what it returns with [Tree.Accept].
func (s *Scanner) Full(ctx context.Context, t *Tree) (*Found, error) {
	w, err := s.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer w.end()
	w.visit("", t.root, w.check("", t.root), true)
	return w.finish(t)
}

// Some compares the paths that may have changed with the tree. New directories are read whole.
func (s *Scanner) Some(ctx context.Context, t *Tree, dirty Dirty) (*Found, error) {
	w, err := s.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer w.end()
	w.some, w.idle = true, len(dirty) == 0
	for dir, names := range dirty {
		old := t.find(dir)
		if old.sub == nil {
			if anySpelling {
				w.respelled(t, dir, dirty)
			}
			continue // its parent is dirty too, and reads it
		}
		st := w.check(dir, old)
		if names == nil || anySpelling && w.anyUnlisted(dir, names) {
			w.visit(dir, old, st, false)
			continue
		}
		for name := range names {
			path := Join(dir, name)
			if s.Skip(path) {
				continue
			}
			w.reported(path, old.sub.child(name))
		}
	}
	found, err := w.finish(t)
	if errors.Is(err, errWhole) {
		return s.Full(ctx, t)
	}
	return found, err
}

// anyUnlisted reports whether a directory does not list one of the names: it was removed, or the system reported another
// spelling of it.
func (w *walk) anyUnlisted(dir string, names map[string]bool) bool {
	for name := range names {
		if path := Join(dir, name); !w.Skip(path) && w.root.spelled(w.root, path) != nil {
			return true
		}
	}
	return false
}

// respelled compares everything below the nearest directory that the tree has, unless the directory is a new one, which its
// parent reads.
func (w *walk) respelled(t *Tree, dir string, dirty Dirty) {
	for {
		parent := Parent(dir)
		if n := t.find(parent); n.sub != nil {
			names, reported := dirty[parent]
			if isNew := w.Skip(dir) || reported && (names == nil || names[Base(dir)]) && w.root.spelled(w.root, dir) == nil; !isNew {
				w.visit(parent, n, w.check(parent, n), true)
			}
			return
		}
		dir = parent
	}
}

// Found is what a scan found.
type Found struct {
	Changes  []Change
	Problems []Problem
	// Differs are the files of which [Scanner].Dir, a copy, has another content or time.
	Differs []string
	nodes   []suspect
}

// walk is one scan. Directories are read in parallel.
type walk struct {
	*Scanner
	ctx      context.Context
	root     *root
	live     *root // nil where root is no copy
	progress *Progress
	some     bool // only some paths are compared
	idle     bool // no path is
	// moving are directories of which not everything may be known.
	moving []string

	mu       sync.Mutex
	differs  map[string]bool // see [Found].Differs
	suspects []suspect
	unlisted map[string]error // directories that could not be listed
	listings map[string]listing
	vanished map[string]bool // directories that were gone when they were to be listed
	err      error
	pending  sync.WaitGroup
	slots    chan struct{}
}

func (s *Scanner) begin(ctx context.Context) (*walk, error) {
	r, err := openRoot(s.Dir)
	if err != nil {
		return nil, err
	}
	w := &walk{Scanner: s, ctx: ctx, root: r, differs: map[string]bool{}, unlisted: map[string]error{}, listings: map[string]listing{}, vanished: map[string]bool{}, progress: cmp.Or(s.Progress, &Progress{}), slots: make(chan struct{}, 2*runtime.GOMAXPROCS(0))}
	return w, w.openLive()
}

func (w *walk) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = err
	}
}

func (w *walk) suspect(path string, old ref) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.suspects = append(w.suspects, suspect{path: path, old: old})
}

// check compares a directory itself.
func (w *walk) check(path string, old ref) Stat {
	st, err := w.root.stat(path)
	if err != nil || !old.node().clean(st) {
		w.suspect(path, old)
	}
	return st
}

// visit compares what is in a directory, of which its path has said st. With deep, directories in it are visited too.
func (w *walk) visit(path string, old ref, st Stat, deep bool) {
	if w.ctx.Err() != nil {
		w.fail(w.ctx.Err())
		return
	}
	d, names, err := w.list(path, st)
	if err != nil {
		if gone(err) {
			return // its parent's scan says so
		}
		w.suspect(path, old)
		w.mu.Lock()
		defer w.mu.Unlock()
		w.unlisted[path] = err
		return
	}
	defer d.close()
	w.progress.found.Add(int64(len(names)))
	slices.Sort(names)
	known := old.sub.cursor()
	more := known.next()
	for _, name := range names {
		for ; more && known.name < name; more = known.next() {
			w.suspect(Join(path, known.name), known.ref)
		}
		var was ref
		if more && known.name == name {
			was = known.ref
			more = known.next()
		}
		child := Join(path, name)
		if w.Skip(child) {
			if was.is() { // it was not skipped before
				w.suspect(child, was)
			}
			continue
		}
		if w.believes(d, name, was) {
			continue
		}
		st, err := d.stat(name)
		w.compare(child, was, st, err, deep)
	}
	for ; more; more = known.next() {
		w.suspect(Join(path, known.name), known.ref)
	}
}

// believes reports whether a file is unchanged by what its directory lists.
func (w *walk) believes(d *directory, name string, was ref) bool {
	if !w.Listed || !was.is() {
		return false
	}
	st, ok := d.listed(name)
	if !ok || st.Kind != File {
		return false
	}
	var n Node
	n.unpack(was.record)
	st.Links = 1 // of a file with several names, each is opened
	return n.clean(st) && w.Clock().Sub(time.Unix(0, max(st.Mtime, st.Ctime))) > settled
}

// reported compares a path that may have changed. One of several names of a file is read again in any case: it may have been
// read after the change, and the other names before.
func (w *walk) reported(path string, old ref) {
	st, err := w.root.stat(path)
	w.compare(path, old, st, err, false)
	if err == nil && st.Kind == File && st.Links > 1 {
		w.suspect(path, old)
	}
}

func (w *walk) compare(path string, old ref, st Stat, err error, deep bool) {
	if err != nil {
		if old.is() || !gone(err) {
			w.suspect(path, old)
		}
		return
	}
	if !old.is() && st.Kind == 0 {
		return // a socket, a pipe, a device
	}
	var was Node
	if old.is() {
		was.unpack(old.record)
	}
	if !old.is() || !was.clean(st) {
		w.suspect(path, old)
	}
	if st.Kind != Dir {
		return
	}
	// A directory that is new, another one of the same name, or one that could not be listed, is read whole.
	if deep || was.Kind != Dir || was.Inode != st.Inode || was.Unread != "" {
		w.descend(path, old, st)
	}
}

// descend visits a directory, in another goroutine if one is free.
func (w *walk) descend(path string, old ref, st Stat) {
	select {
	case w.slots <- struct{}{}:
		w.pending.Go(func() {
			defer func() { <-w.slots }()
			w.visit(path, old, st, true)
		})
	default:
		w.visit(path, old, st, true)
	}
}

// finish reads the suspects, and returns what is different.
func (w *walk) finish(t *Tree) (*Found, error) {
	w.pending.Wait()
	if w.err != nil {
		return nil, w.err
	}
	// A directory before what is in it, and each path once: a path may be dirty itself and with its directory. Contents that
	// are read one after the other are stored together.
	w.sort()
	if err := w.inspectAll(w.suspects); err != nil {
		return nil, err
	}
	for round, done := 1, false; !done; round++ {
		if others := w.otherNames(t); len(others) > 0 {
			if err := w.inspectAll(others); err != nil {
				return nil, err
			}
			w.suspects = append(w.suspects, others...)
			w.sort()
		}
		err := w.agree()
		if err == nil {
			done, err = w.complete(t, round)
		}
		if err != nil {
			return nil, err
		}
	}
	found := &Found{Differs: w.differing(), nodes: slices.DeleteFunc(w.suspects, func(s suspect) bool { return s.node == nil && !s.old.is() })}
	w.suspects = nil
	reported := map[string]bool{} // a directory may be suspect for itself and for its list
	for i := range found.nodes {
		s := &found.nodes[i]
		if s.node != nil && s.node.Unread != "" && !reported[s.path] {
			reported[s.path] = true
			found.Problems = append(found.Problems, Problem{Path: s.path, Reason: s.node.Unread})
		}
	}
	for _, path := range w.moving {
		found.Problems = append(found.Problems, Problem{Path: path, Reason: renaming})
	}
	found.changes(t)
	return found, nil
}

// sort puts each suspect once, a directory before what is in it.
func (w *walk) sort() {
	slices.SortFunc(w.suspects, func(a, b suspect) int { return order(a.path, b.path) })
	w.suspects = slices.CompactFunc(w.suspects, func(a, b suspect) bool { return a.path == b.path })
}

// inspectAll reads what is at the paths of suspects.
func (w *walk) inspectAll(suspects []suspect) error {
	// More readers than processors, because some of them wait for the disk.
	w.progress.to.Add(int64(len(suspects)))
	work := make(chan *suspect)
	var readers sync.WaitGroup
	for range min(cap(w.slots), max(1, len(suspects))) {
		readers.Go(func() {
			for s := range work {
				var err error
				if s.node, err = w.inspect(s.path); err != nil {
					w.fail(fmt.Errorf("%s: %w", s.path, err))
				}
				w.progress.read.Add(1)
			}
		})
	}
	for i := range suspects {
		if w.ctx.Err() != nil {
			break
		}
		work <- &suspects[i]
	}
	close(work)
	readers.Wait()
	return cmp.Or(w.err, w.ctx.Err())
}

// changes fills in Changes, once for each path, with what disappeared together with its directory.
func (f *Found) changes(t *Tree) {
	f.Changes = make([]Change, 0, len(f.nodes)) // the first scan of a large directory fills it
	add := func(c Change) { f.Changes = append(f.Changes, c) }
	below := func(path string, r ref) {
		each(path, r, func(p string, r ref) bool {
			if p != path {
				add(Change{Path: p, Before: r.entry()})
			}
			return true
		})
	}
	for i := range f.nodes {
		s := &f.nodes[i]
		old := s.old.entry()
		switch {
		case old == nil:
			add(Change{Path: s.path, After: &s.node.Entry})
		case s.node == nil:
			add(Change{Path: s.path, Before: old})
			below(s.path, s.old)
		default:
			if !old.Same(&s.node.Entry) {
				add(Change{Path: s.path, Before: old, After: &s.node.Entry})
			}
			if old.Kind == Dir && s.node.Kind != Dir {
				below(s.path, s.old)
			}
		}
	}
	// What disappeared with its directory may also be a suspect, which comes after it.
	compare := func(a, b Change) int { return order(a.Path, b.Path) }
	if !slices.IsSortedFunc(f.Changes, compare) {
		slices.SortStableFunc(f.Changes, compare)
	}
	f.Changes = slices.CompactFunc(f.Changes, func(a, b Change) bool { return a.Path == b.Path })
	f.orphans(t)
}

// orphans drops entries whose directory vanished between its listing and their reading.
func (f *Found) orphans(t *Tree) {
	dirs := map[string]bool{}
	is := func(dir string) bool {
		if is, ok := dirs[dir]; ok {
			return is
		}
		return t.find(dir).sub != nil
	}
	lost := map[string]bool{}
	for _, s := range f.nodes { // sorted: a directory comes before what is in it
		switch {
		case s.path != "" && s.node != nil && !is(Parent(s.path)):
			lost[s.path] = true
			dirs[s.path] = false
		default:
			isDir := s.node != nil && s.node.Kind == Dir
			if isDir || s.old.is() { // of others the tree knows no directory
				dirs[s.path] = isDir
			}
			if !isDir && s.old.is() {
				each(s.path, s.old, func(p string, _ ref) bool { dirs[p] = false; return true })
			}
		}
	}
	if len(lost) == 0 {
		return
	}
	f.nodes = slices.DeleteFunc(f.nodes, func(s suspect) bool { return lost[s.path] })
	f.Changes = slices.DeleteFunc(f.Changes, func(c Change) bool { return lost[c.Path] && c.Before == nil })
}

// Accept makes the tree what a scan of it found, including stats that differ without a change.
func (t *Tree) Accept(f *Found) error {
	nodes := f.nodes
	f.nodes = nil
	return t.put(func(yield func(string, *Node) bool) {
		for i := range nodes {
			if !yield(nodes[i].path, nodes[i].node) {
				return
			}
		}
	})
}

// inspect reads what is at a path. It returns nil if nothing is there that has a content.
func (w *walk) inspect(path string) (*Node, error) {
	if path != "" && w.Skip(path) {
		return nil, nil
	}
	for try := 1; ; try++ {
		st, err := w.root.stat(path)
		if gone(err) {
			return nil, nil
		}
		if err != nil {
			return &Node{Entry: Entry{Kind: File, Unread: reason(err)}}, nil
		}
		n := &Node{Entry: Entry{Kind: st.Kind, Mode: st.Mode, Mtime: st.Mtime}, Ctime: st.Ctime, Inode: st.Inode, Racy: racy(w.Clock(), st)}
		switch st.Kind {
		case Link:
			n.Target, err = w.root.readlink(path)
			if after, gone := w.root.stat(path); err == nil && (gone != nil || after != st) {
				err = errors.New(changed)
			}
			if err != nil {
				if try < tries {
					continue // it became something else
				}
				n.Unread = reason(err)
			}
			return n, nil
		case Dir:
			n.Xattrs, _ = w.root.xattrs(path)
			// The time of a directory changes with what is in it, which other nodes have.
			if after, err := w.root.stat(path); try < tries && (err != nil || after.Inode != st.Inode || after.Mode != st.Mode) {
				continue
			}
			if err := w.unlisted[path]; err != nil {
				n.Unread = "it cannot be listed: " + reason(err)
			}
			return n, nil
		case File:
			again, err := w.readFrom(w.root, path, n, st, try)
			if err == nil && !again && w.live != nil && (n.Racy || w.stale(path, st)) {
				err = w.settle(path, n, st)
			}
			if err != nil {
				return nil, err
			}
			if !again {
				return n, nil
			}
		default:
			return nil, nil
		}
	}
}

// errStore marks an error of the store, which ends a scan. Errors of one file do not.
type errStore struct{ error }

func (e errStore) Unwrap() error { return e.error }

// StoreError wraps an error that ends the scan instead of being reported for one file.
func StoreError(err error) error { return errStore{err} }

// reason is an error without the path, which its reader knows.
func reason(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return err.Error()
}

func gone(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNotDir) }
