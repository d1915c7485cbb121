package cause_test

import (
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/cause"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/noise"
)

const site = "http://localhost:5173"

// TestAModuleThatIsLoadedAfterItsEditHasIt: no update follows an edit of a module that a page loads later, with a click.
func TestAModuleThatIsLoadedAfterItsEditHasIt(t *testing.T) {
	const load, click = 1000, 20_000
	scripts := func(list ...any) (all []cause.Module) {
		for i := 0; i < len(list); i += 2 {
			all = append(all, cause.Module{At: int64(list[i].(int)), File: site + list[i+1].(string)})
		}
		return all
	}
	broken := edit("src/a.js", 10_000, at(12))
	for name, c := range map[string]struct {
		edits   []cause.Edit
		history cause.History
		want    string
	}{
		"never loaded":         {[]cause.Edit{broken}, cause.History{}, cause.NotLoaded},
		"loaded after it":      {[]cause.Edit{broken}, cause.History{Scripts: scripts(20_010, "/src/a.js")}, "src/a.js:12 [stack]"},
		"loaded before it":     {[]cause.Edit{broken}, cause.History{Scripts: scripts(9_000, "/src/a.js")}, cause.NotLoaded},
		"another one":          {[]cause.Edit{broken}, cause.History{Scripts: scripts(20_010, "/src/ba.ts")}, cause.NotLoaded},
		"loaded twice":         {[]cause.Edit{broken}, cause.History{Scripts: scripts(9_000, "/src/a.js", 20_010, "/src/a.js?v=2")}, cause.NotLoaded},
		"by a former document": {[]cause.Edit{broken}, cause.History{Scripts: scripts(500, "/src/a.js", 20_010, "/src/a.js")}, "src/a.js:12 [stack]"},
		"after it was loaded":  {[]cause.Edit{broken}, cause.History{Scripts: scripts(20_100, "/src/a.js")}, cause.NotLoaded},
		"edited and undone before": {
			[]cause.Edit{edit("src/a.js", 5000, at(12)), edit("src/a.js", 6000, at(12)), broken},
			cause.History{Scripts: scripts(20_010, "/src/a.js")},
			"src/a.js:12 [stack]",
		},
		"the same click before": {
			[]cause.Edit{broken},
			cause.History{Scripts: scripts(12_000, "/src/a.js"), Inputs: []int64{12_000, 15_000, click}},
			cause.Ran,
		},
		"another module was edited and loaded with it": {
			[]cause.Edit{edit("src/b.js", 8000, at(1)), broken},
			cause.History{Scripts: scripts(20_010, "/src/a.js", 20_015, "/src/b.js")},
			cause.NoEvidence,
		},
		"another module was edited and not loaded": {
			[]cause.Edit{edit("src/b.js", 8000, at(1)), broken},
			cause.History{Scripts: scripts(20_010, "/src/a.js")},
			"src/a.js:12 [stack]",
		},
	} {
		h := c.history
		h.Updates, h.Loads, h.Visits = []int64{load}, []int64{load}, []cause.Visit{{At: load, Page: site + "/"}}
		if h.Inputs == nil {
			h.Inputs = []int64{click}
		}
		f := cause.Finder{Edits: c.edits}
		if got := told(f.Find(cause.Symptom{At: click + 60, Frames: frames(site+"/src/a.js", 12)}, &h)); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// TestAScriptOfACacheMayBeOld, unless the browser asks the server first.
func TestAScriptOfACacheMayBeOld(t *testing.T) {
	rules := noise.Default()
	for name, c := range map[string]struct {
		cached  bool
		control string
		status  int
		want    string
	}{
		"of the server":            {false, "", 200, "src/a.js"},
		"of the cache":             {true, "", 200, cause.NotLoaded},
		"of the cache, for a time": {true, "max-age=60", 200, cause.NotLoaded},
		"as before":                {true, "no-cache", 200, "src/a.js"},
		"not modified":             {true, "", 304, "src/a.js"},
		"missing":                  {false, "", 404, cause.NotLoaded},
	} {
		s := capture.New(capture.DefaultLimits(), rules, time.UnixMilli(0))
		in := func(at int64) event.Head { return event.Head{At: at, Subject: event.InTab(1, site)} }
		script := &event.Network{Head: in(20_050), Method: "GET", URL: site + "/src/a.js", Resource: "script", Status: c.status, Started: 20_010, Cached: c.cached}
		if c.control != "" {
			script.ResponseHeaders = map[string]string{"Cache-Control": c.control}
		}
		thrown := &event.Console{Head: in(20_100), Level: event.Error, Text: "TypeError: b is undefined"}
		if err := capture.NewSink(s, capture.Browsers, epoch).Append(t.Context(),
			&capture.Change{Head: in(1000), Op: "navigated", How: "load", URL: site + "/"}, &event.Action{Head: in(20_000), Type: "click"}, script, thrown,
		); err != nil {
			t.Fatal(err)
		}
		if err := capture.NewSink(s, capture.Workspaces, epoch).Append(t.Context(), edit("src/a.js", 10_000, at(12)).FileChange); err != nil {
			t.Fatal(err)
		}
		past := cause.Read(s.View(time.UnixMilli(70_000)), capture.Positions{}, func(event.Subject) bool { return true }, rules.Update)
		found, got := past.Of(past.OfMessage(thrown, frames(site+"/src/a.js", 12)))
		if found != nil {
			got = found.Path
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
