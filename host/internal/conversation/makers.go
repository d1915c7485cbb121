package conversation

import (
	"cmp"
	"math"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/lazyregexp"
)

// mtimeSlack is how far the time of a file may be from the call that wrote it.
const mtimeSlack = 10 * time.Millisecond

// window returns the time in which a change of a file was made.
func window(change *event.FileChange) (from, to time.Time) {
	if change.Edited != 0 {
		at := time.UnixMilli(change.Edited)
		return at.Add(-mtimeSlack), at.Add(mtimeSlack)
	}
	return time.UnixMilli(change.Since), time.UnixMilli(change.At)
}

// Maker is a call that may have made a change of a file.
type Maker struct {
	Outline *Outline
	Call    *Called
	Turn    *Turn
}

// MakersOf returns the calls of conversations that may have made a change of a file. There is one if it is known, and several
// where calls overlap. Calls that name the file are preferred to commands, also to those of other conversations, and commands that
// write it by name to others. Where several calls have changed it since it was looked at, those that name it are all returned, also
// commands with its name in their text.
func MakersOf(outlines []*Outline, change *event.FileChange) []Maker {
	from, to := window(change)
	outlines = slices.DeleteFunc(slices.Clone(outlines), func(o *Outline) bool { return change.Place != o.Workspace || o.index == nil })
	paths := names(change)
	for _, o := range outlines {
		o.index.once.Do(func() { o.index.build(o) })
		if len(o.index.edits[paths[0]].during(from, to)) > 0 { // equal files are taken for one that was renamed
			paths = paths[:1]
		}
	}
	var edits, commands, earlier []Maker
	for _, o := range outlines {
		var mine, before []*span
		for _, name := range paths {
			mine = append(mine, o.index.edits[name].during(from, to)...)
			if change.Edited != 0 && change.Since != 0 {
				before = append(before, o.index.edits[name].during(time.UnixMilli(change.Since), to)...)
			}
		}
		ran := o.index.commands.during(from, to)
		edits, commands = o.makers(edits, mine), o.makers(commands, ran)
		if change.Edited != 0 && change.Since != 0 {
			for _, s := range o.index.commands.during(time.UnixMilli(change.Since), to) {
				if !slices.Contains(ran, s) && slices.ContainsFunc(paths, s.call.mentions) {
					before = append(before, s)
				}
			}
		}
		// A call that ended after the last look at the file may have changed it too, before what wrote it last. Where it began before
		// the look, that may have been before or after.
		earlier = o.makers(earlier, slices.DeleteFunc(before, func(s *span) bool {
			return s.end <= time.UnixMilli(change.Since).UnixNano() || slices.Contains(mine, s)
		}))
	}
	if len(edits) == 0 {
		if edits = writersOf(commands, paths); len(edits) == 0 {
			edits = append(commands, lateOf(outlines, paths, len(commands) > 0, from, to)...)
		}
	}
	edits = append(earlier, edits...)
	slices.SortStableFunc(edits, func(a, b Maker) int { return a.Call.Started.Compare(b.Call.Started.Time) })
	return edits
}

// writersOf returns the commands that write a file by name.
func writersOf(commands []Maker, paths []string) (writers []Maker) {
	for _, m := range commands {
		if slices.ContainsFunc(paths, func(name string) bool { return m.Call.writesTo(m.Outline.Workspace, name) }) {
			writers = append(writers, m)
		}
	}
	return writers
}

// writesTo reports whether a command writes a file of a workspace by name.
func (c *Called) writesTo(workspace, file string) bool {
	return slices.ContainsFunc(c.written, func(name string) bool {
		name = filepath.FromSlash(name)
		if c.roams && !filepath.IsAbs(name) {
			name = event.FilePath(path.Clean(filepath.ToSlash(name)))
			return name == file || strings.HasSuffix(file, "/"+name)
		}
		if !filepath.IsAbs(name) {
			name = filepath.Join(c.dir, name)
		}
		rel, err := filepath.Rel(workspace, name)
		return err == nil && event.FilePath(filepath.ToSlash(rel)) == file
	})
}

// lateHook is how long after a call its hook may report it on a busy machine.
const lateHook = 5 * time.Second

// lateOf returns the calls that name a file and may have run in a span of time if their hooks were late. Beside others that ran
// then, these are calls that the agent is known to have wanted, and commands that write the file by name.
func lateOf(outlines []*Outline, paths []string, others bool, from, to time.Time) (late []Maker) {
	for _, o := range outlines {
		ofPaths := func(names func(string) bool) bool { return slices.ContainsFunc(paths, names) }
		var found []*span
		for _, name := range paths {
			edits, _ := o.index.edits[name].overlapping(from, to.Add(lateHook))
			found = append(found, edits...)
		}
		ran, _ := o.index.commands.overlapping(from, to.Add(lateHook))
		for _, s := range ran {
			if ofPaths(func(name string) bool { return s.call.writesTo(o.Workspace, name) }) || !others && ofPaths(s.call.mentions) {
				found = append(found, s)
			}
		}
		late = o.makers(late, slices.DeleteFunc(found, func(s *span) bool {
			return s.begin <= to.UnixNano() || s.asked > to.UnixNano() || s.asked == 0 && others
		}))
	}
	return late
}

// mentions reports whether the text of a command has the name of a file.
func (c *Called) mentions(file string) bool {
	name := path.Base(file)
	for rest := c.Command; ; {
		before, after, found := strings.Cut(rest, name)
		if !found {
			return false
		}
		r, _ := utf8.DecodeLastRuneInString(before)
		next, _ := utf8.DecodeRuneInString(after)
		if !inName(r) && !inName(next) {
			return true
		}
		rest = after
	}
}

// inName reports whether a character beside a name makes it a part of another one.
func inName(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' || r == '-' || r == '.')
}

// makers appends spans in the order of the outline, each once.
func (o *Outline) makers(all []Maker, found []*span) []Maker {
	slices.SortFunc(found, func(a, b *span) int { return a.at - b.at })
	for _, s := range slices.Compact(found) {
		all = append(all, Maker{o, s.call, s.turn})
	}
	return all
}

// tempName is the name under which Claude Code writes a file, before it gives it its own.
var tempName = lazyregexp.New(`^(.+)\.tmp\.\d+\.[0-9a-f]+$`)

// names returns the paths by which a call may have named a changed file.
func names(change *event.FileChange) (paths []string) {
	for _, path := range []string{change.Path, change.From} {
		if path == "" {
			continue
		}
		if m := tempName().FindStringSubmatch(path); m != nil {
			path = m[1]
		}
		if !slices.Contains(paths, path) {
			paths = append(paths, path)
		}
	}
	return paths
}

// index finds the calls of an outline that ran in a span of time, without a walk over all of them.
type index struct {
	once sync.Once
	// edits are the calls that name a file, by its path in the workspace. Commands are those that name none.
	edits    map[string]*spans
	commands *spans
}

func (x *index) build(o *Outline) {
	x.edits, x.commands = map[string]*spans{}, &spans{}
	at := 0
	o.All(func(t *Turn, c *Called) {
		at++
		if c.Outcome == NotPermitted {
			return
		}
		s := &c.spanned
		s.turn, s.at = t, at
		if Runs(c.Tool) {
			x.commands.add(s)
		}
		if !c.Edits {
			return
		}
		for _, p := range c.Paths(o.Workspace) {
			if x.edits[p] == nil {
				x.edits[p] = &spans{}
			}
			x.edits[p].add(s)
		}
	})
	x.commands.arrange()
	for _, s := range x.edits {
		s.arrange()
	}
}

// spans are spans in the order of their beginnings. Latest is a tree of the latest ends: the two below node n are 2n and 2n+1.
type spans struct {
	list   []*span
	latest []int64
}

func (s *spans) add(one *span) { s.list = append(s.list, one) }

func (s *spans) arrange() {
	slices.SortStableFunc(s.list, func(a, b *span) int { return cmp.Compare(a.begin, b.begin) })
	leaves := 1
	for leaves < len(s.list) {
		leaves *= 2
	}
	s.latest = slices.Repeat([]int64{math.MinInt64}, 2*leaves)
	for i, one := range s.list {
		s.latest[leaves+i] = one.end
	}
	for n := leaves - 1; n > 0; n-- {
		s.latest[n] = max(s.latest[2*n], s.latest[2*n+1])
	}
}

// during returns the spans that overlap a span of time: those that likely do, or else those that may.
func (s *spans) during(from, to time.Time) []*span {
	found, _ := s.overlapping(from, to)
	unlikely := func(one *span) bool { return one.likely > to.UnixNano() }
	if slices.ContainsFunc(found, func(one *span) bool { return !unlikely(one) }) {
		found = slices.DeleteFunc(found, unlikely)
	}
	return found
}

// overlapping returns the spans that overlap a span of time, and how many nodes of the tree it looked at. The work grows with
// what it returns, and with the logarithm of what there is.
func (s *spans) overlapping(from, to time.Time) (found []*span, looked int) {
	if s == nil || len(s.list) == 0 {
		return nil, 0
	}
	begun, _ := slices.BinarySearchFunc(s.list, to.UnixNano()+1, func(one *span, at int64) int { return cmp.Compare(one.begin, at) })
	leaves, least := len(s.latest)/2, from.UnixNano()
	var look func(n, first, size int)
	look = func(n, first, size int) {
		looked++
		switch {
		case first >= begun || s.latest[n] < least:
		case n >= leaves:
			found = append(found, s.list[first])
		default:
			look(2*n, first, size/2)
			look(2*n+1, first+size/2, size/2)
		}
	}
	look(1, 0, leaves)
	return found, looked
}
