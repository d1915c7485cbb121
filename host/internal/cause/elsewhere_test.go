package cause_test

import (
	"slices"
	"testing"

	"tidemark.dev/tidemark/host/internal/cause"
	"tidemark.dev/tidemark/host/internal/event"
)

// TestAStackNamesNoFileOfAnotherWorkspace: a line is edited of a file, of which another workspace may have a copy, and the page is
// loaded again and fails in that line.
func TestAStackNamesNoFileOfAnotherWorkspace(t *testing.T) {
	const origin = "http://localhost:5173"
	for name, c := range map[string]struct {
		file    string
		modules []cause.Module
		want    string
	}{
		"a copy":                            {origin + "/src/a.js", nil, cause.NoEvidence},
		"a path from the system's root":     {origin + "/@fs" + root + "/src/a.js", nil, "src/a.js:12 [stack order]"},
		"a map with a path from the root":   {"file://" + root + "/src/a.js", nil, "src/a.js:12 [stack order]"},
		"no other workspace has it":         {origin + "/b/src/a.js", nil, "src/a.js:12 [order]"},
		"a hot update followed":             {origin + "/src/a.js", []cause.Module{{At: 10_100, File: "/src/a.js?t=1"}}, "src/a.js:12 [stack hot_update order]"},
		"a hot update followed an earlier":  {origin + "/src/a.js", []cause.Module{{At: 5100, File: "/src/b.js"}}, "src/a.js:12 [stack order]"},
		"a hot update of something else":    {origin + "/src/a.js", []cause.Module{{At: 10_100, File: "/src/c.js"}}, cause.NoEvidence},
		"a hot update long before the edit": {origin + "/src/a.js", []cause.Module{{At: 3000, File: "/src/a.js"}}, cause.NoEvidence},
	} {
		f := cause.Finder{
			Edits: []cause.Edit{edit("src/b.js", 5000, at(1)), edit("src/a.js", 10_000, at(12))},
			Known: cause.Known{Elsewhere: func(_ *event.FileChange, of string, tails []string) bool {
				return of == origin && slices.Equal(tails, []string{"src/a.js"})
			}},
		}
		h := cause.History{Updates: []int64{1000, 5100, 10_300}, Loads: []int64{1000, 5100, 10_300}, Modules: c.modules}
		s := cause.Symptom{At: 10_400, Origin: origin, Frames: frames(c.file, 12)}
		if got := told(f.Find(s, &h)); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// TestTheOrderNamesNoFileOfAnotherWorkspace: two workspaces are edited, and a page of one of them breaks after an edit of the other.
func TestTheOrderNamesNoFileOfAnotherWorkspace(t *testing.T) {
	const origin, copied = "http://localhost:5173", "src/copied.js"
	for name, c := range map[string]struct {
		symptom cause.Symptom
		history cause.History
		want    string
	}{
		"nothing says whose page it is":      {cause.Symptom{}, cause.History{}, cause.NoEvidence},
		"a file that both have":              {cause.Symptom{Frames: frames(origin+"/"+copied, 3)}, cause.History{}, cause.NoEvidence},
		"a file that the other has not":      {cause.Symptom{Frames: frames(origin+"/"+copied, 3, origin+"/src/own.js", 3)}, cause.History{}, "src/a.js:12 [order]"},
		"a path from the system's root":      {cause.Symptom{Frames: frames(origin+"/"+copied, 3, "file://"+root+"/src/main.js", 3)}, cause.History{}, "src/a.js:12 [order]"},
		"a path from another root":           {cause.Symptom{Frames: frames("file:///home/me/other/src/main.js", 3)}, cause.History{}, cause.NoEvidence},
		"a hot update followed an earlier":   {cause.Symptom{}, cause.History{Modules: []cause.Module{{At: 5100, File: "/src/b.js"}}}, "src/a.js:12 [order]"},
		"a hot update of the other":          {cause.Symptom{}, cause.History{Modules: []cause.Module{{At: 7100, File: "/src/c.js"}}}, cause.NoEvidence},
		"a hot update by a path of the root": {cause.Symptom{}, cause.History{Modules: []cause.Module{{At: 900, File: root + "/src/d.js"}}}, "src/a.js:12 [order]"},
		"an answer of a server's code": {
			cause.Symptom{Thrown: true, Status: 500}, cause.History{Inputs: []int64{10_380}, Answers: []cause.Answer{{Span: cause.Span{Began: 8000, Ended: 8010}}}}, cause.NoEvidence,
		},
		"an answer that only says that a server failed": {
			cause.Symptom{Unsaid: true, Status: 500},
			cause.History{Answers: []cause.Answer{{Span: cause.Span{Began: 8000, Ended: 8010}}}, Unsaid: []cause.Span{{Began: 10_380, Ended: 10_400}}},
			cause.Unsaid,
		},
	} {
		other := edit("src/c.js", 7000, at(1))
		other.Subject = event.InWorkspace("/home/me/other")
		f := cause.Finder{
			Edits: []cause.Edit{edit("src/b.js", 5000, at(1)), other, edit("src/a.js", 10_000, at(12))},
			Known: cause.Known{Elsewhere: func(e *event.FileChange, of string, tails []string) bool {
				return e.Place == root && of == origin && !slices.Contains(tails, "src/own.js")
			}},
		}
		c.symptom.At, c.symptom.Origin = 10_400, origin
		c.history.Updates, c.history.Loads = []int64{1000, 5100, 7100, 10_300}, []int64{1000, 5100, 7100, 10_300}
		if got := told(f.Find(c.symptom, &c.history)); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		f.Elsewhere = nil
		if got := told(f.Find(c.symptom, &c.history)); got != "src/a.js:12 [order]" {
			t.Errorf("%s, where there is no other: %s", name, got)
		}
	}
}
