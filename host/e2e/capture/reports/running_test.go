package reports

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/observe"
	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/host/testing/testbed"
)

// newErrors waits for a number of new errors, which an agent sees once each.
func newErrors(t *testing.T, a *e2etest.Agent, want int) map[string]observe.LogEntry {
	t.Helper()
	var list []observe.LogEntry
	if err := testbed.Eventually(t.Context(), func() (bool, error) {
		list, _ = entries(a)
		return len(list) >= want, nil
	}); err != nil {
		t.Fatalf("%v: %+v", err, list)
	}
	found := map[string]observe.LogEntry{}
	for _, e := range list {
		found[e.Message] = e
	}
	return found
}

// TestABuildThatThePageDoesNotRunGivesNoPlaces: a bundler that watches has replaced script and map before the first error of
// the page, which still runs the earlier code.
func TestABuildThatThePageDoesNotRunGivesNoPlaces(t *testing.T) {
	w := e2etest.SharedWorld(t)
	for _, mode := range []string{"url", "inline"} {
		t.Run(mode, func(t *testing.T) {
			dir := e2etest.BundledProject(t)
			edit := func(file, old, new string) {
				t.Helper()
				path := filepath.Join(dir, "src", file)
				text, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(strings.Replace(string(text), old, new, 1)), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			edit("cart/index.tsx", "console.warn", "String")
			e2etest.Bundle(t, "esbuild", mode, dir)
			s := e2etest.ServeBundle(t, dir, func(w http.ResponseWriter, _ *http.Request) bool {
				w.Header().Set("Cache-Control", "no-store")
				return false
			})
			a := w.NewAgent(t, "--origin", s.URL)
			p := w.Open(t, s.URL)
			if err := os.WriteFile(filepath.Join(dir, "src/helper.ts"), []byte("export function help(n: number): number {\n  let all = 0;\n  for (let i = 0; i < n; i++) {\n    all += i;\n  }\n  console.log('helped', all);\n  return all;\n}\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			edit("App.tsx", "import { h }", "import { help } from './helper';\nimport { h }")
			edit("App.tsx", "const cart", "help(3);\n    const cart")
			e2etest.Bundle(t, "esbuild", mode, dir)
			breakIt(p)
			r := a.Changes()
			if r.Console == nil || len(r.Console.NewErrors) != 1 || !strings.HasPrefix(r.Console.NewErrors[0].Source, "app.js:") || !r.Console.NewErrors[0].Generated {
				t.Fatal(e2etest.Show(r))
			}
			p.Reload()
			breakIt(p)
			mapped(a, "(src/App.tsx:15:")
		})
	}
}

// TestEvaluatedCodeTakesNoPlaceFromAScriptOfItsName: a page may name what it evaluates after a script that it has loaded.
func TestEvaluatedCodeTakesNoPlaceFromAScriptOfItsName(t *testing.T) {
	w := e2etest.SharedWorld(t)
	dir := e2etest.BundledProject(t)
	e2etest.Bundle(t, "esbuild", "url", dir)
	s := e2etest.ServeBundle(t, dir, nil)
	a := w.NewAgent(t, "--origin", s.URL)
	p := w.Open(t, s.URL)
	breakIt(p)
	mapped(a, "(src/App.tsx:13:")
	space := strings.Repeat(" ", 300) // the script has one line
	name := "\\n//# sourceURL=" + s.URL + "/assets/app.js"
	p.JS(`setTimeout(() => (0, eval)('` + space + `function inner() { throw new Error("thrown") } inner()` + name + `'));
		try { (0, eval)('` + space + `throw new Error("logged")` + name + `') } catch (e) { console.error(e) }`)
	found := newErrors(t, a, 4)
	for _, text := range []string{"Error: thrown", "Error: logged"} {
		if e := found[text]; !strings.Contains(e.Source, "app.js:1:") || !e.Generated {
			t.Errorf("%+v", e)
		}
	}
}

// TestEvaluatedCodeIsAtTheLineThatEvaluatedIt: V8 counts the line of a call of eval from the inline script's start.
func TestEvaluatedCodeIsAtTheLineThatEvaluatedIt(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := testbed.Serve(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(`<!doctype html>
<meta charset="utf-8">
<title>off</title>
<link rel="icon" href="data:,">
<body><script>
function caught() {
  try {
    eval("throw new Error('one')");
  } catch (e) { console.error(e); }
}
function uncaught() {
  new Function("throw new Error('two')")();
}
caught();
setTimeout(uncaught);
</script>`))
	}))
	t.Cleanup(s.Close)
	a := w.NewAgent(t, "--origin", s.URL)
	w.Open(t, s.URL)
	found := newErrors(t, a, 2)
	for text, line := range map[string]string{"Error: one": ":8", "Error: two": ":12"} {
		if e := found[text]; !strings.Contains(e.Source, line) || e.Generated {
			t.Errorf("%+v", e)
		}
	}
}
