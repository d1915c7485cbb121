package filechanges

import (
	"cmp"
	"slices"
	"strings"

	"tidemark.dev/tidemark/host/internal/event"
)

// Entry is a change, or a directory that stands for the changes in it.
type Entry struct {
	Change
	// Files counts the changes, 0 for an entry that is one change. The path of a directory ends in "/", and is "./" for the
	// root of a workspace.
	Files int
}

// group is consecutive changes that have the beginning of their keys in common, up to a "/". A group of one is a change.
type group struct {
	list []keyed
	dir  int // the length of the beginning
}

// keyed is a change with the text that its directories are found by.
type keyed struct {
	key string
	*Change
}

// Fold returns the changes of [Composer.Changes] as at most a number of entries, in the order of their paths, and how
// many changes had no room. Directories stand for their content where there are more, and each for as few as possible.
// Only entries at the top can be without room: the newest changes stay.
func Fold(changes []Change, most int) (entries []Entry, omitted int) {
	if len(changes) == 0 {
		return nil, 0
	}
	list := make([]keyed, len(changes))
	several := slices.ContainsFunc(changes, func(c Change) bool { return c.Root != changes[0].Root })
	for i := range changes {
		c := &changes[i]
		list[i] = keyed{c.Path, c}
		if several { // then each workspace is a directory at the top
			list[i].key = strings.ReplaceAll(c.Root, "/", "\x00") + "/" + c.Path
		}
	}
	slices.SortFunc(list, func(a, b keyed) int { return cmp.Compare(a.key, b.key) })
	top := narrow(list)
	groups := []group{top}
	if len(list) <= most {
		groups = top.all()
	} else if top.dir == 0 {
		groups, omitted = newest(top.open(), most)
	}
	for len(list) > most {
		next, inside := -1, []group(nil)
		for i, g := range groups {
			if len(g.list) == 1 {
				continue
			}
			if opened := g.open(); len(groups)-1+len(opened) <= most && (next < 0 || len(opened) < len(inside)) {
				next, inside = i, opened
			}
		}
		if next < 0 {
			break
		}
		groups = slices.Replace(groups, next, next+1, inside...)
	}
	for _, g := range groups {
		entries = append(entries, g.entry(several))
	}
	return entries, omitted
}

// narrow returns a group with the longest beginning.
func narrow(list []keyed) group {
	first, last := list[0].key, list[len(list)-1].key
	n := 0
	for n < min(len(first), len(last)) && first[n] == last[n] {
		n++
	}
	return group{list, strings.LastIndexByte(first[:n], '/') + 1}
}

// all returns a group of each change.
func (g group) all() (groups []group) {
	for i := range g.list {
		groups = append(groups, group{g.list[i : i+1], 0})
	}
	return groups
}

// open returns what is in the directory.
func (g group) open() (groups []group) {
	for rest := g.list; len(rest) > 0; {
		name, _, isDir := strings.Cut(rest[0].key[g.dir:], "/")
		n := 1
		if isDir {
			beginning := rest[0].key[:g.dir+len(name)+1]
			for n < len(rest) && strings.HasPrefix(rest[n].key, beginning) {
				n++
			}
		}
		groups = append(groups, narrow(rest[:n]))
		rest = rest[n:]
	}
	return groups
}

// newest returns the groups with the newest changes, in their order, and how many changes the others have.
func newest(groups []group, most int) (kept []group, omitted int) {
	if len(groups) <= most {
		return groups, 0
	}
	last := func(g group) (pos uint64) {
		for _, c := range g.list {
			if n := len(c.Positions); n > 0 {
				pos = max(pos, c.Positions[n-1])
			}
		}
		return pos
	}
	order := slices.Clone(groups)
	slices.SortStableFunc(order, func(a, b group) int { return cmp.Compare(last(b), last(a)) })
	for _, g := range order[most:] {
		omitted += len(g.list)
	}
	kept = order[:most]
	slices.SortFunc(kept, func(a, b group) int { return cmp.Compare(a.list[0].key, b.list[0].key) })
	return kept, omitted
}

// entry returns the group as an entry. Keys begin with the workspace where there are several.
func (g group) entry(several bool) Entry {
	if len(g.list) == 1 {
		return Entry{Change: *g.list[0].Change}
	}
	first := g.list[0]
	e := Entry{Change: Change{Root: first.Root, Kind: first.Kind, Counted: true}, Files: len(g.list)}
	path := first.key[:g.dir]
	if several {
		_, path, _ = strings.Cut(path, "/")
	}
	e.Path = cmp.Or(path, "./")
	var of trail
	for _, c := range g.list {
		if c.Kind != e.Kind {
			e.Kind = event.FileModified
		}
		e.Added, e.Removed, e.Counted = e.Added+c.Added, e.Removed+c.Removed, e.Counted && c.Counted
		of.join(&trail{c.By, c.Positions, c.Times})
	}
	if !e.Counted {
		e.Added, e.Removed = 0, 0
	}
	e.By, e.Positions, e.Times = of.by, of.newest(), of.times
	return e
}
