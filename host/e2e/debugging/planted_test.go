package debugging

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/host/testing/planted"
)

// TestNoPlantedSecretOfAProgramIsShown plants the covered secrets in variables, their fields, thrown errors and traced values.
func TestNoPlantedSecretOfAProgramIsShown(t *testing.T) {
	w, sent := e2etest.TappedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.DebugPage, "/app.js": `function look(held, texts) {
  debugger;
  return held; // line 3
}
function fail(message) {
  try { throw new Error(message); } catch { return message; }
}
function trace(value) {
  return value; // line 9
}
`})
	a := w.Debugs(t, s)
	p := w.Open(t, s.URL)
	var told strings.Builder
	ask := func(tool string, args map[string]any) {
		told.WriteString(a.Do(tool, args) + "\n")
	}
	quoted := func(v any) string {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}

	secrets := planted.Covered(t, "text", "json", "xml", "form", "url")
	if len(secrets) < 350 {
		t.Fatalf("only %d secrets are planted", len(secrets))
	}
	var groups [][]string
	var objects []string // of code that makes them
	for rows := range slices.Chunk(secrets, 40) {
		var texts []string
		for _, row := range rows {
			texts = append(texts, row.Text)
			if strings.HasSuffix(row.ID, " in object") || strings.HasSuffix(row.ID, " in json") {
				objects = append(objects, row.Text)
			}
		}
		groups = append(groups, texts)
	}
	a.Debugger("debugger_pause", map[string]any{"exceptions": "none"})
	p.Start(fmt.Sprintf(`for (const texts of %s) look([%s], texts)`, quoted(groups), strings.Join(objects, ",")))
	for i := range groups {
		a.Paused()
		ask("debugger_state", nil)
		ask("variables_get", map[string]any{"depth": 3})
		ask("variables_get", map[string]any{"path": "texts", "depth": 2})
		ask("snapshot_create", map[string]any{"label": fmt.Sprint("group-", i), "depth": 3, "expressions": []string{"texts[0]", "held[0].password"}})
		if i > 0 {
			ask("snapshot_diff", map[string]any{"from": fmt.Sprint("group-", i-1), "to": fmt.Sprint("group-", i)})
		}
		ask("debugger_resume", nil)
	}

	a.Debugger("debugger_pause", map[string]any{"exceptions": "all"})
	p.Start(fmt.Sprintf(`for (const texts of %s) fail(texts.slice(0, 8).join('\n'))`, quoted(groups)))
	for range groups {
		a.Paused()
		ask("debugger_state", nil)
		ask("variables_get", map[string]any{"depth": 1})
		ask("debugger_resume", nil)
	}
	a.Debugger("debugger_pause", map[string]any{"exceptions": "none"})

	traced := map[string]any{"url": "app.js", "line": 9, "paths": []string{"value"}, "limit": 1000}
	ask("snapshot_trace", traced)
	p.JS(fmt.Sprintf(`for (const text of %s.flat()) trace(text)`, quoted(groups)))
	ask("snapshot_trace", traced)
	ask("get_changes_since", map[string]any{"severity": "all", "include": []string{"variables"}})
	told.WriteString(w.Run("changes", "--json").Out)

	all := map[string]string{"an answer": told.String()}
	_ = a.Close()
	if r := w.Run("stop"); r.Code != 0 {
		t.Fatal(r.Err)
	}
	for file, content := range e2etest.Written(t, w.World) {
		all["file "+file] = content
	}
	all["a message of the extension"] = sent()
	planted.NotIn(t, secrets, all)
	for _, where := range []string{"an answer", "a message of the extension"} {
		if !strings.Contains(all[where], "user: ") && !strings.Contains(all[where], "ann") {
			t.Errorf("nothing that was planted is in %s", where)
		}
	}
}
