package cause_test

import (
	"testing"

	"tidemark.dev/tidemark/host/internal/cause"
	"tidemark.dev/tidemark/host/internal/event"
)

// TestAMissingFileNamesItsRemoval: a page asks for a file that was removed or renamed.
func TestAMissingFileNamesItsRemoval(t *testing.T) {
	const click = 20_000
	gone := func(change, path, from string, at int64) cause.Edit {
		e := edit(path, at)
		e.Change, e.From, e.Edited, e.At, e.Since = change, from, 0, at, at-500
		return e
	}
	removed := gone(event.FileRemoved, "src/a.js", "", 10_000)
	renamed := gone(event.FileRenamed, "src/b.js", "src/a.js", 10_000)
	deeper := gone(event.FileRemoved, "packages/web/src/a.js", "", 10_000)
	for name, c := range map[string]struct {
		edits   []cause.Edit
		url     string
		scripts []cause.Module
		earlier []int64
		want    string
	}{
		"removed":                    {[]cause.Edit{removed, edit("src/c.js", 11_000, at(1))}, "/src/a.js?t=1", nil, nil, "src/a.js:0 [stack]"},
		"renamed":                    {[]cause.Edit{renamed, edit("src/c.js", 11_000, at(1))}, "/src/a.js", nil, nil, "src/b.js:0 [stack]"},
		"named by its path":          {[]cause.Edit{removed}, "/@fs" + root + "/src/a.js", nil, nil, "src/a.js:0 [stack]"},
		"an asset":                   {[]cause.Edit{gone(event.FileRemoved, "public/img/a.js", "", 10_000)}, "/img/a.js", nil, nil, "public/img/a.js:0 [stack]"},
		"another file":               {[]cause.Edit{removed}, "/src/ba.js", nil, nil, cause.NoEvidence},
		"only its name":              {[]cause.Edit{removed}, "/a.js", nil, nil, cause.NoEvidence},
		"written again":              {[]cause.Edit{removed, edit("src/a.js", 11_000)}, "/src/a.js", nil, nil, cause.NoEvidence},
		"missing before":             {[]cause.Edit{removed}, "/src/a.js", nil, []int64{5000}, cause.NoEvidence},
		"of a package":               {[]cause.Edit{deeper}, "/src/a.js", nil, nil, cause.NoEvidence},
		"of a package, and answered": {[]cause.Edit{deeper}, "/src/a.js", []cause.Module{{At: 500, File: site + "/src/a.js?t=2"}}, nil, "packages/web/src/a.js:0 [stack]"},
		"of two":                     {[]cause.Edit{removed, deeper}, "/src/a.js", []cause.Module{{At: 500, File: site + "/src/a.js"}}, nil, cause.NoEvidence},
		"what a program makes":       {[]cause.Edit{gone(event.FileRemoved, "dist/a.js", "", 10_000)}, "/dist/a.js", nil, nil, cause.NoEvidence},
	} {
		h := cause.History{Updates: []int64{1000}, Loads: []int64{1000}, Inputs: []int64{click}, Scripts: c.scripts}
		e := &event.Network{Head: event.Head{At: click + 20, Subject: event.InTab(1, site)}, Method: "GET", URL: site + c.url, Resource: "script", Status: 404, Started: click + 10}
		s := new(cause.Past).OfRequest(e, nil)
		s.Earlier = c.earlier
		f := cause.Finder{Edits: c.edits}
		if got := told(f.Find(s, &h)); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		thrown := &event.Console{Head: event.Head{At: click + 30, Subject: event.InTab(1, site)}, Level: event.Error, Text: "Uncaught (in promise) TypeError: Failed to fetch dynamically imported module: " + e.URL}
		s = new(cause.Past).OfMessage(thrown, nil)
		s.Earlier = c.earlier
		if got := told(f.Find(s, &h)); got != c.want {
			t.Errorf("%s, imported: %s, want %s", name, got, c.want)
		}
		s.Imported = site + "/src/route.js"
		h.Missing = []cause.Module{{At: click + 20, File: e.URL}}
		if got := told(f.Find(s, &h)); got != c.want {
			t.Errorf("%s, imported by what is imported: %s, want %s", name, got, c.want)
		}
		h.Missing[0].At -= 5000
		if got := told(f.Find(s, &h)); got != cause.NoEvidence {
			t.Errorf("%s, missing long before: %s", name, got)
		}
	}
	other := &event.Network{Head: event.Head{At: click, Subject: event.InTab(1, site)}, Method: "GET", URL: "http://localhost:8000/src/a.js", Resource: "script", Status: 404}
	if s := new(cause.Past).OfRequest(other, nil); s.Missing != "" {
		t.Errorf("another server: %+v", s)
	}
}
