// Package filechanges turns consecutive changes of files into the difference of two moments, and folds it by directory.
//
// Guarantees:
//   - There is a [Change] for each path that differs between the two moments, and for no other. A file that came and went
//     is none. A file that is again as it was is none if its states are known.
//   - Counts of lines are those of the difference, or the sum of several changes of one file, or unknown.
//   - The same input gives the same result. It needs no clock, no files and no network.
package filechanges

import (
	"cmp"
	"slices"

	"tidemark.dev/tidemark/host/internal/event"
)

// Change is the difference of a path between two moments.
type Change struct {
	// Root is that of the workspace.
	Root, Path string
	// Kind is [event.FileAdded] or another change. A renamed file was at From, where there is no file any more.
	Kind, From string
	// Added and Removed count lines where Counted is true. Those of a modified or renamed file are the sum over all its
	// changes.
	Added, Removed int
	Counted        bool
	Binary         bool
	// By are those who made the changes, in the order of their first one. "…" stands for those after [MaxBy].
	By []string
	// Positions are those of the changes that it is made of, oldest first, and only the newest [MaxPositions].
	Positions []uint64
	// Times counts all of them.
	Times int
}

// MaxPositions bounds the positions of a [Change], MaxBy those who made it.
const (
	MaxPositions = 100
	MaxBy        = 3
)

// place identifies a path.
type place struct{ root, path string }

// file is a file on its way through the window.
type file struct {
	// origin is where it was at the beginning, nil for a file that came later.
	origin *state
	// at is where it is now.
	at *state
	// id identifies its content and mode, 0 where they are not known.
	id uint64
	// added and removed are the sums over all changes. They are meaningless once uncounted is set.
	added, removed int
	uncounted      bool
	binary         bool
	// gone is true for a file that was removed.
	gone  bool
	trail trail
}

// add adds a change.
func (f *file) add(pos uint64, e *event.FileChange) {
	f.added, f.removed = f.added+max(0, e.Added), f.removed+max(0, e.Removed)
	f.uncounted = f.uncounted || !e.Counted
	f.binary, f.id = e.Binary, e.After
	f.trail.join(&trail{[]string{e.By}, []uint64{pos}, 1})
}

// state is what is known of one path.
type state struct {
	place
	// was is the file that was there at the beginning, nil for none. Its content and mode were id.
	was *file
	id  uint64
	// now is the file that is there, nil for none.
	now *file
}

// trail is what changes were made.
type trail struct {
	by        []string
	positions []uint64
	times     int
}

// name adds who made a change, "" for nobody.
func (t *trail) name(by string) {
	switch {
	case by == "" || len(t.by) > MaxBy || slices.Contains(t.by, by):
	case len(t.by) == MaxBy:
		t.by = append(t.by, "…")
	default:
		t.by = append(t.by, by)
	}
}

// join adds the changes of another trail.
func (t *trail) join(o *trail) {
	t.times += o.times
	for _, by := range o.by {
		t.name(by)
	}
	if t.positions = append(t.positions, o.positions...); len(t.positions) > 4*MaxPositions {
		t.positions = t.newest()
	}
}

// newest returns the newest positions, oldest first.
func (t *trail) newest() []uint64 {
	list := slices.Compact(slices.Sorted(slices.Values(t.positions)))
	return list[max(0, len(list)-MaxPositions):]
}

// Composer composes changes. The zero value has none.
type Composer struct{ states map[place]*state }

// Add adds a change, in the order in which they happened.
func (c *Composer) Add(pos uint64, e *event.FileChange) {
	switch e.Change {
	case event.FileAdded:
		s := c.at(e, e.Path, false)
		s.overwrite()
		s.now = &file{at: s}
		s.now.add(pos, e)
	case event.FileRemoved:
		s := c.at(e, e.Path, true)
		s.now.add(pos, e)
		s.now.gone, s.now = true, nil
	case event.FileRenamed:
		from, to := c.at(e, e.From, true), c.at(e, e.Path, false)
		f := from.now
		from.now = nil
		to.overwrite()
		f.add(pos, e)
		to.now, f.at = f, to
	default: // modified, whatever of it
		c.at(e, e.Path, true).now.add(pos, e)
	}
}

// at returns the state of the path of a change. The first change says what was there at the beginning. A file exists
// where that is said, even if nothing said that it came.
func (c *Composer) at(e *event.FileChange, path string, exists bool) *state {
	p := place{e.Place, path}
	s := c.states[p]
	if s == nil {
		s = &state{place: p}
		if exists {
			s.was, s.id = &file{origin: s, at: s}, e.Before
			s.now = s.was
		}
		if c.states == nil {
			c.states = map[place]*state{}
		}
		c.states[p] = s
	}
	if exists && s.now == nil {
		s.now = &file{at: s, uncounted: true}
	}
	return s
}

// overwrite removes the file that is at the path, although nothing said so.
func (s *state) overwrite() {
	if s.now != nil {
		s.now.gone, s.now.uncounted, s.now = true, true, nil
	}
}

// Changes returns the difference, sorted by path.
func (c *Composer) Changes() []Change {
	var changes []Change
	for _, s := range c.states {
		if d, differs := s.change(); differs {
			changes = append(changes, d)
		}
	}
	slices.SortFunc(changes, func(a, b Change) int {
		return cmp.Or(cmp.Compare(a.Root, b.Root), cmp.Compare(a.Path, b.Path))
	})
	return changes
}

// change returns the difference of the path, false if there is none or a rename to another path says it.
func (s *state) change() (d Change, differs bool) {
	d.Root, d.Path = s.root, s.path
	was, now := s.was, s.now
	switch {
	case now == nil && (was == nil || was.isRenamed()):
		return d, false
	case now == nil:
		d.Kind, d.Binary = event.FileRemoved, was.binary
		d.lines(&file{}, was)
	case was == nil:
		d.Kind = event.FileAdded
		switch {
		case now.origin == nil:
			d.lines(now, &file{gone: true})
		case now.isRenamed():
			d.Kind, d.From = event.FileRenamed, now.origin.path
			d.sum(now)
		}
	default:
		d.Kind = event.FileModified
		switch {
		case s.id != 0 && s.id == now.id:
			return d, false
		case was == now:
			d.sum(now)
		case now.origin == nil:
			d.lines(now, was)
		}
	}
	var by trail
	if was != nil {
		by.join(&was.trail)
	}
	if now != nil && now != was {
		by.join(&now.trail)
	}
	if now != nil {
		d.Binary = now.binary
	}
	d.By, d.Positions, d.Times = by.by, by.newest(), by.times
	return d, true
}

// isRenamed reports whether a file is at a path where none was at the beginning, and none is where it was.
func (f *file) isRenamed() bool {
	return !f.gone && f.origin != nil && f.origin.now == nil && f.at.was == nil
}

// sum counts all lines that changes of a file added and removed.
func (d *Change) sum(f *file) {
	if d.Counted = !f.uncounted; d.Counted {
		d.Added, d.Removed = f.added, f.removed
	}
}

// lines counts the lines of a file that came and of one that was removed.
func (d *Change) lines(came, removed *file) {
	if d.Counted = removed.gone && !came.uncounted && !removed.uncounted; d.Counted {
		d.Added, d.Removed = max(0, came.added-came.removed), max(0, removed.removed-removed.added)
	}
}
