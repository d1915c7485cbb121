package variables

import (
	"hash/maphash"
	"time"
)

// Diff is the difference of two snapshots.
type Diff struct {
	// Removed are only in the first snapshot, Added only in the second. A value whose type changed is in both lists.
	Added, Removed []Entry
	// Modified have the same type and a different value.
	Modified []Entry
	// ThreadMismatch and FunctionMismatch are true if the snapshots are of different threads or functions.
	ThreadMismatch, FunctionMismatch bool
	// Elapsed is the time from the first to the second; negative if the second is older.
	Elapsed time.Duration
	// Unlike counts the objects whose fields only one snapshot has. They were not compared.
	Unlike int
	// Masked counts the secrets, Closed the objects compared by preview only, Cut the fields over the capture limit. All
	// of them can contain undetected changes.
	Masked, Closed, Cut int
}

// Entry is one change.
type Entry struct {
	Scope string
	// Nth distinguishes variables of one name and scope, by their order in the snapshot.
	Nth int
	// Path leads to the value: in the first snapshot for removed values, else in the second.
	Path Path
	// Old and New are the values; nil if there is none.
	Old, New *Value
	// Order has the old indexes of a reordered array, removed and added elements aside: element i of the second was
	// element Order[i] of the first.
	Order []int
}

// Empty reports whether all compared values are equal.
func (d *Diff) Empty() bool { return len(d.Added)+len(d.Removed)+len(d.Modified) == 0 }

// Compare returns the changes from one snapshot to another.
func Compare(from, to *Snapshot) *Diff {
	c := comparison{
		diff: &Diff{
			ThreadMismatch:   from.Thread != to.Thread,
			FunctionMismatch: from.Function != to.Function,
			Elapsed:          to.At.Sub(from.At),
		},
		seed: maphash.MakeSeed(), from: finder{in: from}, to: finder{in: to},
	}
	c.variables(from.Variables, to.Variables)
	a, b := from.Totals(), to.Totals()
	c.diff.Masked, c.diff.Closed, c.diff.Cut = max(a.Masked, b.Masked), max(a.Closed, b.Closed), max(a.Cut, b.Cut)
	return c.diff
}

type comparison struct {
	diff *Diff
	seed maphash.Seed
	// scope and nth identify the variable being compared.
	scope    string
	nth      int
	from, to finder
}

// step is one step of the two paths to the values being compared. Few of them are turned into a [Path].
type step struct {
	parent   *step
	old, new Key
	depth    int
}

func (s *step) path(next Key, old bool) Path {
	n := 1
	if s != nil {
		n += s.depth
	}
	p := make(Path, n)
	p[n-1] = next
	for ; s != nil; s = s.parent {
		p[s.depth-1] = s.new
		if old {
			p[s.depth-1] = s.old
		}
	}
	return p
}

// variable identifies a variable in a snapshot.
type variable struct {
	scope, name string
	nth         int
}

func (c *comparison) variables(from, to []Variable) {
	index := make(map[variable]*Value, len(from))
	seen := map[variable]int{}
	name := func(v *Variable) variable {
		id := variable{scope: v.Scope, name: v.Key.Name}
		n := seen[id]
		seen[id]++
		id.nth = n
		return id
	}
	for i := range from {
		index[name(&from[i])] = &from[i].Value
	}
	clear(seen)
	for i := range to {
		id := name(&to[i])
		c.scope, c.nth = id.scope, id.nth
		old := index[id]
		if old == nil {
			c.added(nil, &to[i].Value)
			continue
		}
		delete(index, id)
		c.value(nil, old, &to[i].Value)
	}
	clear(seen)
	for i := range from {
		id := name(&from[i])
		if index[id] != nil {
			c.scope, c.nth = id.scope, id.nth
			c.removed(nil, &from[i].Value)
		}
	}
}

func (c *comparison) added(at *step, v *Value) {
	c.diff.Added = append(c.diff.Added, Entry{Scope: c.scope, Nth: c.nth, Path: at.path(v.Key, false), New: v})
}

func (c *comparison) removed(at *step, v *Value) {
	c.diff.Removed = append(c.diff.Removed, Entry{Scope: c.scope, Nth: c.nth, Path: at.path(v.Key, true), Old: v})
}

func (c *comparison) modified(at *step, a, b *Value) {
	c.diff.Modified = append(c.diff.Modified, Entry{Scope: c.scope, Nth: c.nth, Path: at.path(b.Key, false), Old: a, New: b})
}

// value compares two values of the same name.
func (c *comparison) value(at *step, a, b *Value) {
	switch {
	case a.Masked && b.Masked && a.Text == b.Text:
		return
	case a.Type != b.Type:
		c.removed(at, a)
		c.added(at, b)
		return
	case a.Open && b.Open:
		c.fieldsOf(at, a.Key, b.Key, a, b)
		return
	}
	same := a.Identity == b.Identity && a.Identity != 0
	switch {
	case a.Reference != "" && b.Reference != "":
		if !same && (a.Identity != 0 && b.Identity != 0 || a.Reference != b.Reference) {
			c.modified(at, a, b)
		}
	case a.Reference != "" || b.Reference != "":
		c.reference(at, a, b, same)
	case a.Open != b.Open:
		c.diff.Unlike++
	case a.Text != b.Text || a.Hash != b.Hash || a.Length != b.Length || a.Masked != b.Masked || a.Size != b.Size:
		c.modified(at, a, b)
	case a.Type == "symbol" && !same && a.Identity != 0 && b.Identity != 0:
		c.modified(at, a, b) // a different symbol with the same description
	}
}

// reference compares two values, one of which is a reference to another place.
func (c *comparison) reference(at *step, a, b *Value, same bool) {
	x, y := a, b
	if a.Reference != "" {
		x = c.from.find(a.Identity)
	} else {
		y = c.to.find(b.Identity)
	}
	switch {
	case x == nil || y == nil:
		c.modified(at, a, b)
	case x.Open && y.Open:
		// Only the fields show whether anything changed.
		c.fieldsOf(at, a.Key, b.Key, x, y)
	case x.Open != y.Open:
		c.diff.Unlike++
	case !same && x.Text != y.Text:
		c.modified(at, a, b)
	}
}

func (s *step) level() int {
	if s == nil {
		return 0
	}
	return s.depth
}

// fieldsOf compares the fields of two objects with the keys old and new.
func (c *comparison) fieldsOf(at *step, old, new Key, a, b *Value) {
	next := &step{parent: at, old: old, new: new, depth: at.level() + 1}
	if a.Size != b.Size && (a.cut() > 0 || b.cut() > 0) {
		c.modified(at, a, b)
	}
	i, n := 0, min(len(a.Children), len(b.Children))
	for i < n && a.Children[i].Key == b.Children[i].Key && !a.Children[i].Key.ordered() {
		c.value(next, &a.Children[i], &b.Children[i])
		i++
	}
	if i == len(a.Children) && i == len(b.Children) {
		return
	}
	olds, news := a.Children[i:], b.Children[i:]
	if len(olds) > 0 && len(news) > 0 {
		olds, news = c.named(next, olds, news)
	}
	c.elements(at, next, a, b, olds, news)
}

// named compares the children that have names and returns the others.
func (c *comparison) named(at *step, olds, news []Value) (oldElements, newElements []Value) {
	split := func(all []Value) int {
		for i := range all {
			if all[i].Key.ordered() {
				return i
			}
		}
		return len(all)
	}
	// Elements are contiguous: those of an array before its other properties, entries after them.
	i, j := split(olds), split(news)
	ends := func(all []Value, from int) int {
		for from < len(all) && all[from].Key.ordered() {
			from++
		}
		return from
	}
	endOld, endNew := ends(olds, i), ends(news, j)
	index := make(map[Key]*Value, len(olds)-(endOld-i))
	rest := func(all []Value, from, to int, each func(*Value)) {
		for k := range all[:from] {
			each(&all[k])
		}
		for k := range all[to:] {
			each(&all[to+k])
		}
	}
	rest(olds, i, endOld, func(v *Value) { index[v.Key] = v })
	rest(news, j, endNew, func(v *Value) {
		if old := index[v.Key]; old != nil {
			delete(index, v.Key)
			c.value(at, old, v)
		} else {
			c.added(at, v)
		}
	})
	rest(olds, i, endOld, func(v *Value) {
		if index[v.Key] == v {
			c.removed(at, v)
		}
	})
	return olds[i:endOld], news[j:endNew]
}

// elements compares children that have only an index.
func (c *comparison) elements(at, next *step, a, b *Value, olds, news []Value) {
	if len(olds) == 0 || len(news) == 0 {
		for i := range olds {
			c.removed(next, &olds[i])
		}
		for i := range news {
			c.added(next, &news[i])
		}
		return
	}
	of, order := c.align(olds, news)
	// After the last common element, an element of only one list can have been cut from the other.
	certainOld, certainNew := 0, 0
	for i, o := range of {
		if o >= 0 {
			certainOld, certainNew = max(certainOld, o), i
		}
	}
	left := make([]bool, len(olds))
	for i, o := range of {
		switch {
		case o < 0 && (i < certainNew || a.cut() == 0):
			c.added(next, &news[i])
		case o < 0:
		default:
			left[o] = true
			c.value(next, &olds[o], &news[i])
		}
	}
	for i := range olds {
		if !left[i] && (i < certainOld || b.cut() == 0) {
			c.removed(next, &olds[i])
		}
	}
	if order != nil {
		c.diff.Modified = append(c.diff.Modified, Entry{Scope: c.scope, Nth: c.nth, Path: at.path(b.Key, false), Old: a, New: b, Order: order})
	}
}

// finder finds objects by identity.
type finder struct {
	in    *Snapshot
	index map[int64]*Value
}

func (f *finder) find(identity int64) *Value {
	if identity == 0 {
		return nil
	}
	if f.index == nil {
		f.index = map[int64]*Value{}
		for i := range f.in.Variables {
			f.add(&f.in.Variables[i].Value)
		}
	}
	return f.index[identity]
}

func (f *finder) add(v *Value) {
	if v.Identity != 0 && v.Reference == "" {
		f.index[v.Identity] = v
	}
	for i := range v.Children {
		f.add(&v.Children[i])
	}
}
