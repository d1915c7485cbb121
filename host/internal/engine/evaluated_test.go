package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/sourcemap"
	"tidemark.dev/tidemark/host/internal/sourcemap/maptest"
	"tidemark.dev/tidemark/host/testing/enginetest"
)

// module is how webpack names the code of a module that it evaluates.
func module(file string) string { return "webpack-internal:///(app-pages-browser)/./" + file }

// evaluating returns the maps of the modules that a script evaluates. All of a module is at one line of its file.
func evaluating(line int, files ...string) []byte {
	var maps []string
	for _, file := range files {
		m := maptest.Map{Sources: []string{"webpack://_N_E/./" + file}, Mappings: maptest.Mappings([]maptest.Segment{{SourceLine: line - 1}})}
		maps = append(maps, fmt.Sprintf("%q:%s", module(file), m.JSON()))
	}
	return []byte("{" + strings.Join(maps, ",") + "}")
}

// throwIn throws an error in evaluated code.
func throwIn(w *enginetest.World, text, file string) {
	w.Send("console", fmt.Sprintf(`"level":"error","via":"exception","text":%q,"url":%q,"line":1,"column":1,"stack":["go (%s:1:1)"]`, text, module(file), module(file)))
	w.Pass(time.Millisecond)
}

func TestEvaluatedCodeHasThePlacesOfTheScriptThatHadIt(t *testing.T) {
	s := &server{}
	s.put("/main.js", nil) // evaluates nothing
	s.put("/_next/page.js", evaluating(3, "src/title.js", "src/cart.js"))
	s.put("/page.1.hot-update.js", evaluating(7, "src/cart.js"))
	s.put("/page.2.hot-update.js", evaluating(9, "src/title.js"))
	w := enginetest.NewWithMaps(t, s.fetch)
	places := func() string {
		t.Helper()
		w.Changes(w.Agent(), params{})
		s.fetched(w)
		return sources(w.Changes(w.Agent(), params{}))
	}
	loaded(w, "/_next/page.js", "")
	loaded(w, "/main.js", "")
	throwIn(w, "one", "src/title.js")
	w.Send("console", fmt.Sprintf(`"level":"log","via":"console","text":"[Fast Refresh] done in 368ms","url":%q,"line":1,"column":1`, enginetest.Page+"/_next/page.js"))
	w.Pass(time.Millisecond)
	if got := places(); got != "title.js:3 one×1" {
		t.Error(got)
	}

	w.Pass(time.Second)
	loaded(w, "/page.1.hot-update.js", "")
	throwIn(w, "two", "src/cart.js")
	throwIn(w, "three", "src/title.js")
	throwIn(w, "four", "src/other.js")
	loaded(w, "/page.2.hot-update.js", "")
	if got := places(); got != "other.js:1 (generated) four×1, title.js:3 three×1, cart.js:7 two×1, title.js:3 one×1" {
		t.Error(got)
	}
}

func TestEvaluatedCodeStaysMarkedWhereAnOtherScriptMayHaveIt(t *testing.T) {
	s := &server{}
	s.put("/page.js", evaluating(3, "src/title.js"))
	w := enginetest.NewWithMaps(t, s.fetch)
	loaded(w, "/page.js", "")
	loaded(w, "/page.1.hot-update.js", "") // the server has it no more
	throwIn(w, "one", "src/title.js")
	w.Changes(w.Agent(), params{})
	s.fetched(w)
	if got := sources(w.Changes(w.Agent(), params{})); got != "title.js:1 (generated) one×1" {
		t.Error(got)
	}
}

func TestAScriptThatEvaluatesCodeIsNotItsOwnSource(t *testing.T) {
	s := &server{}
	s.put("/main.js", evaluating(3, "src/title.js"))
	s.put("/plain.js", nil)
	fetch := func(ctx context.Context, script sourcemap.Script) (string, []byte, error) {
		if !script.Evaluated {
			return "", nil, sourcemap.ErrNoMap
		}
		return s.fetch(ctx, script)
	}
	w := enginetest.NewWithMaps(t, fetch)
	loaded(w, "/main.js", "")
	loaded(w, "/plain.js", "")
	throwIn(w, "one", "src/title.js")
	throw(w, "two", "/main.js", 1)
	throw(w, "three", "/plain.js", 1)
	for range 2 {
		w.Changes(w.Agent(), params{})
		s.fetched(w)
	}
	if got := sources(w.Changes(w.Agent(), params{})); got != "plain.js:1 three×1, main.js:1 (generated) two×1, title.js:3 one×1" {
		t.Error(got)
	}
}

func TestAMissingImportHasItsLineInTheFileThatTheServerHas(t *testing.T) {
	s := &server{}
	s.put("/lib.js", nil)
	serve := func(code string) {
		data, err := json.Marshal(map[string]any{"version": 3, "sources": []string{"webpack://shop/./src/App.jsx"}, "sourcesContent": []string{code}, "mappings": ""})
		if err != nil {
			t.Fatal(err)
		}
		s.put("/main.js", data)
	}
	serve("import { Item } from './Item';\n") // before the edit
	w := enginetest.NewWithMaps(t, s.fetch)
	loaded(w, "/main.js", "")
	loaded(w, "/lib.js", "")
	throw(w, "boom", "/main.js", 1)
	w.Changes(w.Agent(), params{})
	s.fetched(w)
	overlay := func() string {
		t.Helper()
		w.Changes(w.Agent(), params{})
		s.fetched(w)
		e := w.Changes(w.Agent(), params{}).DOM.NewErrorElements[0]
		return report.Marked(e.Source(), e.Generated)
	}

	w.Pass(time.Second)
	serve("// a view\nimport { Item } from './Missing';\n")
	w.Send("element", `"op":"appeared","frame":0,"document":"d","id":1,"selector":"#webpack-dev-server-client-overlay","text":"ERROR in ./src/App.jsx 10:0-37 Module not found: Error: Can't resolve './Missing' in '/shop/src' – ./src/App.jsx:10:0 (generated)"`)
	w.Pass(time.Millisecond)
	if got := overlay(); got != "App.jsx:2" {
		t.Error(got)
	}
	w.Pass(time.Minute)
	serve("// a view\n\nimport { Item } from './Missing';\n") // the file was edited since
	if got := overlay(); got != "App.jsx:3" {
		t.Error(got)
	}
	w.Pass(time.Minute)
	serve("// import { Item } from './Missing';\nimport { Item } from './Missing';\n")
	if got := overlay(); got != "App.jsx:10 (generated)" {
		t.Error(got)
	}
}
