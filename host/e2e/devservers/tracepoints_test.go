package devservers

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/debugger"
	"tidemark.dev/tidemark/host/testing/devserver"
	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/host/testing/testbed"
)

// TestATracepointIsInTheCodeThatRuns: one follows each hot update, another is set as soon as the page runs the update.
func TestATracepointIsInTheCodeThatRuns(t *testing.T) {
	chosen := strings.Split(os.Getenv(serversEnv), ",")
	for _, s := range servers {
		if all := chosen[0] == "all"; !all && !slices.Contains(chosen, s.name) && (chosen[0] != "" || s.name != servers[0].name) {
			continue
		}
		for _, way := range []string{"debugger", "quiet"} {
			t.Run(s.name+"/"+way, func(t *testing.T) { traceUpdates(t, s, strings.TrimPrefix(way, "debugger")) })
		}
	}
}

func traceUpdates(t *testing.T, s server, way string) {
	t.Helper()
	w := e2etest.WorldIn(t, way)
	app := devserver.Start(t, s.name, s.shared, nil)
	cart := func(version int) string {
		return fmt.Sprintf("export const empty = { lines: [] };\nglobalThis.version = %d;\nexport function add(cart, item) {\n  const made = [...cart.lines, item];\n", version) +
			strings.Repeat("  void item;\n", version) + "  return { lines: made };\n}\n"
	}
	app.Write("src/cart.js", cart(0))
	a := w.NewAgent(t, "--origin", app.URL, "--tools", "observe,debug")
	p := w.Open(t, app.URL+s.path)
	c := &check{server: s, app: app, agent: a, witness: watch(t, p)}
	c.shows(t, shown)
	trace := func(line int, path string) debugger.Trace {
		t.Helper()
		return a.Trace(map[string]any{"url": "src/cart.js", "line": line, "paths": []string{path}, "limit": 1000, "wait_ms": 300})
	}
	if err := testbed.Eventually(t.Context(), func() (bool, error) { // a server that compiles can be slow to send a map
		return len(trace(4, "item.name").Places) > 0, nil
	}); err != nil {
		t.Fatal(err)
	}
	for version := range 3 {
		if version > 0 {
			app.Write("src/cart.js", cart(version))
		}
		c.shows(t, fmt.Sprintf("globalThis.version === %d", version))
		if set := trace(version+5, "made.length"); len(set.Places) == 0 || !strings.Contains(set.Places[0], fmt.Sprintf("src/cart.js:%d:", version+5)) {
			t.Errorf("version %d: set at %q, %q", version, set.Places, set.Notes)
		}
		p.JS(`document.querySelector('li button').click()`)
		if hit := trace(version+5, "made.length"); hit.Hits == 0 {
			t.Errorf("version %d: %+v", version, hit)
		}
		if hit := trace(4, "item.name"); hit.Hits == 0 || version > 0 && hit.New == 0 || !strings.HasPrefix(hit.Evolution["item.name"], `"pen"`) {
			t.Errorf("version %d: one from before has %+v", version, hit)
		}
	}
}
