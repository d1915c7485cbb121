package cause_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tidemark.dev/tidemark/host/internal/cause"
	"tidemark.dev/tidemark/host/internal/event"
)

// becomes is a change of a file from one content to another, 0 for no file, in a snapshot of its own.
func becomes(path string, at int64, before, after uint64, lines ...event.Run) cause.Edit {
	e := edit(path, at, lines...)
	e.Before, e.After, e.Snapshot = before, after, uint64(at)
	switch {
	case before == 0:
		e.Change = event.FileAdded
	case after == 0:
		e.Change, e.Edited = event.FileRemoved, 0
		e.At = at
	}
	return e
}

func renamed(from, path string, at int64, id uint64) cause.Edit {
	e := becomes(path, at, id, id)
	e.Change, e.From = event.FileRenamed, from
	return e
}

// TestAFileThatIsAsBeforeIsNoCause: it was changed and changed back before the page was loaded with it.
func TestAFileThatIsAsBeforeIsNoCause(t *testing.T) {
	loads := func(list ...int64) cause.History { return cause.History{Updates: list, Loads: list} }
	inLine := cause.Symptom{At: 10_400, Frames: frames("src/a.js", 3)}
	here := cause.Symptom{At: 10_400}
	for name, c := range map[string]struct {
		edits   []cause.Edit
		symptom cause.Symptom
		history cause.History
		want    string
	}{
		"changed": {
			[]cause.Edit{becomes("src/a.js", 9000, 1, 2, at(3))}, inLine, loads(1000, 10_300), "src/a.js:3 [stack order]",
		},
		"changed back": {
			[]cause.Edit{becomes("src/a.js", 9000, 1, 2, at(3)), becomes("src/a.js", 9500, 2, 1, at(3))}, inLine, loads(1000, 10_300), cause.NoChange,
		},
		"changed back, after a load in between": {
			[]cause.Edit{becomes("src/a.js", 5000, 1, 2, at(3)), becomes("src/a.js", 9500, 2, 1, at(3))}, inLine, loads(1000, 5300, 10_300), "src/a.js:3 [stack order]",
		},
		"changed to a third state": {
			[]cause.Edit{becomes("src/a.js", 9000, 1, 2, at(3)), becomes("src/a.js", 9500, 2, 3, at(3))}, inLine, loads(1000, 10_300), "src/a.js:3 [stack order]",
		},
		"another one was changed back": {
			[]cause.Edit{becomes("src/b.js", 8000, 1, 2, at(3)), becomes("src/a.js", 9000, 1, 2, at(3)), becomes("src/b.js", 9500, 2, 1, at(3))}, here, loads(1000, 10_300), "src/a.js:3 [order]",
		},
		"another one was changed": {
			[]cause.Edit{becomes("src/b.js", 8000, 1, 2, at(3)), becomes("src/a.js", 9000, 1, 2, at(3))}, here, loads(1000, 10_300), cause.NoEvidence,
		},
		"came and went": {
			[]cause.Edit{becomes("src/a.js", 9000, 0, 2), becomes("src/a.js", 9500, 2, 0)}, here, loads(1000, 10_300), cause.NoChange,
		},
		"went and came again": {
			[]cause.Edit{becomes("src/a.js", 9000, 2, 0), becomes("src/a.js", 9500, 0, 2)}, here, loads(1000, 10_300), cause.NoChange,
		},
		"moved there and back": {
			[]cause.Edit{renamed("src/a.js", "src/b.js", 9000, 5), renamed("src/b.js", "src/a.js", 9500, 5)}, here, loads(1000, 10_300), cause.NoChange,
		},
		"moved": {
			[]cause.Edit{renamed("src/b.js", "src/a.js", 9500, 5)}, here, loads(1000, 10_300), "src/a.js:0 [order]",
		},
		"settings were changed back": {
			[]cause.Edit{becomes(".env", 9000, 1, 2, at(1)), becomes(".env", 9500, 2, 1, at(1))}, here, loads(1000, 10_300), cause.NoChange,
		},
		"changed back, and a click follows": {
			[]cause.Edit{becomes("src/a.js", 5000, 1, 2, at(3)), becomes("src/a.js", 5500, 2, 1, at(3))},
			inLine,
			cause.History{Updates: []int64{1000, 6000}, Loads: []int64{1000, 6000}, Inputs: []int64{10_390}},
			cause.Existed,
		},
		"changed, and a click follows": {
			[]cause.Edit{becomes("src/a.js", 5000, 1, 2, at(3))},
			inLine,
			cause.History{Updates: []int64{1000, 6000}, Loads: []int64{1000, 6000}, Inputs: []int64{10_390}},
			"src/a.js:3 [stack]",
		},
		"a server's file was changed back": {
			[]cause.Edit{becomes("server.js", 9000, 1, 2, at(1)), becomes("server.js", 9500, 2, 1, at(1))},
			cause.Symptom{At: 10_400, Thrown: true, Status: 500},
			cause.History{Updates: []int64{1000}, Loads: []int64{1000}, Inputs: []int64{10_390}, Answers: []cause.Answer{{Span: cause.Span{Began: 8000, Ended: 8010}}}},
			cause.NoEvidence,
		},
	} {
		f := cause.Finder{Edits: c.edits}
		if got := told(f.Find(c.symptom, &c.history)); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// TestTheOrderNeedsAllChanges: a call edited a file since the page was without the error of which no change is recorded.
func TestTheOrderNeedsAllChanges(t *testing.T) {
	const elsewhere = "/home/me/lib/src/money.js"
	other := becomes("src/money.js", 1500, 1, 2)
	other.Subject = event.InWorkspace("/home/me/lib")
	for name, c := range map[string]struct {
		reported []string
		edits    []cause.Edit
		frames   []cause.Frame
		want     string
	}{
		"the file itself":          {[]string{"src/a.js"}, nil, nil, "src/a.js:3 [order]"},
		"by its whole path":        {[]string{root + "/src/a.js"}, nil, nil, "src/a.js:3 [order]"},
		"one that is excluded":     {[]string{"src/a.js", "gen/b.js"}, nil, nil, cause.NoEvidence},
		"one outside":              {[]string{"../lib/b.js"}, nil, nil, cause.NoEvidence},
		"one in another workspace": {[]string{elsewhere}, nil, nil, cause.NoEvidence},
		"one of another, recorded": {[]string{elsewhere}, []cause.Edit{other}, nil, "src/a.js:3 [order]"},
		"a text":                   {[]string{"NOTES.md", "/tmp/plan.md"}, nil, nil, "src/a.js:3 [order]"},
		"the stack speaks for it":  {[]string{"gen/b.js"}, nil, frames("src/a.js", 3), "src/a.js:3 [stack]"},
		"by the name that it had":  {[]string{"src/was.js"}, []cause.Edit{renamed("src/was.js", "src/is.js", 1200, 4)}, nil, "src/a.js:3 [order]"},
		"the same name, elsewhere": {[]string{"src/money.js"}, []cause.Edit{other}, nil, cause.NoEvidence},
	} {
		var asked [2]int64
		f := cause.Finder{Edits: append(slices.Clone(c.edits), becomes("src/a.js", 9000, 1, 2, at(3)))}
		f.Reported = func(of string, from, to int64) []string {
			if asked = [2]int64{from, to}; of != root {
				t.Errorf("%s: asked for %s", name, of)
			}
			return c.reported
		}
		h := cause.History{Updates: []int64{1000, 5000, 10_300}, Loads: []int64{1000, 5000, 10_300}}
		if got := told(f.Find(cause.Symptom{At: 10_400, Frames: c.frames}, &h)); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		if asked != [2]int64{5000, 11_400} {
			t.Errorf("%s: asked for %v", name, asked)
		}
	}
}

// TestWhatIsHiddenIsNoCause, and neither is another file that was changed too.
func TestWhatIsHiddenIsNoCause(t *testing.T) {
	h := cause.History{Updates: []int64{1000, 10_300}, Loads: []int64{1000, 10_300}}
	for _, s := range []cause.Symptom{{At: 10_400}, {At: 10_400, Frames: frames("src/a.js", 3)}} {
		f := cause.Finder{Edits: []cause.Edit{becomes("src/a.js", 9000, 1, 2, at(3))}}
		f.Hidden = func(e *event.FileChange) bool { return e.Path == "src/a.js" }
		if got := told(f.Find(s, &h)); got != cause.NoEvidence {
			t.Errorf("%s", got)
		}
	}
}

// TestTheOrderNamesOnlyWhatDiffers: whatever is changed and changed back, a file that the order alone names differs from what the page
// was loaded with last, and no other one does.
func TestTheOrderNamesOnlyWhatDiffers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		paths := []string{"src/a.js", "src/b.js", "src/c.js"}
		now, loaded := map[string]uint64{}, map[string]uint64{}
		for i, path := range paths {
			now[path] = uint64(10 + i)
			loaded[path] = now[path]
		}
		h := cause.History{Updates: []int64{1000}, Loads: []int64{1000}}
		var f cause.Finder
		clock := int64(10_000)
		steps := rapid.IntRange(1, 12).Draw(t, "steps")
		for range steps {
			clock += 5000
			path := rapid.SampledFrom(append(slices.Clone(paths), "load")).Draw(t, "what")
			if path == "load" {
				h.Updates, h.Loads = append(h.Updates, clock), append(h.Loads, clock)
				for path, id := range now {
					loaded[path] = id
				}
				continue
			}
			id := uint64(rapid.IntRange(0, 3).Draw(t, "content"))*100 + uint64(slices.Index(paths, path)) + 10
			if id == now[path] {
				continue
			}
			f.Edits = append(f.Edits, becomes(path, clock, now[path], id, at(3)))
			now[path] = id
		}
		clock += 5000
		h.Updates, h.Loads = append(h.Updates, clock), append(h.Loads, clock)
		found, why := f.Find(cause.Symptom{At: clock + 100}, &h)
		var differ []string
		for _, path := range paths {
			if now[path] != loaded[path] {
				differ = append(differ, path)
			}
		}
		switch {
		case found != nil && !slices.Equal(differ, []string{found.Path}):
			t.Errorf("%s is named, and %q differ", found.Path, differ)
		case found == nil && len(differ) == 1:
			t.Errorf("%s differs, and nothing is named: %s", differ[0], why)
		}
	})
}

// TestAStyleSheetIsNoCauseOfAnErrorOfCode, whatever named it: a hot update replaced it just before the page was loaded again.
func TestAStyleSheetIsNoCauseOfAnErrorOfCode(t *testing.T) {
	for text, want := range map[string]string{
		"SyntaxError: The requested module '/src/Filter.jsx' does not provide an export named 'Filter'": cause.NoEvidence,
		"Uncaught TypeError: x is not a function":                                                       cause.NoEvidence,
		"the theme has no colors":                                                                       "src/index.css:3 [hot_update order]",
	} {
		f := cause.Finder{Edits: []cause.Edit{edit("src/index.css", 9000, at(3))}}
		h := cause.History{Updates: []int64{1000, 9100, 10_300}, Loads: []int64{1000, 10_300}, Modules: []cause.Module{{At: 9100, File: "/src/index.css"}}}
		if got := told(f.Find(cause.Symptom{At: 10_400, Text: text}, &h)); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}
