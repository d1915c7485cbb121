package filechanges_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/filechanges"
)

const root = "/srv/shop"

func change(kind, path string) *event.FileChange {
	return &event.FileChange{Head: event.Head{Subject: event.InWorkspace(root)}, Change: kind, Path: path}
}

func counted(e *event.FileChange, added, removed int) *event.FileChange {
	e.Added, e.Removed, e.Counted = added, removed, true
	return e
}

func renamed(from, path string) *event.FileChange {
	e := change(event.FileRenamed, path)
	e.From = from
	return e
}

func compose(events ...*event.FileChange) []filechanges.Change {
	var c filechanges.Composer
	for i, e := range events {
		c.Add(uint64(i+1), e)
	}
	return c.Changes()
}

// line is a change in a few words.
func line(d filechanges.Change) string {
	s := d.Kind + " " + d.Path
	if d.From != "" {
		s += " from " + d.From
	}
	if d.Counted {
		s += fmt.Sprintf(" +%d -%d", d.Added, d.Removed)
	}
	return s
}

func TestConsecutiveChangesAreOne(t *testing.T) {
	known := func(e *event.FileChange, before, after uint64) *event.FileChange {
		e.Before, e.After = before, after
		return e
	}
	for name, c := range map[string]struct {
		events []*event.FileChange
		want   []string
	}{
		"added, then removed":       {[]*event.FileChange{counted(change("added", "a"), 3, 0), counted(change("removed", "a"), 0, 3)}, nil},
		"added, then modified":      {[]*event.FileChange{counted(change("added", "a"), 3, 0), counted(change("modified", "a"), 2, 1)}, []string{"added a +4 -0"}},
		"modified, then removed":    {[]*event.FileChange{counted(change("modified", "a"), 5, 1), counted(change("removed", "a"), 0, 14)}, []string{"removed a +0 -10"}},
		"modified twice":            {[]*event.FileChange{counted(change("modified", "a"), 5, 1), counted(change("modified", "a"), 1, 5)}, []string{"modified a +6 -6"}},
		"modified and back":         {[]*event.FileChange{known(counted(change("modified", "a"), 5, 1), 1, 2), known(counted(change("modified", "a"), 1, 5), 2, 1)}, nil},
		"removed, then added":       {[]*event.FileChange{counted(change("removed", "a"), 0, 7), counted(change("added", "a"), 2, 0)}, []string{"modified a +2 -7"}},
		"one change without counts": {[]*event.FileChange{counted(change("modified", "a"), 5, 1), change("modified", "a")}, []string{"modified a"}},
		"renamed twice":             {[]*event.FileChange{counted(renamed("a", "b"), 0, 0), counted(renamed("b", "c"), 2, 1)}, []string{"renamed c from a +2 -1"}},
		"renamed and back":          {[]*event.FileChange{known(renamed("a", "b"), 1, 1), known(renamed("b", "a"), 1, 1)}, nil},
		"renamed and back, by a recorder that knows no states": {[]*event.FileChange{renamed("a", "b"), renamed("b", "a")}, []string{"modified a"}},
		"added, then renamed":   {[]*event.FileChange{counted(change("added", "a"), 3, 0), counted(renamed("a", "b"), 1, 0)}, []string{"added b +4 -0"}},
		"renamed, then removed": {[]*event.FileChange{counted(renamed("a", "b"), 1, 0), counted(change("removed", "b"), 0, 4)}, []string{"removed a +0 -3"}},
		"renamed, and another file in its place": {
			[]*event.FileChange{counted(renamed("a", "b"), 0, 0), counted(change("added", "a"), 1, 0)}, []string{"modified a", "added b"},
		},
		"renamed over another file":  {[]*event.FileChange{counted(change("modified", "b"), 1, 1), counted(renamed("a", "b"), 0, 0)}, []string{"removed a", "modified b"}},
		"a file becomes a directory": {[]*event.FileChange{counted(change("removed", "a"), 0, 1), counted(change("added", "a/b"), 2, 0)}, []string{"removed a +0 -1", "added a/b +2 -0"}},
	} {
		var got []string
		for _, d := range compose(c.events...) {
			got = append(got, line(d))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestAChangeNamesThoseWhoMadeIt(t *testing.T) {
	var events []*event.FileChange
	for _, by := range []string{"Edit", "", "npm ci", "Edit", "you", "git", "make"} {
		e := change(event.FileModified, "a")
		e.By = by
		events = append(events, e)
	}
	d := compose(events...)[0]
	if !slices.Equal(d.By, []string{"Edit", "npm ci", "you", "…"}) || d.Times != 7 || !slices.Equal(d.Positions, []uint64{1, 2, 3, 4, 5, 6, 7}) {
		t.Errorf("%+v", d)
	}
}

func TestTheSamePathInAnotherWorkspaceIsAnotherFile(t *testing.T) {
	other := change(event.FileRemoved, "a")
	other.Subject = event.InWorkspace("/srv/other")
	if got := compose(change(event.FileAdded, "a"), other); len(got) != 2 || got[0].Root != "/srv/other" || got[1].Kind != event.FileAdded {
		t.Errorf("%+v", got)
	}
}

// content is a version of a file in the model of the property test. A file keeps its number wherever it is moved.
type content struct {
	file  int
	id    uint64
	lines int
	// counts is false if lines of this file are never counted.
	counts bool
}

// model is a workspace that records what is done to it.
type model struct {
	files   map[string]content
	events  []*event.FileChange
	last    int
	states  []map[string]content // before each event, and after the last one
	knows   bool                 // whether events identify states
	counted func() bool
}

func (m *model) record(e *event.FileChange, before, after content) {
	if m.knows {
		e.Before, e.After = before.id, after.id
	}
	if e.Counted = before.counts || after.counts; !e.Counted {
		e.Added, e.Removed = 0, 0
	}
	m.events = append(m.events, e)
	m.states = append(m.states, maps.Clone(m.files))
}

// next is another version of a file. There are few, so that a file is often as it was.
func (m *model) next(t *rapid.T, c content) (content, int, int) {
	removed := rapid.IntRange(0, c.lines).Draw(t, "removed lines")
	added := rapid.IntRange(0, 4).Draw(t, "added lines")
	n := content{c.file, 0, c.lines - removed + added, c.counts}
	n.id = uint64(1 + c.file*100 + n.lines) // the same number of lines is the same content
	return n, added, removed
}

// step does something to the workspace.
func (m *model) step(t *rapid.T) {
	path := rapid.SampledFrom([]string{"a", "b", "c", "d/e", "d/f", "d/g/h"}).Draw(t, "path")
	old, exists := m.files[path]
	if !exists {
		m.last++
		c, added, _ := m.next(t, content{file: m.last, counts: m.counted()})
		m.files[path] = c
		m.record(counted(change(event.FileAdded, path), added, 0), content{counts: c.counts}, c)
		return
	}
	switch rapid.IntRange(0, 3).Draw(t, "what") {
	case 0:
		delete(m.files, path)
		m.record(counted(change(event.FileRemoved, path), 0, old.lines), old, content{counts: old.counts})
	case 1:
		to := path + rapid.SampledFrom([]string{".ts", ".go"}).Draw(t, "to")
		if to = rapid.SampledFrom([]string{to, "a", "b", "d/e"}).Draw(t, "or to"); to == path {
			return
		}
		c, added, removed := old, 0, 0
		if rapid.Bool().Draw(t, "and edited") {
			c, added, removed = m.next(t, old)
		}
		if over, there := m.files[to]; there {
			delete(m.files, to)
			m.record(counted(change(event.FileRemoved, to), 0, over.lines), over, content{counts: over.counts})
		}
		delete(m.files, path)
		m.files[to] = c
		m.record(counted(renamed(path, to), added, removed), old, c)
	default:
		c, added, removed := m.next(t, old)
		m.files[path] = c
		m.record(counted(change(event.FileModified, path), added, removed), old, c)
	}
}

// TestChangesAreTheDifferenceOfTwoStates: random changes, and windows at random places.
func TestChangesAreTheDifferenceOfTwoStates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &model{files: map[string]content{}, knows: rapid.Bool().Draw(t, "states are known")}
		m.counted = func() bool { return rapid.IntRange(0, 4).Draw(t, "binary") > 0 }
		m.states = append(m.states, map[string]content{})
		for range rapid.IntRange(1, 40).Draw(t, "changes") {
			m.step(t)
		}
		from := rapid.IntRange(0, len(m.events)).Draw(t, "from")
		to := rapid.IntRange(from, len(m.events)).Draw(t, "to")
		before, after := m.states[from], m.states[to]
		touched := map[string]bool{}
		for _, e := range m.events[from:to] {
			touched[e.Path], touched[e.From] = true, true
		}
		got := maps.Clone(before)
		paths := map[string]bool{}
		changes := compose(m.events[from:to]...)
		for _, d := range changes {
			if paths[d.Path] || d.From != "" && paths[d.From] {
				t.Fatalf("two changes of one path: %q", d.Path)
			}
			paths[d.Path], paths[d.From] = true, true
			was, is := before[d.Path], after[d.Path]
			_, existed := before[d.Path]
			_, exists := after[d.Path]
			switch d.Kind {
			case event.FileAdded:
				if existed || !exists || d.Counted && (d.Added != is.lines || d.Removed != 0) {
					t.Fatalf("%s, which is %+v", line(d), is)
				}
			case event.FileRemoved:
				if !existed || exists || d.Counted && (d.Added != 0 || d.Removed != was.lines) {
					t.Fatalf("%s, which was %+v", line(d), was)
				}
			case event.FileModified:
				if !existed || !exists || m.knows && was.id == is.id || d.Counted && d.Added-d.Removed != is.lines-was.lines {
					t.Fatalf("%s, which was %+v and is %+v", line(d), was, is)
				}
			case event.FileRenamed:
				was, existed = before[d.From]
				if _, still := after[d.From]; !existed || still || !exists || was.file != is.file || d.Counted && d.Added-d.Removed != is.lines-was.lines {
					t.Fatalf("%s, which was %+v and is %+v", line(d), was, is)
				}
				delete(got, d.From)
			}
			if d.Counted && !(was.counts || !existed) || d.Counted && exists && !is.counts {
				t.Fatalf("lines that nobody counted: %s", line(d))
			}
			if got[d.Path] = is; !exists {
				delete(got, d.Path)
			}
			if !touched[d.Path] || d.Times == 0 || len(d.Positions) != d.Times {
				t.Fatalf("%s in %d changes at %v", line(d), d.Times, d.Positions)
			}
		}
		if !maps.Equal(got, after) {
			t.Fatalf("the changes make %+v of %+v, not %+v", got, before, after)
		}
	})
}

func TestFewChangesAreNotFolded(t *testing.T) {
	got, omitted := filechanges.Fold(compose(change("added", "src/a"), change("added", "src/b")), 2)
	if len(got) != 2 || omitted != 0 || got[0].Path != "src/a" || got[0].Files != 0 {
		t.Errorf("%+v, %d", got, omitted)
	}
	if got, omitted := filechanges.Fold(nil, 2); len(got) != 0 || omitted != 0 {
		t.Errorf("%+v, %d", got, omitted)
	}
}

// in adds files to a directory.
func in(dir string, n int) (events []*event.FileChange) {
	for i := range n {
		events = append(events, counted(change(event.FileAdded, fmt.Sprintf("%sf%02d", dir, i)), 2, 0))
	}
	return events
}

func folded(events []*event.FileChange, most int) (lines []string, omitted int) {
	entries, omitted := filechanges.Fold(compose(events...), most)
	for _, e := range entries {
		s := line(e.Change)
		if e.Files > 0 {
			s += fmt.Sprintf(" in %d files", e.Files)
		}
		lines = append(lines, s)
	}
	return lines, omitted
}

func TestDirectoriesStandForWhatIsInThem(t *testing.T) {
	for name, c := range map[string]struct {
		events  []*event.FileChange
		want    []string
		omitted int
	}{
		"the largest ones first": {
			slices.Concat(in("dist/assets/", 30), in("src/", 2), []*event.FileChange{change("modified", "go.mod")}),
			[]string{"added dist/assets/ +60 -0 in 30 files", "modified go.mod", "added src/f00 +2 -0", "added src/f01 +2 -0"},
			0,
		},
		"as deep as there is room": {
			slices.Concat(in("a/b/c/", 3), in("a/b/d/", 9), in("a/e/", 1)),
			[]string{"added a/b/c/f00 +2 -0", "added a/b/c/f01 +2 -0", "added a/b/c/f02 +2 -0", "added a/b/d/ +18 -0 in 9 files", "added a/e/f00 +2 -0"},
			0,
		},
		"what differs is modified": {
			slices.Concat(in("x/", 20), []*event.FileChange{counted(change("removed", "x/old"), 0, 7), counted(change("modified", "y"), 1, 1)}),
			[]string{"modified x/ +40 -7 in 21 files", "modified y +1 -1"},
			0,
		},
		"a count that is missing is missing in the sum": {
			slices.Concat(in("x/", 20), []*event.FileChange{change("added", "x/logo.png")}), []string{"added x/ in 21 files"}, 0,
		},
		"the newest at the top": {in("", 8), []string{"added f03 +2 -0", "added f04 +2 -0", "added f05 +2 -0", "added f06 +2 -0", "added f07 +2 -0"}, 3},
	} {
		got, omitted := folded(c.events, 5)
		if !slices.Equal(got, c.want) || omitted != c.omitted {
			t.Errorf("%s: %q, omitted %d", name, got, omitted)
		}
	}
}

func TestSeveralWorkspacesAreFoldedApart(t *testing.T) {
	events := slices.Concat(in("src/", 4), in("src/", 4), in("src/", 1))
	for i, e := range events {
		e.Subject = event.InWorkspace([]string{"/srv", "/srv/shop", "/srv/api"}[min(2, i/4)])
	}
	entries, _ := filechanges.Fold(compose(events...), 3)
	var got []string
	for _, e := range entries {
		got = append(got, e.Root+" "+e.Path)
	}
	if !slices.Equal(got, []string{"/srv/api src/f00", "/srv/shop src/", "/srv src/"}) {
		t.Errorf("%q", got)
	}
}

// TestFoldingCountsEverything: each change is in exactly one entry, or omitted.
func TestFoldingCountsEverything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var c filechanges.Composer
		for i := range rapid.IntRange(0, 80).Draw(t, "changes") {
			parts := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "a b", "a!", "é"}), 1, 5).Draw(t, "path")
			e := change(event.FileAdded, strings.Join(parts, "/"))
			e.Subject = event.InWorkspace(rapid.SampledFrom([]string{"/srv", "/srv/a"}).Draw(t, "root"))
			c.Add(uint64(i+1), e)
		}
		changes := c.Changes()
		most := rapid.IntRange(1, 20).Draw(t, "most")
		entries, omitted := filechanges.Fold(changes, most)
		if len(entries) > most {
			t.Fatalf("%d entries, at most %d", len(entries), most)
		}
		covered := map[int]bool{}
		for _, e := range entries {
			n := 0
			for i, d := range changes {
				inside := e.Files > 0 && (e.Path == "./" || strings.HasPrefix(d.Path, e.Path)) || e.Files == 0 && d.Path == e.Path
				if d.Root == e.Root && inside {
					n++
					if covered[i] {
						t.Fatalf("%s is in two entries", d.Path)
					}
					covered[i] = true
				}
			}
			if n != max(1, e.Files) {
				t.Fatalf("%s: %d files, has %d", e.Path, e.Files, n)
			}
		}
		if len(covered)+omitted != len(changes) {
			t.Fatalf("%d covered and %d omitted of %d", len(covered), omitted, len(changes))
		}
	})
}
