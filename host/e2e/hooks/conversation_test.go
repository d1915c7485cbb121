package hooks

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/host/testing/testbed"
)

// The error of a page names the edit, the call that made it, and the prompt behind it. The tree of the session has all three.
func TestABrokenPageNamesTheCallAndThePromptBehindIt(t *testing.T) {
	w := e2etest.SharedWorld(t)
	app := startVite(t)
	s := &session{t: t, w: w, id: "conversation-" + app.URL, dir: app.Dir}
	run := func(args ...string) string {
		t.Helper()
		r := w.RunIn(app.Dir, args...)
		if r.Code != 0 {
			t.Fatalf("%q exits with %d: %s", args, r.Code, r.Err)
		}
		return r.Out
	}
	run("project", "allow", "--grant", "conversation", app.Dir)
	run("session", "start")
	t.Cleanup(func() {
		run("session", "end")
		run("project", "forget", app.Dir)
	})
	p := w.Open(t, app.URL)
	p.JS(`while (!document.querySelector('li')) await new Promise((done) => setTimeout(done, 20))`)
	s.starts()
	s.hook("UserPromptSubmit", map[string]any{"prompt": "show cents", "prompt_id": "p1"})
	run("timeline", "moment", "add", "--label", "before the edit") // on a busy machine a hook does not wait for its moment
	app.Edit("src/price.js", "(cents / 100)", "cents.value")
	p.JS(`while (document.querySelector('li')) await new Promise((done) => setTimeout(done, 20))`)
	time.Sleep(200 * time.Millisecond) // as on a busy machine, the hook begins longer after the error than the edit took
	if said := s.hook("PostToolUse", map[string]any{
		"tool_name": "Edit", "tool_use_id": "toolu_1", "prompt_id": "p1", "duration_ms": 20,
		"tool_input": map[string]any{"file_path": filepath.Join(app.Dir, "src/price.js"), "new_string": "cents.value"}, "tool_response": map[string]any{"ok": true},
	}); !strings.Contains(said, "TypeError") {
		t.Fatalf("the broken edit is not reported: %q", said)
	}
	var regression struct {
		Verdict      string
		IntroducedBy struct{ Path, Call, Prompt string } `json:"introduced_by"`
	}
	if err := json.Unmarshal([]byte(run("timeline", "find-regression", "--json")), &regression); err != nil {
		t.Fatal(err)
	}
	if by := regression.IntroducedBy; regression.Verdict != "found" || by.Path != "src/price.js" || by.Call != "Edit src/price.js" || by.Prompt != "show cents" {
		t.Errorf("the regression is %+v", regression)
	}
	type changed struct{ Path, By, Prompt string }
	var changes struct {
		Files struct{ Changed []changed }
	}
	if err := json.Unmarshal([]byte(run("changes", "--since", "2000-01-01T00:00:00Z", "--json")), &changes); err != nil {
		t.Fatal(err)
	}
	if f := changes.Files.Changed; !slices.Contains(f, changed{"src/price.js", "Edit src/price.js", "show cents"}) {
		t.Errorf("the changed files are %+v", f)
	}
	var blame struct {
		Lines []struct{ FsSnapshotID string }
		Calls []struct{ FsSnapshotID, Moment, Call, Prompt string }
	}
	if err := json.Unmarshal([]byte(run("timeline", "blame", "src/price.js", "--json")), &blame); err != nil {
		t.Fatal(err)
	}
	if c := blame.Calls; len(c) != 1 || c[0].Call != "Edit src/price.js" || c[0].Prompt != "show cents" || c[0].Moment == "" {
		t.Errorf("blame names %+v", c)
	}
	t.Log("\n" + run("timeline", "blame", "src/price.js"))
	tree := ""
	if err := testbed.Eventually(t.Context(), func() (bool, error) {
		tree = run("timeline", "show")
		return strings.Contains(tree, "modified src/price.js"), nil
	}); err != nil {
		t.Fatalf("%v: %s", err, tree)
	}
	edit := strings.Index(tree, "Edit src/price.js")
	for _, want := range []string{"show cents", "modified src/price.js", "1 new console error(s)"} {
		if at := strings.Index(tree, want); at < 0 || (want == "show cents") != (at < edit) {
			t.Errorf("the tree does not have %q in its place: %s", want, tree)
		}
	}
	t.Log("\n" + tree)
}
