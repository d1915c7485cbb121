package debugging

import (
	"fmt"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/testing/e2etest"
)

// TestValuesBesideTheNameOfASecretAreMasked: as fields, in previews of one line, in lists of arguments and in traces.
func TestValuesBesideTheNameOfASecretAreMasked(t *testing.T) {
	w := e2etest.SharedWorld(t)
	a, p := w.OpenScript(t, `function go() {
  const pair = { name: 'password', value: 'Planted-A9vK8wRm3' }, pairs = [{ key: 'apiKey', value: 'Planted-B9vK8wRm3' }];
  const args = ['app', '--api-key', 'Planted-C9vK8wRm3'], entries = [['password', 'Planted-D9vK8wRm3']];
  const tokens = { access: 'PlantedE9vK8wRm3xQ7zY' }, map = new Map([['password', 'Planted-F9vK8wRm3']]);
  const held = { pair, args, tokens, colour: { name: 'colour', value: 'kept-blue' } };
  const DB_PASS = 'PlantedG9vK8wRm3xQ7z';
  debugger;
  document.title = [pair, pairs, args, entries, tokens, map, held, DB_PASS].length;
}
function tell(pair) {
  document.title = pair.value;
}`)
	a.Stop(p, "go()")
	var said strings.Builder
	for depth := range 4 {
		fmt.Fprintln(&said, a.TakeVariables(map[string]any{"depth": depth}), a.Variables(map[string]any{"depth": depth}))
	}
	for _, path := range []string{"pair", "pair.value", "pairs[0]", "pairs[0].value", "args", "args[2]", "entries", "entries[0]", "tokens", "tokens.access", "map", `map.get("password")`, "held", "held.pair", "held.tokens", "held.colour", "DB_PASS"} {
		fmt.Fprintln(&said, path, a.Variables(map[string]any{"path": path}), a.Variables(map[string]any{"path": path, "depth": 2}))
		fmt.Fprintln(&said, a.TakeVariables(map[string]any{"expressions": []string{path}}))
	}
	a.Debugger("debugger_resume", nil)
	traced := map[string]any{"url": "app.js", "line": 11, "paths": []string{"pair.value", "pair"}, "limit": 20}
	a.Trace(traced)
	p.JS(`for (const i of [1, 2, 3]) tell({ name: 'password', value: 'Planted-H9vK8wRm' + i })`)
	fmt.Fprintln(&said, a.Trace(traced))
	if !strings.Contains(said.String(), "kept-blue") || !strings.Contains(said.String(), "[masked]") {
		t.Error("what is no secret is not shown")
	}
	for line := range strings.Lines(said.String()) {
		if at := strings.Index(line, "Planted"); at >= 0 {
			t.Errorf("%s", line[max(0, at-200):min(len(line), at+40)])
		}
	}
}
