package engine_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tidemark.dev/tidemark/host/internal/debugger"
	"tidemark.dev/tidemark/host/internal/sourcemap/maptest"
	"tidemark.dev/tidemark/host/testing/enginetest"
	"tidemark.dev/tidemark/protocol"
)

// begun reports a request for a script that has not ended.
func begun(w *enginetest.World, script string) {
	w.Send("request", fmt.Sprintf(`"id":"l%s","method":"GET","url":%q,"resource":"script"`, script, enginetest.Page+script))
}

// delivered reports the end of a request that has begun.
func delivered(w *enginetest.World, script string) {
	w.Send("network", fmt.Sprintf(`"id":"l%s","method":"GET","url":%q,"resource":"script","status":200,"started":%d,"duration":1`, script, enginetest.Page+script, w.Now.UnixMilli()))
}

// shifted maps the lines of a script to those of a file, which has fewer lines before them.
func shifted(name string, by int) []byte {
	var segments []maptest.Segment
	for line := range 20 {
		segments = append(segments, maptest.Segment{Line: line + by, SourceLine: line})
	}
	return maptest.Map{Sources: []string{name}, Mappings: maptest.Mappings(segments)}.JSON()
}

// modules is a browser whose page has loaded scripts with source maps, the oldest first. It keeps the places of what is set.
type modules struct {
	scripts []string
	// maps are those in code that was evaluated.
	maps   map[string][]byte
	places []string
	// listed is called before it lists the scripts.
	listed func()
}

func (m *modules) debug(_ context.Context, _ string, params, answer any) error {
	switch out := answer.(type) {
	case *protocol.DebugScripts:
		if m.listed != nil {
			m.listed()
		}
		for _, s := range m.scripts {
			out.Scripts = append(out.Scripts, protocol.DebugScriptLine{URL: address(s), Map: "data:"})
		}
	case *protocol.DebugMap:
		if data := m.maps[strings.TrimPrefix(params.(protocol.DebugMapParams).URL, enginetest.Page)]; data != nil {
			out.Map = "data:application/json;base64," + base64.StdEncoding.EncodeToString(data)
		}
	case *protocol.DebugPlaced:
		out.Locations = m.set(params.(protocol.DebugBreakpointParams).Breakpoint.Places)
	case *protocol.DebugTraced:
		out.Locations = m.set(params.(protocol.DebugTraceParams).Places)
	}
	return nil
}

func (m *modules) set(places []protocol.DebugPlace) (found []protocol.DebugLocation) {
	m.places = nil
	for _, p := range places {
		m.places = append(m.places, fmt.Sprintf("%s%s:%d", strings.TrimPrefix(p.URL, enginetest.Page), p.Pattern, p.Line))
		for _, s := range m.scripts {
			if url := address(s); url == p.URL || p.Pattern != "" && regexp.MustCompile(p.Pattern).MatchString(url) {
				found = append(found, protocol.DebugLocation{Thread: 1, URL: url, Line: p.Line, Column: p.Column})
			}
		}
	}
	return found
}

// address is that of a script, by its path on the page's server.
func address(script string) string {
	if strings.HasPrefix(script, "/") {
		return enginetest.Page + script
	}
	return script
}

// setters set what pauses or records at line 2 of src/tick.js, and return what the answer says of it.
var setters = map[string]func(*testing.T, *enginetest.World) string{
	"breakpoint_set": func(t *testing.T, w *enginetest.World) string {
		t.Helper()
		return setBreakpoint(t, w, "")
	},
	"a condition": func(t *testing.T, w *enginetest.World) string {
		t.Helper()
		return setBreakpoint(t, w, "n > 2")
	},
	"snapshot_trace": func(t *testing.T, w *enginetest.World) string {
		t.Helper()
		tr, err := w.Engine.Inspector.SnapshotTrace(t.Context(), w.Agent(), debugger.TraceParams{URL: "src/tick.js", Line: 2, Paths: []string{"n"}})
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(append(tr.Places, tr.Notes...), "\n")
	},
}

func setBreakpoint(t *testing.T, w *enginetest.World, condition string) string {
	t.Helper()
	b, err := w.Engine.Inspector.BreakpointSet(t.Context(), w.Agent(), debugger.BreakpointParams{URL: "src/tick.js", Line: 2, Condition: condition})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(append(b.Places, b.Note), "\n")
}

const (
	oldCopy = "/src/tick.js?t=1795696137580"
	newCopy = "/src/tick.js?t=1795696139241"
	// endOfTick is the pattern of addresses that end with the path.
	endOfTick = `^([^?#]*/)?src/tick\.js([?#].*)?$`
)

// updatedModule is a page in which a hot update has just replaced a module: the host has its first copy and its map alone.
func updatedModule(t *testing.T) (*enginetest.World, *server, *modules) {
	t.Helper()
	s := &server{}
	s.put(oldCopy, shifted("tick.js", 1))
	s.put(newCopy, shifted("tick.js", 4))
	w := enginetest.NewWithMaps(t, s.fetch)
	loaded(w, oldCopy, "")
	w.Pass(time.Second)
	page := &modules{scripts: []string{oldCopy, newCopy}}
	w.Debugged = page.debug
	return w, s, page
}

// TestWhatIsSetAfterAHotUpdateIsInTheNewestCopy: the page runs the new copy of a module before the browser has reported
// that its request has ended.
func TestWhatIsSetAfterAHotUpdateIsInTheNewestCopy(t *testing.T) {
	for name, set := range setters {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, _, page := updatedModule(t)
				page.listed = func() {
					begun(w, newCopy)
					time.AfterFunc(100*time.Millisecond, func() { delivered(w, newCopy) })
				}
				answer := set(t, w)
				if want := []string{newCopy + ":6"}; !slices.Equal(page.places, want) {
					t.Errorf("set at %q", page.places)
				}
				if want := "src/tick.js:2:1 = /src/tick.js:6:1\n"; !strings.Contains(answer, want) || strings.Contains(answer, "map") {
					t.Errorf("answered %q", answer)
				}
			})
		})
	}
}

// TestAnOlderCopyOfAModuleIsNotTakenForTheNewest: without a map of the code that runs, the answer says so.
func TestAnOlderCopyOfAModuleIsNotTakenForTheNewest(t *testing.T) {
	for name, set := range setters {
		for _, why := range []string{"its load was not observed", "its map is missing"} {
			t.Run(name+"/"+why, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w, s, page := updatedModule(t)
					if why == "its map is missing" {
						delete(s.maps, newCopy)
						loaded(w, newCopy, "")
					}
					answer := set(t, w)
					if slices.ContainsFunc(page.places, func(p string) bool { return strings.HasPrefix(p, oldCopy) }) {
						t.Errorf("set at %q", page.places)
					}
					if want := "o source map of /src/tick.js is available, so line 2 is that of the script"; !strings.Contains(answer, want) {
						t.Errorf("answered %q", answer)
					}
				})
			})
		}
	}
}

// TestWhatIsSetAfterABundlersHotUpdateIsInTheCodeOfTheUpdate: the older copy of the module is in a script that is still there.
func TestWhatIsSetAfterABundlersHotUpdateIsInTheCodeOfTheUpdate(t *testing.T) {
	const (
		bundle   = "/main.js"
		first    = "/main.1f0ac5a3bb2f4c5e9d10.hot-update.js"
		second   = "/main.9d10c5a3bb2f4c5e1f0a.hot-update.js"
		inChunk  = appChunk + "?id=%255Bproject%255D/src/tick.js+%255Bapp-client%255D+(ecmascript)"
		inServer = appChunk + "?id=%255Bproject%255D/src/tick.js+%255Bapp-ssr%255D+(ecmascript)"
		module   = "webpack-internal:///./src/tick.js"
	)
	for name, c := range map[string]struct {
		served, evaluated map[string]int // the lines before those of the file
		scripts, want     []string
	}{
		"webpack":              {map[string]int{bundle: 9, first: 2, second: 5}, nil, []string{bundle, first, second}, []string{second + ":7"}},
		"another entry":        {map[string]int{bundle: 9, "/worker.js": 7, first: 2}, nil, []string{bundle, "/worker.js", first}, []string{first + ":4", "/worker.js:9"}},
		"Turbopack":            {map[string]int{appChunk: 9}, map[string]int{inChunk: 2, inServer: 3}, []string{appChunk, inServer, inChunk}, []string{inChunk + ":4", inServer + ":5"}},
		"evaluated by webpack": {map[string]int{bundle: 9}, map[string]int{module: 1}, []string{bundle, module}, []string{module + ":3"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := &server{}
			w := enginetest.NewWithMaps(t, s.fetch)
			page := &modules{scripts: c.scripts, maps: map[string][]byte{}}
			for script, by := range c.served {
				s.put(script, shifted("src/tick.js", by))
			}
			for script, by := range c.evaluated {
				page.maps[script] = shifted("src/tick.js", by)
			}
			w.Debugged = page.debug
			for _, script := range c.scripts {
				if _, served := c.served[script]; !served {
					continue
				}
				loaded(w, script, "")
				if !strings.Contains(script, ".hot-update.") { // its map is known before the update
					throw(w, "boom", script, 1)
					w.Changes(w.Agent(), params{})
					s.fetched(w)
					w.Pass(time.Second)
				}
			}
			answer := setBreakpoint(t, w, "")
			if !slices.Equal(page.places, c.want) {
				t.Errorf("set at %q", page.places)
			}
			if !strings.Contains(answer, "src/tick.js:2:1 = ") {
				t.Errorf("answered %q", answer)
			}
		})
	}
}

// TestATracepointMovesOnceTheSourceMapIsThere: a server that compiles can be slow.
func TestATracepointMovesOnceTheSourceMapIsThere(t *testing.T) {
	w, s, page := updatedModule(t)
	delete(s.maps, newCopy)
	loaded(w, newCopy, "")
	a := w.Agent()
	for _, want := range []string{endOfTick + ":2", newCopy + ":6", newCopy + ":6"} {
		if _, err := w.Engine.Inspector.SnapshotTrace(t.Context(), a, debugger.TraceParams{URL: "src/tick.js", Line: 2, Paths: []string{"n"}}); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(page.places, []string{want}) {
			t.Errorf("set at %q, not %q", page.places, want)
		}
		s.put(newCopy, shifted("tick.js", 4))
		w.Pass(time.Minute)
	}
}

// TestAnErrorOfCodeThatIsBeingReplacedHasNoLineOfTheOldCode: the browser can report what a script logs before it reports that the
// script has loaded.
func TestAnErrorOfCodeThatIsBeingReplacedHasNoLineOfTheOldCode(t *testing.T) {
	for name, c := range map[string]struct{ old, update, thrown, want, then string }{
		"a reload": {"/app.js", "/app.js", "/app.js", "app.js:1 (generated) second×1, Old.tsx:2 first×1", "New.tsx:4 second×1, Old.tsx:2 first×1"},
		"a copy":   {oldCopy, newCopy, newCopy, "tick.js:1 (generated) second×1, Old.tsx:2 first×1", "New.tsx:4 second×1, Old.tsx:2 first×1"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &server{}
			s.put(c.old, oneFile("Old.tsx"))
			w := enginetest.NewWithMaps(t, s.fetch)
			loaded(w, c.old, "")
			throw(w, "first", c.old, 11)
			w.Changes(w.Agent(), params{})
			s.fetched(w)
			w.Pass(time.Second)
			s.put(c.update, oneFile("New.tsx"))
			begun(w, c.update)
			w.Pass(time.Millisecond)
			throw(w, "second", c.thrown, 31)
			for range 2 {
				if got := sources(w.Changes(w.Agent(), params{})); got != c.want {
					t.Error(got)
				}
				s.fetched(w)
			}
			delivered(w, c.update)
			w.Changes(w.Agent(), params{})
			s.fetched(w)
			if got := sources(w.Changes(w.Agent(), params{})); got != c.then {
				t.Errorf("then %s", got)
			}
		})
	}
}

// TestAMapIsNotFetchedWhileItsScriptIsBeingReplaced: from then on the server has that of the new code.
func TestAMapIsNotFetchedWhileItsScriptIsBeingReplaced(t *testing.T) {
	for _, update := range []string{"/app.js?t=1795696139241", "/app.1f0a.hot-update.js"} {
		s := &server{}
		s.put("/app.js", oneFile("New.tsx"))
		w := enginetest.NewWithMaps(t, s.fetch)
		loaded(w, "/app.js", "")
		w.Pass(time.Second)
		throw(w, "boom", "/app.js", 11)
		begun(w, update)
		w.Pass(time.Millisecond)
		for range 2 {
			if got := sources(w.Changes(w.Agent(), params{})); got != "app.js:1 (generated) boom×1" {
				t.Errorf("%s: %s", update, got)
			}
			s.fetched(w)
		}
	}
}

// TestACopyFromTheBrowsersCacheHasItsMap: another tab loaded it first.
func TestACopyFromTheBrowsersCacheHasItsMap(t *testing.T) {
	s := &server{}
	s.put(newCopy, oneFile("New.tsx"))
	w := enginetest.NewWithMaps(t, s.fetch)
	loaded(w, oldCopy, "")
	w.Pass(time.Second)
	loaded(w, newCopy, `,"cached":true`)
	throw(w, "boom", newCopy, 31)
	w.Changes(w.Agent(), params{})
	s.fetched(w)
	if got := sources(w.Changes(w.Agent(), params{})); got != "New.tsx:4 boom×1" {
		t.Error(got)
	}
}
